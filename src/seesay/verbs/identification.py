"""`seesay.identify`: which of several images was a description written for?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.catalogue.weights import calibration_of, tuned_table
from seesay.errors import SeesayError
from seesay.library.ranking.calibration import LEAST_LIKELY
from seesay.verbs.inputs import Images, NamedImage, read_usable, refuse
from seesay.verbs.loading import answering_model, name_of
from seesay.verbs.results import Bars, Drawn, lines, no_bars, picture_html, table_html

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.runtime.protocol import Answering


HALF = 0.5
"""Below this an identifier takes it for likelier that a description does not fit."""


@dataclass(frozen=True, slots=True)
class IdentifiedImage:
    """An image and how probable it is.

    Attributes:
        image: The image that was given.
        choice: Probability that the description was written for this one of the images.
        match: That the description fits this image, which is looked at alone. Of an identifier the probability, as if
            it were written for every second image; of an embedding the share of people who would say so, None where
            that has not been measured.
    """

    image: NamedImage
    choice: float
    match: float | None

    @property
    def name(self) -> str:
        """The path of the image, or `image 1` where it has none."""
        return self.image.name


@dataclass(frozen=True, slots=True, repr=False)
class Identification(Drawn):
    """Images by how probable it is that a description was written for them.

    Attributes:
        model: The weights that judged.
        sentence: The description.
        n_images: How many images were compared.
        images: The most probable first.
        failures: Why other images could not be used, by name.
        warnings: What one should know before relying on the order.
        nothing_known: Whether the description has no word that the model has learned.
    """

    model: str
    sentence: str
    n_images: int
    images: tuple[IdentifiedImage, ...]
    failures: dict[str, str]
    warnings: tuple[str, ...]
    nothing_known: bool
    _method: str = field(compare=False)
    _explained: "Answering" = field(compare=False)
    _least: float = field(default=HALF, compare=False)

    @property
    def best(self) -> IdentifiedImage:
        """The most probable image."""
        return self.images[0]

    @property
    def is_none(self) -> bool:
        """Whether the description probably fits none of the images."""
        return self.nothing_known or (self.best.match is not None and self.best.match < self._least)

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[IdentifiedImage]:
        return iter(self.images)

    def __getitem__(self, place: int) -> IdentifiedImage:
        return self.images[place]

    def draw(self) -> "Image":
        """The images with heat where the match rests, and the words of the description by their weights."""
        from seesay.drawing.saliency import draw_identification
        from seesay.explainers.explaining import explain_image
        from seesay.explainers.registry import find_explainer

        model = self._explained
        photos = [row.image.open(at_least=800) for row in self.images]
        side = None if find_explainer(self._method).needs_image else model.feature_spec.pixels
        found = [explain_image(model, row.image.open(side), self.sentence, self._method) for row in self.images]
        labels = [f"{100 * row.choice:.0f} %  {Path(row.name).name}" for row in self.images]
        return draw_identification(photos, found, labels, title=self.sentence)

    def __repr__(self) -> str:
        rows = [f"  {100 * row.choice:3.0f} %  {_percent(row.match):>5}  {row.name}" for row in self.images]
        none = ["none of them fits"] if self.is_none else []
        title = f"Identification of {self.sentence!r} by {self.model} (choice, match)"
        return lines(title, *rows, *none, *self.warnings)

    def _repr_html_(self) -> str:
        rows = [
            [
                picture_html(row.image.open(at_least=240), 120),
                f"{100 * row.choice:.0f} %",
                _percent(row.match),
                escape(row.name),
            ]
            for row in self.images
        ]
        return table_html(["image", "choice", "match", "name"], rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay identify --json` prints it."""
        rows = [
            {
                "photo": row.name,
                "choice": round(row.choice, 4),
                "match": None if row.match is None else round(row.match, 4),
            }
            for row in self.images
        ]
        return {
            "model": self.model,
            "sentence": self.sentence,
            "n_photos": self.n_images,
            "none": self.is_none,
            "photos": rows,
            "failures": self.failures,
        }


def identify(
    sentence: str,
    images: Images,
    *,
    model: "Answering | str | Path" = "eye",
    n: int | None = None,
    method: str | None = None,
    exact: bool = False,
    skip_unusable: bool = False,
    bars: Bars = no_bars,
) -> Identification:
    """Rank images by how probable it is that a description was written for them.

    Args:
        sentence: A description of one of the images.
        images: Two or more, as anything that `seesay.open_image` opens; a folder stands for its photos.
        model: Weights of an identifier or of a joint embedding by name or folder, or a loaded one. The choice of an
            embedding is the softmax of its scores, which nobody has calibrated.
        n: How many to give, the best first; all where it is not given.
        method: The explainer that `draw()` asks, by name; by default the first that the model lists, or, for a model
            that lists none, the one that `seesay.explain` asks.
        exact: Take every word as it is written; by default one that the model has never learned is read as the known
            one that it is spelled like (`seesay.text.typed.known_words`).
        skip_unusable: Leave out images that cannot be opened, which `failures` then names, instead of an error.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: An image cannot be opened, the description has no words, or the weights are of another kind.

    Example:
        >>> seesay.identify("a dog runs", ["cat.jpg", "dog.jpg"]).best.name  # doctest: +SKIP
        'dog.jpg'
    """
    given, failures = read_usable(images, skip_unusable=skip_unusable)

    import numpy as np

    from seesay.explainers.registry import choose_explainer, default_weights
    from seesay.runtime.probabilities import choice_probability, match_probability
    from seesay.text.function_words import content_words
    from seesay.text.tokens import tokenize
    from seesay.text.typed.known_words import read_words
    from seesay.verbs.features import see

    identifier = answering_model(model)
    compares = identifier.can("embed") and not identifier.can("saliency")
    if not compares:
        identifier = answering_model(model, "saliency", "gives no probability of a match")
    name = name_of(identifier, model)
    explained = identifier if identifier.explainers else answering_model(default_weights(method))
    explainer = choose_explainer(explained, method)  # an unknown one is refused before anything is computed
    if not tokenize(sentence):
        raise SeesayError(f"the description {sentence!r} has no words")
    reading = read_words(sentence, identifier.tokenizer, exact=exact)
    warnings = tuple(reading.notes(without="the choice is by the rest", lost="the choice means nothing"))
    with see(identifier, given, bars, keep_maps=True) as seen:
        if not skip_unusable or not seen.images:
            refuse(seen.failures)
        logits = identifier.score(identifier.encode_images(seen.all()), identifier.encode_texts([reading.text]))[:, 0]
        curve = calibration_of(identifier.weights) if compares else None
        calibration = (1.0, 0.0, _choice_temperature(identifier)) if compares else identifier.calibration
        choice = choice_probability(calibration, logits)
        words = content_words(reading.text)
        rarest = min(map(identifier.caption_words.count, words), default=0)
        match = (
            match_probability(calibration, logits) if curve is None else curve.probability(logits, len(words), rarest)
        ) * (not reading.is_lost)
        has_match = curve is not None or not compares
    order = np.argsort(-logits, kind="stable").tolist()[:n]
    rows = tuple(
        IdentifiedImage(seen.images[at], float(choice[at]), float(match[at]) if has_match else None) for at in order
    )
    return Identification(
        name,
        sentence,
        len(seen.images),
        rows,
        failures | seen.failures,
        warnings,
        reading.is_lost,
        explainer.name,
        explained,
        HALF if curve is None else LEAST_LIKELY,
    )


def _choice_temperature(model: "Answering") -> float:
    """What an embedding's scores are divided by in the choice among images: chosen on dev, or else as in training."""
    chosen = tuned_table(model.weights, "choice") if model.weights else None
    return float(chosen["temperature"]) if chosen else model.temperature


def _percent(probability: float | None) -> str:
    return "–" if probability is None else f"{100 * probability:.0f} %"
