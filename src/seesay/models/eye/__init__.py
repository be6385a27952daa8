"""What models with an eye of their own share, and the eye with a sentence encoder over whole words."""
