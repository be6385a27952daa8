"""What the training of an eye and an ear needs besides its task."""
