"""Real captions, and a hypothesis for each image that shares some words with them."""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Captions:
    hypotheses: list[str]
    references: list[list[str]]


@pytest.fixture(scope="session")
def flickr8k(shared_data: Path) -> Captions:
    """600 images: four captions of each as references, the fifth, or one of another image, as hypothesis."""
    by_image = defaultdict(list)
    lines = (shared_data / "flickr8k" / "Flickr8k_text" / "Flickr8k.token.txt").read_text().splitlines()
    for line in lines[:3000]:
        name, sentence = line.split("\t")
        by_image[name.split("#")[0]].append(" ".join(re.findall(r"\w+|[^\w\s]", sentence.lower())))
    captions = [sentences for sentences in by_image.values() if len(sentences) == 5]
    hypotheses = [(own if i % 2 else captions[i - 7])[4] for i, own in enumerate(captions)]
    return Captions(hypotheses, [own[:4] if i % 3 else own[:2] for i, own in enumerate(captions)])
