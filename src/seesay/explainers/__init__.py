"""Explanations of the match of an image and a sentence: one protocol, a registry, four explainers."""
