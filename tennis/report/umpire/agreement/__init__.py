"""The agreement of a capture and a rally: ball by ball, and in one verdict."""
