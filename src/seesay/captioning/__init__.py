"""Sentences about images: decoding, settings, reranking by consensus."""
