"""The pages that people read: of a rally, a match, the umpire, a late ball."""
