"""Tools for authors of a course: pages, recorded rallies, a release, the sessions."""
