"""Code that drives a bench: a rally, its seal, checks before it, a board's first evening."""
