"""Grounding: regions for words and phrases, and phrases for regions."""
