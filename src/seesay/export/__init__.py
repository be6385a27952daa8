"""From trained weights to graphs that run without torch, each checked against the model that it came from."""
