"""`seesay.match`: how well sentences fit images."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seesay.catalogue.weights import calibration_of
from seesay.errors import SeesayError
from seesay.system.extras import require
from seesay.text.function_words import content_words
from seesay.text.tokens import tokenize
from seesay.verbs.inputs import Images, NamedImage, find_missing, read_images
from seesay.verbs.loading import answering_model, name_of
from seesay.verbs.results import lines, picture_html, say_share, table_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seesay.catalogue.ensembles import Ensemble
    from seesay.runtime.protocol import Answering


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Matches:
    """The scores of sentences and images.

    Attributes:
        model: The weights that scored.
        images: The images that were given.
        sentences: The sentences that were given.
        scores: (n_images, n_sentences) the model's own; for a joint embedding the cosine, from -1 to 1.
        shares: (n_images, n_sentences) how the sentences divide each image among themselves; a row sums to 1.
        fits: (n_images, n_sentences) the share of people who would say that the sentence fits the image; None where
            that has not been measured for the model.
        warnings: What one should know before relying on them.
    """

    model: str
    images: tuple[NamedImage, ...]
    sentences: tuple[str, ...]
    scores: "NDArray[np.float32]"
    shares: "NDArray[np.float32]"
    fits: "NDArray[np.float64] | None" = None
    warnings: tuple[str, ...] = ()

    def ranked(self, place: int = 0) -> list[tuple[str, float, float]]:
        """The sentences of an image, the best first, each with its score and its share."""
        return [
            (self.sentences[at], float(self.scores[place, at]), float(self.shares[place, at]))
            for at in self._order(place)
        ]

    def fit_words(self, place: int = 0) -> list[str]:
        """How well each sentence fits an image, in the order of `ranked`: `64 % likely`, or nothing."""
        if self.fits is None:
            return [""] * len(self.sentences)
        return [say_share(float(self.fits[place, at])) for at in self._order(place)]

    def _order(self, place: int) -> list[int]:
        return [int(at) for at in (-self.scores[place]).argsort(kind="stable")]

    def __repr__(self) -> str:
        rows = [
            f"  {score:.3f} {100 * share:3.0f} %  {fits}  {image.name}: {sentence}"
            for place, image in enumerate(self.images)
            for (sentence, score, share), fits in zip(self.ranked(place), self.fit_words(place), strict=True)
        ]
        return lines(f"Matches by {self.model}", *rows, *self.warnings)

    def _repr_html_(self) -> str:
        rows = [
            [
                picture_html(image.open(at_least=240), 120) if rank == 0 else "",
                escape(sentence),
                f"{score:.3f}",
                f"{100 * share:.0f} %",
                fits,
            ]
            for place, image in enumerate(self.images)
            for rank, ((sentence, score, share), fits) in enumerate(
                zip(self.ranked(place), self.fit_words(place), strict=True)
            )
        ]
        return table_html(["image", "sentence", "score", "share", "fits"], rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay match --json` prints it."""
        rows = [
            {
                "photo": image.name,
                "sentence": sentence,
                "score": round(float(self.scores[row, at]), 4),
                "share": round(float(self.shares[row, at]), 4),
                "fits": None if self.fits is None else round(float(self.fits[row, at]), 4),
            }
            for row, image in enumerate(self.images)
            for at, sentence in enumerate(self.sentences)
        ]
        return {"model": self.model, "matches": rows}


def match(
    images: Images,
    sentences: str | Sequence[str],
    *,
    model: "Answering | Any | str | Path" = "eye",
    ensemble: str | Path | None = None,
    exact: bool = False,
) -> Matches:
    """Score every sentence against every image.

    Args:
        images: One image or several, as anything that `seesay.open_image` opens; a folder stands for its photos.
        sentences: One or several.
        model: Weights by name or folder, or a loaded model.
        ensemble: Instead of one model: `shipped`, or an ensemble that `seesay evaluate --ensemble` wrote.
        exact: Take every word as it is written; by default one that the model has never learned is read as the known
            one that it is spelled like (`seesay.text.typed.known_words`).

    Raises:
        SeesayError: An image cannot be opened, or there is no sentence.

    Example:
        >>> seesay.match("photo.jpg", ["a dog runs", "a red bus"]).ranked()[0]  # doctest: +SKIP
        ('a dog runs', 0.41, 0.98)
    """
    given = read_images(images)
    texts = [sentences] if isinstance(sentences, str) else list(sentences)
    if not texts:
        raise SeesayError("there is no sentence to match", allowed="one sentence or more")
    for text in texts:
        if not tokenize(text):
            raise SeesayError(f"the sentence {text!r} has no words", allowed='a sentence such as "a dog runs"')
    missing = find_missing(given)
    for image in given:
        if image.name in missing:
            image.open()  # which says why it cannot be opened, before a model is loaded for nothing

    from seesay.text.typed.known_words import read_words

    sources = [image.source for image in given]
    calibration = None
    if ensemble is not None:
        from seesay.catalogue.ensembles import read_ensemble

        together = read_ensemble(ensemble)
        matcher = answering_model(together.members[0].name)
        name = together.name
        readings = [read_words(text, matcher.caption_words, exact=exact) for text in texts]
        scores = _match_together(together, sources, [reading.text for reading in readings])
        shares = _softmax(scores)  # its weights were chosen by this very likelihood
    else:
        matcher = _matcher_for(model)
        name = name_of(matcher, model)
        readings = [read_words(text, matcher.caption_words, exact=exact) for text in texts]
        encoded = matcher.encode_texts([reading.text for reading in readings])
        scores = matcher.score(matcher.encode_images(matcher.features(sources)), encoded)
        shares = _softmax(scores / matcher.temperature)
        calibration = calibration_of(matcher.weights)
    notes = [each.notes(without="the score is that of the rest", lost="the score means nothing") for each in readings]
    warnings = [note for own in notes for note in own]
    fits = None
    if calibration is not None:
        words = [content_words(reading.text) for reading in readings]
        rarest = [min(map(matcher.caption_words.count, own), default=0) for own in words]
        known = [not reading.is_lost for reading in readings]
        fits = calibration.probability(scores, [len(own) for own in words], rarest) * known
    return Matches(name, tuple(given), tuple(texts), scores, shares, fits, tuple(warnings))


def _matcher_for(given: Any) -> "Answering":
    """A model of either engine that reads sentences."""
    lack = "matches no images and sentences"
    model = answering_model(given, lack=lack)
    if "score" in getattr(model.weights, "about", {}).get("graphs", {}).get("missing", {}) and not model.can("texts"):
        raise SeesayError(f"{name_of(model, given)} {lack}", hint="seesay models")
    return model


def _match_together(together: "Ensemble", sources: "list[Any]", texts: "list[str]") -> "NDArray[np.float32]":
    """The scores of an ensemble: by graphs, and by torch where it corrects for hubness, of which no graph knows."""
    from seesay.catalogue.ensembles import Scored

    if together.uses_hubness:
        require("train", purpose="an ensemble that corrects for hubness")
        from seesay.engines import match_together

        return match_together(together, sources, texts)
    models = [answering_model(member.name) for member in together.members]
    return together.join(
        [
            Scored(each.score_as_stage(each.encode_images(each.features(sources)), each.encode_texts(texts)))
            for each in models
        ]
    )


def _softmax(scores: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Of each row."""
    exponents = np.exp(scores - scores.max(1, keepdims=True))
    shares: NDArray[np.float32] = exponents / exponents.sum(1, keepdims=True)
    return shares
