"""A lab's checks run on a student's work, in a process of their own."""
