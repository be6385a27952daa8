"""The commands that people use on their photos."""
