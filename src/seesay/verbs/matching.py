"""`seesay.match`: how well sentences fit images."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.verbs.inputs import Images, NamedImage, find_missing, read_images
from seesay.verbs.loading import model_for, name_of
from seesay.verbs.results import lines, picture_html, table_html

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seesay.models.base import Matcher


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Matches:
    """The scores of sentences and images.

    Attributes:
        model: The weights that scored.
        images: The images that were given.
        sentences: The sentences that were given.
        scores: (n_images, n_sentences) the model's own; for a joint embedding the cosine, from -1 to 1.
        shares: (n_images, n_sentences) how the sentences divide each image among themselves; a row sums to 1.
        warnings: What one should know before relying on them.
    """

    model: str
    images: tuple[NamedImage, ...]
    sentences: tuple[str, ...]
    scores: "NDArray[np.float32]"
    shares: "NDArray[np.float32]"
    warnings: tuple[str, ...] = ()

    def ranked(self, place: int = 0) -> list[tuple[str, float, float]]:
        """The sentences of an image, the best first, each with its score and its share."""
        order = (-self.scores[place]).argsort(kind="stable")
        return [(self.sentences[at], float(self.scores[place, at]), float(self.shares[place, at])) for at in order]

    def __repr__(self) -> str:
        rows = [
            f"  {score:.3f} {100 * share:3.0f} %  {image.name}: {sentence}"
            for place, image in enumerate(self.images)
            for sentence, score, share in self.ranked(place)
        ]
        return lines(f"Matches by {self.model}", *rows, *self.warnings)

    def _repr_html_(self) -> str:
        rows = [
            [
                picture_html(image.open(at_least=240), 120) if rank == 0 else "",
                escape(sentence),
                f"{score:.3f}",
                f"{100 * share:.0f} %",
            ]
            for place, image in enumerate(self.images)
            for rank, (sentence, score, share) in enumerate(self.ranked(place))
        ]
        return table_html(["image", "sentence", "score", "share"], rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay match --json` prints it."""
        rows = [
            {"photo": image.name, "sentence": sentence, "score": round(float(s), 4), "share": round(float(p), 4)}
            for image, row, share in zip(self.images, self.scores, self.shares, strict=True)
            for sentence, s, p in zip(self.sentences, row, share, strict=True)
        ]
        return {"model": self.model, "matches": rows}


def match(
    images: Images,
    sentences: str | Sequence[str],
    *,
    model: "Matcher | str | Path" = "vse",
    ensemble: str | Path | None = None,
) -> Matches:
    """Score every sentence against every image.

    Args:
        images: One image or several, as anything that `seesay.open_image` opens; a folder stands for its photos.
        sentences: One or several.
        model: Weights by name or folder, or a loaded model.
        ensemble: Instead of one model: `shipped`, or an ensemble that `seesay evaluate --ensemble` wrote.

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
    missing = find_missing(given)
    for image in given:
        if image.name in missing:
            image.open()  # which says why it cannot be opened, before a model is loaded for nothing

    from seesay.models.base import Matcher
    from seesay.models.pretrained import load
    from seesay.text.tokens import tokenize

    sources = [image.source for image in given]
    if ensemble is not None:
        from seesay.models.ensemble import read_ensemble

        together = read_ensemble(ensemble)
        name, matcher = together.name, load(together.members[0].name)
        scores = together.match(sources, texts)
        shares = scores.softmax(1)  # its weights were chosen by this very likelihood
    else:
        matcher = model_for(model, load, Matcher, "matches no images and sentences")
        name = name_of(matcher, model)
        scores = matcher.match(sources, texts)
        shares = (scores / matcher.temperature).softmax(1)
    warnings = [
        f"{name} knows no word of {sentence!r}: its score means nothing"
        for sentence in texts
        if not any(word in matcher.tokenizer for word in tokenize(sentence))
    ]
    return Matches(name, tuple(given), tuple(texts), scores.numpy(), shares.numpy(), tuple(warnings))
