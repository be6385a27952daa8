"""How long the vectors of words are for alignment models, as in Table 1 of DVSA's supplement.

A length is counted in lengths of the sentence's average word, or taken as it is where the weights have free lengths.
Beside the longest and shortest words stand the rank correlation with the idf, and the average of words that name
something and of those that only hold a sentence together.

    SEESAY_DATA=… python -m benchmarks.quality.magnitudes [--weights dvsa …]
"""

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.engines import answering
from seesay.grounding.magnitudes import WordMagnitude, has_free_lengths, spearman, word_magnitudes
from seesay.models.aligner import load_aligner
from seesay.text.function_words import FUNCTION_WORDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", nargs="+", default=["dvsa"])
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("-n", type=int, default=20)
    arguments = parse_arguments(parser, "magnitudes")
    sentences = data.load("flickr8k").split("test").sentences
    rows: list[dict[str, Any]] = []
    for name in arguments.weights:
        model = load_aligner(name)
        reader = answering(model)
        relative = not has_free_lengths(reader)
        found = word_magnitudes(reader, sentences, min_count=arguments.min_count, relative=relative)
        row: dict[str, Any] = {"weights": model.weights.name if model.weights else name, "n_words": len(found)}
        row["relative"] = relative
        row["spearman_idf"] = round(spearman([word.magnitude for word in found], [word.idf for word in found]), 4)
        for kind, own in (("function", True), ("naming", False)):
            lengths = [word.magnitude for word in found if (word.word in FUNCTION_WORDS) == own]
            row[kind] = {"n": len(lengths), "mean": round(sum(lengths) / len(lengths), 4)}
        row |= {"longest": _table(found[: arguments.n]), "shortest": _table(found[::-1][: arguments.n])}
        rows.append(row)
        print({key: value for key, value in row.items() if key not in ("longest", "shortest")}, flush=True)
    record(arguments, ("torch",), data="flickr8k test", min_count=arguments.min_count, rows=rows)


def _table(words: Sequence[WordMagnitude]) -> list[list[Any]]:
    return [[word.word, round(word.magnitude, 3)] for word in words]


if __name__ == "__main__":
    main()
