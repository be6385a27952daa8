"""Learning boxes of phrases from boxes which people drew, beside an aligner that has learned from none."""
