"""Pictures and pages of any rally, published figures, and a second instrument beside it."""
