"""Sentences about pictures: decoding, settings, reranking by consensus."""
