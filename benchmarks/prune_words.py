"""Take the rarest words out of trained weights, so that they fit the package; they are read as unknown from then on.

    python benchmarks/prune_words.py runs/hmlstm/weights --min-count 8 -o src/seesay/weights/hmlstm

What was measured of the weights before is not theirs any more: measure them again (`seesay evaluate … --record`).
"""

import argparse
import shutil
from pathlib import Path

from seesay.grounding.phrases import PHRASES
from seesay.models import pretrained
from seesay.text.vocabulary import SPECIAL, UNKNOWN, Vocabulary

OWN = ("format", "family", "config", "features", "vocabulary", "figures", "name")  # written or measured anew


def prune(vocabulary: Vocabulary, min_count: int) -> Vocabulary:
    """The words that were seen at least `min_count` times; they stand first, the most frequent of all before them."""
    n = len(SPECIAL) + sum(count >= min_count for count in vocabulary.counts[len(SPECIAL) :])
    counts = list(vocabulary.counts[:n])
    counts[UNKNOWN] += sum(vocabulary.counts[n:])
    return Vocabulary(vocabulary.words[:n], tuple(counts), min_count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("--min-count", type=int, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    model = pretrained.load(arguments.weights)
    assert model.weights is not None
    vocabulary = prune(model.vocabulary, arguments.min_count)
    pruned = type(model)(model.config, vocabulary, model.feature_spec)
    n_before, n_after = len(model.vocabulary), len(vocabulary)
    wanted = pruned.state_dict()
    pruned.load_state_dict(
        {
            key: tensor[:n_after] if len(tensor.shape) and tensor.shape != wanted[key].shape else tensor
            for key, tensor in model.state_dict().items()
        }
    )
    about = {key: value for key, value in model.weights.about.items() if key not in OWN}
    pretrained.save(
        arguments.output, pruned, {"name": model.weights.name, **about, "pruned": {"min_count": arguments.min_count}}
    )
    if (arguments.weights / PHRASES).is_file():
        shutil.copyfile(arguments.weights / PHRASES, arguments.output / PHRASES)
    print(f"{n_before:,} words, {n_after:,} kept, in {arguments.output}")


if __name__ == "__main__":
    main()
