"""Pictures that show what a model looked at."""
