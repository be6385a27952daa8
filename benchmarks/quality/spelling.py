"""How often is a misspelt word read as the word that was meant?

* Typos: words of the captions of Flickr8K's and COCO's dev photos (`--split test`: Flickr8K's test photos), each with
  one letter left out, doubled, swapped with its neighbour or replaced, as in `benchmarks.quality.eye`.
* Misspellings that people made: the dictionary of codespell (PyPI, read where it is installed or from `--human FILE`,
  not kept here), where it knows one right word and captions have taught that; each word as likely as the square root of
  how often captions have it. The words meant are divided into halves by their checksum: one for dev, one for test.
* Letters in wrong places: all of these misspellings, each once, that have the right letters, the first and the last in
  their places, and are two edits from the right order.
* Names: words of ImageNet's class names that neither captions nor the list of usual words have. They are spelled
  rightly, so each that is replaced is a mistake.

The words of the queries of `benchmarks.quality.searches` are left out: rules are chosen on others.

    SEESAY_DATA=… python -m benchmarks.quality.spelling [--split test] [--human FILE]
"""

import argparse
import csv
import random
import zlib
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.catalogue import weights
from seesay.errors import SeesayError
from seesay.library.classes import CLASS_NAMES
from seesay.text.tokens import tokenize
from seesay.text.typed.known_words import read_words
from seesay.text.typed.spelling import edits_between, is_common
from seesay.text.vocabulary import Vocabulary

N = 150
"""Words of each kind."""
SHORTEST = 4
"""Letters of a word that is misspelt."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Typo = tuple[str, str]
"""As it was typed, and as it was meant."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--human", type=Path, metavar="FILE", help="codespell's dictionary.txt")
    arguments = parse_arguments(parser, "spelling")
    if arguments.split == "test":
        arguments.output = arguments.output.with_stem(f"{arguments.output.stem}_test")
    known = Vocabulary.from_json((weights.find("vse").folder / "vocabulary.json").read_text(encoding="utf-8"))
    rng, asked = random.Random(0), queried_words()
    made = human_typos(arguments.human or codespell(), arguments.split, known, asked)
    kinds = {
        "one edit": caption_typos(arguments.split, known, asked, rng),
        "people's": rng.choices(made, weights=[known.count(meant) ** 0.5 for _, meant in made], k=N),
        "wrong places": [typo for typo in made if is_mixed(*typo)],
        "names": [(name, name) for name in unknown_names(known)],
    }
    found = {kind: tally(typos, known) for kind, typos in kinds.items()}
    for kind, shares in found.items():
        print(f"{kind:10} {shares}")
    record(arguments, (), split=arguments.split, weights="vse", **found)


def tally(typos: Sequence[Typo], known: Vocabulary) -> dict[str, float]:
    """The shares in percent that are read as meant, left as they are typed, and taken for another word."""
    counts: Counter[str] = Counter()
    for typed, meant in typos:
        read = read_words(typed, known).text
        counts["as meant" if read == meant else "left" if read == typed else "another"] += 1
    shares = {kind: round(100 * counts[kind] / len(typos), 1) for kind in ("as meant", "left", "another")}
    return {"n": len(typos), **shares}


def queried_words() -> frozenset[str]:
    """The words of the searches that are judged by looking."""
    words: set[str] = set()
    for path in (Path(__file__).parent / "searches").glob("*.tsv"):
        with path.open(encoding="utf-8", newline="") as file:
            words.update(word for row in csv.DictReader(file, delimiter="\t") for word in tokenize(row["query"]))
    return frozenset(words)


def caption_typos(split: str, known: Vocabulary, without: frozenset[str], rng: random.Random) -> list[Typo]:
    names = ("flickr8k",) if split == "test" else ("flickr8k", "coco-all")
    sentences = [sentence for name in names for sentence in data.load(name).split(split).sentences]
    typos: list[Typo] = []
    while len(typos) < N:
        words = tokenize(rng.choice(sentences))
        fit = [word for word in words if len(word) >= SHORTEST and word.isalpha() and known.knows(word)]
        word = rng.choice(fit) if fit else ""
        typed = misspell(word, rng) if word and word not in without else word
        if typed != word:
            typos.append((typed, word))
    return typos


def misspell(word: str, rng: random.Random) -> str:
    """One edit, neither of the first letter nor of the last."""
    at = rng.randrange(1, len(word) - 1)
    return rng.choice([
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + rng.choice(LETTERS) + word[at + 1 :],
    ])  # fmt: skip


def codespell() -> Path:
    found = find_spec("codespell_lib")
    if found is None or found.origin is None:
        raise SeesayError("codespell's dictionary is not there", hint="pip install codespell, or --human FILE")
    return Path(found.origin).parent / "data" / "dictionary.txt"


def human_typos(path: Path, split: str, known: Vocabulary, without: frozenset[str]) -> list[Typo]:
    typos: list[Typo] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        typed, _, meant = line.lower().partition("->")
        is_plain = typed.isalpha() and typed.isascii() and meant.isalpha() and len(meant) >= SHORTEST
        if is_plain and known.knows(meant) and meant not in without and half_of(meant) == split:
            typos.append((typed, meant))
    return typos


def is_mixed(typed: str, meant: str) -> bool:
    ends = typed[0] == meant[0] and typed[-1] == meant[-1]
    return ends and sorted(typed) == sorted(meant) and edits_between(typed, meant) == 2


def half_of(word: str) -> str:
    return "test" if zlib.crc32(word.encode()) % 2 else "dev"


def unknown_names(known: Vocabulary) -> list[str]:
    words = {word for name in CLASS_NAMES for word in tokenize(name) if word.isalpha() and len(word) >= 3}
    return sorted(word for word in words if not known.knows(word) and not is_common(word))


if __name__ == "__main__":
    main()
