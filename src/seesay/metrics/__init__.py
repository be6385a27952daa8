"""Figures for what models do, as pure functions of arrays and sentences; no metric knows a model.

`retrieval` ranks both ways, `captions` reports everything about generated sentences (`bleu`, `rouge`, `cider` and
`meteor` have the single metrics), `grounding` judges points, boxes and region-phrase pairs.
"""
