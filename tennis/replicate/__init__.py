"""Published claims, and what a match's rallies say about them."""
