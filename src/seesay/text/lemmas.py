"""The plain form of words: dog for dogs, run for running."""

from collections.abc import Iterable
from typing import Any

from seesay.text._dependencies import installed_parser
from seesay.text.tokens import tokenize


def lemmatize(sentences: Iterable[str]) -> list[list[str]]:
    """The tokens of sentences, each in its plain form.

    Raises:
        SeesayError: No spaCy pipeline for English is installed.

    Example:
        >>> lemmatize(["Two dogs are playing with the children", ""])
        [['two', 'dog', 'be', 'play', 'with', 'the', 'child'], []]
    """
    import spacy
    from spacy.tokens import Doc

    pipeline = spacy.load(installed_parser(), exclude=["ner", "parser", "senter"])
    documents: Any = (Doc(pipeline.vocab, words=tokenize(sentence)) for sentence in sentences)
    return [[token.lemma_.lower() for token in document] for document in pipeline.pipe(documents)]
