"""Are photos that a captioner finds alike described alike? Neighbours by its refined feature and by the network's own.

m-RNN (Figure 3, section 8.1) says that neighbours by the refined feature g(V_I · I) have more in common than those by
the network's feature, and shows two photos. Here every test photo of Flickr8K has its nearest training photos by both,
and what people wrote about the photo is compared with what people wrote about them: the mean CIDEr-D of all pairs of
sentences, and the share of content words in common. Random training photos are the bound from below.

    SEESAY_DATA=… python -m benchmarks.quality.neighbours [--weights mrnn-flickr8k] [--neighbours 5]
"""

import argparse
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.captioning.bank import read_bank, references_of
from seesay.captioning.consensus import Consensus
from seesay.captioning.reranking import refine_images
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.evaluation.protocols import EvaluationSet
from seesay.images.extraction import features_of
from seesay.metrics.bootstrap import estimate
from seesay.metrics.neighbours import nearest
from seesay.models.pretrained import load_captioner
from seesay.text.function_words import FUNCTION_WORDS

SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="mrnn-flickr8k")
    parser.add_argument("--neighbours", type=int, default=5)
    arguments = parse_arguments(parser, "neighbours")
    model = answering(load_captioner(arguments.weights))
    flickr8k = data.load("flickr8k")
    bank = read_bank(model, flickr8k)
    source = EvaluationSet(flickr8k.split("test")).read(model)
    assert source.table is not None
    train = flickr8k.split("train")
    table = features_of(train.images, model.feature_spec, model.outputs)
    own, others = (each.rows(range(len(each))).pooled.numpy() for each in (source.table, table))
    drawn = np.random.default_rng(SEED).integers(len(train), size=(len(source.table), arguments.neighbours))
    near = {
        "refined": nearest(refine_images(model, source.table), bank.vectors, arguments.neighbours),
        "original": nearest(own, others, arguments.neighbours),
        "random": drawn,
    }
    consensus = Consensus(bank.captions)
    photos = np.arange(len(source.table))
    found = {
        name: {"cider": mean_cider(consensus, source, places), "words": shared_words(bank.captions, source, places)}
        for name, places in near.items()
    }
    rows = {
        name: {measure: asdict(estimate(values, photos)) for measure, values in row.items()}
        for name, row in found.items()
    }
    better = {
        measure: asdict(estimate(found["refined"][measure] - found["original"][measure], photos))
        for measure in ("cider", "words")
    }
    both = zip(near["refined"].tolist(), near["original"].tolist(), strict=True)
    same = float(np.mean([len({*refined} & {*original}) for refined, original in both]))
    print(rows, better, same, sep="\n")
    record(
        arguments, ("numpy",), weights=arguments.weights, data="flickr8k", split="test", n_photos=len(photos),
        neighbours=arguments.neighbours, rows=rows, refined_is_better_by=better, in_both=round(same, 2),
    )  # fmt: skip


def mean_cider(consensus: Consensus, source: Examples, near: NDArray[np.int64]) -> NDArray[np.float64]:
    """100 times the mean CIDEr-D of a photo's own sentences with all sentences of its neighbours: (n,)."""
    own = references_of(source)
    scores = consensus.similarities(own, near).scores(m=10**6)  # of all of them, not only of the most similar
    return np.array([100 * float(np.mean(some)) for some in scores])


def shared_words(captions: list[list[list[str]]], source: Examples, near: NDArray[np.int64]) -> NDArray[np.float64]:
    """Percent of the content words of a photo's sentences that its neighbours' sentences have, too: (n,)."""
    shares = []
    for own, places in zip(references_of(source), near, strict=True):
        words = content(own)
        shares.append(100 * float(np.mean([len(words & content(captions[place])) / len(words) for place in places])))
    return np.array(shares)


def content(sentences: list[list[str]]) -> set[str]:
    """The words of some sentences that name something."""
    return {word for sentence in sentences for word in sentence} - FUNCTION_WORDS


if __name__ == "__main__":
    main()
