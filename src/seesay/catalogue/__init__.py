"""Which trained weights there are, and what their config.json says: no torch."""
