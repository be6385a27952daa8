"""The commands for learning and measuring."""
