"""What is chosen on dev after training and kept in config.json: one small dataclass for each table; no torch."""
