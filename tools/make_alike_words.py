"""Write which words are used like words of ImageNet's class names: src/seesay/library/alike.txt.gz.

    python tools/make_alike_words.py

GloVe's 400,000 vectors take 80 MB, and all that search wants of them is which class a word that no caption taught may
stand for. A line is a word, and after it the words of class names whose vectors have a cosine of LEAST or more with its
own, each with the cosine, the nearest first.
"""

import gzip
from pathlib import Path

import numpy as np

from seesay.library.tag_names import classes_by_word
from seesay.settings.tags import LEAST_ALIKE
from seesay.text.vectors import load_vectors

MOST = 20
"""Words that are kept of a line; the settings of tags ask for ten classes."""
TARGET = Path(__file__).parents[1] / "src" / "seesay" / "library" / "alike.txt.gz"


def main() -> None:
    vectors = load_vectors()
    unit = np.array(vectors.matrix)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-9)
    known = [word for word in classes_by_word() if word in vectors]
    rows = unit[[vectors.rows[word] for word in known]]
    lines = []
    for word, row in vectors.rows.items():
        if not (word.isascii() and word.isalpha()):
            continue
        cosines = rows @ unit[row]
        if cosines.max() < LEAST_ALIKE:
            continue
        best = [place for place in np.argsort(-cosines, kind="stable")[:MOST] if cosines[place] >= LEAST_ALIKE]
        lines.append("\t".join([word, *(f"{known[place]} {cosines[place]:.4f}" for place in best)]))
    with TARGET.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(("\n" + "\n".join(sorted(lines)) + "\n").encode())
    print(f"{len(lines):,} words, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
