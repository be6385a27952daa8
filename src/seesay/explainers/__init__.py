"""What a match of an image and a sentence rests on: one protocol, a registry, four explainers."""
