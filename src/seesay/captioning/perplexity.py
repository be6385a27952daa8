"""The perplexity of people's captions under a captioner."""

import math

import numpy as np

from seesay.captioning.steps import Floats, pick
from seesay.data.examples import Examples
from seesay.metrics.captions import perplexity
from seesay.runtime.protocol import Answering
from seesay.text.tokens import LONGEST
from seesay.text.vocabulary import END, START, UNKNOWN


def measure_perplexity(model: Answering, source: Examples, *, batch: int = 128) -> float:
    """Perplexity of a source's sentences given their images; the end of a sentence counts as a word."""
    assert source.table is not None
    order = sorted(range(len(source.sentences)), key=lambda text: len(source.sentences[text].split()))
    total, n_words = 0.0, 0
    for start in range(0, len(order), batch):
        own = order[start : start + batch]
        rows = [model.tokenizer.encode(source.sentences[text])[:LONGEST] or [UNKNOWN] for text in own]
        images = model.encode_images(source.table.arrays(source.image_of[own].tolist()))
        total += float(log_probabilities(model, images, rows).sum())
        n_words += sum(len(row) + 1 for row in rows)
    return perplexity([total], [n_words], base=math.e)


def log_probabilities(model: Answering, images: Floats, rows: list[list[int]]) -> Floats:
    """Natural log P(sentence and its end | image), row i of words with encoded image i: (n,)."""
    found = np.zeros(len(rows))
    state = model.start(images)
    open_rows = np.arange(len(rows))  # those that have not ended
    read = np.full(len(rows), START, np.int64)
    for t in range(max(map(len, rows), default=-1) + 1):
        log_probs, state = model.step(state, read)
        wanted = np.array([rows[row][t] if t < len(rows[row]) else END for row in open_rows], np.int64)
        found[open_rows] += np.take_along_axis(log_probs, wanted[:, None], 1)[:, 0]
        goes_on = wanted != END
        open_rows, read, state = open_rows[goes_on], wanted[goes_on], pick(state, goes_on)
    return found
