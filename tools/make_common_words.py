"""Write the words that are frequent in English text: src/seesay/text/typed/common.txt.gz.

    python tools/make_common_words.py

The order of GloVe's words is that of how frequent they are in its text, Wikipedia and news. Search needs to know only
which words are among the first of them, and should not need GloVe for it.
"""

import gzip
from pathlib import Path

from seesay.text.typed.spelling import COMMON, SHORTEST
from seesay.text.vectors import load_vectors

TARGET = Path(__file__).parents[1] / "src" / "seesay" / "text" / "typed" / "common.txt.gz"


def common_words() -> list[str]:
    """Those that a person could have misspelt, in the order of the alphabet."""
    ranks = load_vectors().rows
    return sorted(word for word, rank in ranks.items() if rank < COMMON and word.isalpha() and len(word) >= SHORTEST)


if __name__ == "__main__":
    TARGET.write_bytes(gzip.compress("\n".join(common_words()).encode(), 9, mtime=0))
