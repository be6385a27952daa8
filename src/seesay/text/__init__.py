"""Sentences: their tokens, the words a model knows, their trees, and word vectors."""
