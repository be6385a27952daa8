"""Sentences as rows of words, subwords, or both, read by graphs; `seesay.runtime.trees` reads them as trees."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seesay.catalogue.weights import short_texts_of
from seesay.errors import SeesayError
from seesay.images.arrays import Floats
from seesay.runtime.folder import GraphFolder
from seesay.runtime.protocol import Texts
from seesay.text.tokenizer import Tokenizer, pad_rows
from seesay.text.tokens import LONGEST

if TYPE_CHECKING:  # a query does without
    from seesay.settings.short_texts import ShortTexts
    from seesay.text.trees import Tree


class RowReader:
    """What of a model reads sentences as rows."""

    def __init__(self, graphs: GraphFolder) -> None:
        self.graphs = graphs

    @property
    def tokenizer(self) -> Tokenizer:
        """The words or subwords that it reads."""
        return self.graphs.vocabulary

    @property
    def caption_words(self) -> Tokenizer:
        """The words that captions taught: an embedding that stands beside the model has counted them."""
        return self.tokenizer if self._beside is None else self._beside.tokenizer

    @cached_property
    def _beside(self) -> "RowReader | None":
        """What reads for the embedding whose vectors stand beside this model's."""
        name = self.graphs.weights.about["config"].get("beside")
        return RowReader(GraphFolder(self.graphs.source_folder(str(name)))) if name else None

    def word_rows(self, sentences: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """The numbers of words, padded (n, T), and the lengths (n,); an empty sentence is one unknown word."""
        words, lengths = pad_rows(self.tokenizer, sentences, LONGEST)
        return {"words": words, "lengths": lengths}

    def text_inputs(self, sentences: Sequence[str]) -> dict[str, NDArray[Any]]:
        """What the graph `texts` reads: words, subwords, or both where an embedding stands beside the model."""
        if "subwords" not in self.graphs.open("texts").inputs:
            return self.word_rows(sentences)
        reader: Any = self.tokenizer
        subwords, mask = reader.rows(sentences)
        own = {"subwords": np.asarray(subwords), "mask": np.asarray(mask)}
        return own if self._beside is None else {**own, **self._beside.word_rows(sentences)}

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence, one at least: an array of n rows, or `Texts`."""
        found = self.graphs.open("texts")(self.text_inputs(sentences))
        encoded: Any = found[0] if len(found) == 1 else Texts(*found)
        if self._short:
            encoded[:, -1] *= self._short.shares_of(sentences)
        return encoded

    @cached_property
    def _short(self) -> "ShortTexts | None":
        return short_texts_of(self.graphs.weights)

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        """One vector for each phrase, one at least, read alone: (n, D)."""
        found: Floats = self.graphs.open("phrases")(self.word_rows(phrases))[0]
        return found

    def remember(self, sentence: str, tree: "Tree") -> None:
        """Refused: only a model that reads trees can be given one."""
        raise SeesayError(f"{self.graphs.weights.name} reads no trees", hint="seesay models")
