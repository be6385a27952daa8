"""`seesay.caption`: write captions for images."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.verbs.inputs import Images, NamedImage, find_missing, read_images, refuse
from seesay.verbs.loading import answering_model, name_of
from seesay.verbs.results import Bars, lines, no_bars, picture_html, table_html

if TYPE_CHECKING:
    from seesay.captioning.reranking import Reranker
    from seesay.captioning.sentences import Caption
    from seesay.captioning.settings import Sampling, Settings
    from seesay.data import Collection
    from seesay.runtime.protocol import Answering


@dataclass(frozen=True, slots=True)
class CaptionedImage:
    """An image and its captions.

    Attributes:
        image: The image that was given.
        captions: The best first; each has `text`, `log_prob`, where captions are reranked `consensus`, and where it has
            been measured how sure the weights may be `confidence` and `is_unsure`.
    """

    image: NamedImage
    captions: "tuple[Caption, ...]"

    @property
    def name(self) -> str:
        """The path of the image, or `image 1` where it has none."""
        return self.image.name

    @property
    def text(self) -> str:
        """The best caption."""
        return self.captions[0].text

    def to_dict(self) -> dict[str, Any]:
        """As `seesay caption --json` prints it."""
        return {
            "photo": self.name,
            "captions": [
                {
                    "caption": each.text,
                    "log_prob": round(each.log_prob, 4),
                    **({} if each.consensus is None else {"consensus": round(each.consensus, 4)}),
                    **({} if each.finished else {"cut": True}),
                    **({} if each.confidence is None else {"confidence": round(each.confidence, 4)}),
                    **({"unsure": True} if each.is_unsure else {}),
                }
                for each in self.captions
            ],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Captions:
    """The captions of images.

    Attributes:
        model: The weights that wrote them.
        reranked: Whether they are ordered by what people said about similar photos.
        images: The images with their captions, in the order in which they were given.
        failures: Why other images could not be used, by name.
        warnings: What one should know before relying on them.
    """

    model: str
    reranked: bool
    images: tuple[CaptionedImage, ...]
    failures: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The best caption of the first image."""
        return self.images[0].text

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[CaptionedImage]:
        return iter(self.images)

    def __getitem__(self, place: int) -> CaptionedImage:
        return self.images[place]

    def __str__(self) -> str:
        return "\n".join(f"{image.name}: {image.text}" for image in self.images)

    def __repr__(self) -> str:
        said = [f"  {image.name}: {say_caption(each)}" for image in self.images for each in image.captions]
        return lines(f"Captions by {self.model}", *said, *self.warnings)

    def _repr_html_(self) -> str:
        rows = [
            [
                picture_html(image.image.open(at_least=240), 120),
                "<br>".join(escape(say_caption(each)) for each in image.captions),
            ]
            for image in self.images
        ]
        return table_html(["image", f"caption by {self.model}"], rows)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay caption --json` prints it."""
        return {
            "model": self.model,
            "reranked": self.reranked,
            "photos": [image.to_dict() for image in self.images],
            "failures": self.failures,
        }


def caption(
    images: Images,
    *,
    model: "Answering | str | Path" = "mrnn",
    n_best: int = 1,
    start: str = "",
    beam: int | None = None,
    max_length: int | None = None,
    sampling: "Sampling | None" = None,
    references: "Collection | str | Path | None" = None,
    metric: str | None = None,
    k: int | None = None,
    m: int | None = None,
    skip_unusable: bool = False,
    bars: Bars = no_bars,
) -> Captions:
    """Write captions for images.

    Args:
        images: One image or several, as anything that `seesay.open_image` opens; a folder stands for its photos.
        model: Weights by name or folder, or a loaded captioner.
        n_best: Captions for each image.
        start: First words, which every caption continues.
        beam: Width of the beam; what is not given is as it was chosen for the weights.
        max_length: Words at which a caption is cut.
        sampling: Draw the words instead of searching for the best caption (`seesay.captioning.settings.Sampling`).
        references: A captioned collection to rerank against: captions that agree with what people said about similar
            photos come first.
        metric: Reranking: the similarity of captions, `cider` or `bleu`.
        k: Reranking: how many similar photos count.
        m: Reranking: how many of their captions count, the most similar ones.
        skip_unusable: Leave out images that cannot be opened, which `failures` then names, instead of an error.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: An image cannot be opened, or the weights write no captions.

    Example:
        >>> seesay.caption("photo.jpg").text  # doctest: +SKIP
        'a dog runs through the grass'
    """
    given = read_images(images)
    failures = find_missing(given)
    if not skip_unusable:
        refuse(failures)
    given = [image for image in given if image.name not in failures]
    if not given:
        return Captions(str(model), False, (), failures)

    from seesay.captioning.captions import caption_images, read_start
    from seesay.captioning.matching import judge_of
    from seesay.captioning.sentences import judge
    from seesay.captioning.settings import Settings
    from seesay.catalogue.weights import doubt_of
    from seesay.verbs.features import see

    captioner = answering_model(model, "step", "matches images and sentences and writes no captions")
    settings = Settings.of(captioner, beam=beam, candidates=beam, max_length=max_length, metric=metric, k=k, m=m)
    read_start(captioner, start)  # refuse it before anything is computed
    reranker: Reranker | None = None
    warnings: list[str] = []
    if references is not None:
        reranker, warnings = _read_references(captioner, references, settings, bars)
    with see(captioner, given, bars, keep_maps=False) as seen, bars("captions") as on_progress:
        if not skip_unusable:
            refuse(seen.failures)
        captions = caption_images(
            captioner, seen.table, n_best=n_best, start=start, settings=settings, sampling=sampling,
            judge=judge_of(captioner), reranker=reranker, on_progress=on_progress,
        )  # fmt: skip
        doubt = doubt_of(captioner.weights, "confidence")
        found = tuple(
            CaptionedImage(image, tuple(judge(each, doubt) for each in own))
            for image, own in zip(seen.images, captions, strict=True)
        )
    return Captions(name_of(captioner, model), reranker is not None, found, failures | seen.failures, tuple(warnings))


def say_caption(caption: "Caption") -> str:
    """A caption as people read it, marked where its model is not sure of it."""
    return f"{caption.text} (unsure)" if caption.is_unsure else caption.text


def _read_references(
    captioner: "Answering", given: "Collection | str | Path", settings: "Settings", bars: Bars
) -> "tuple[Reranker, list[str]]":
    from seesay import data
    from seesay.captioning.reranking import Reranker

    collection = data.load(given) if isinstance(given, str | Path) else given
    with bars(f"features of {collection.name}") as on_progress:
        reranker = Reranker.of(captioner, collection, settings.metric, on_progress=on_progress)
    warnings = []
    if reranker.n_failed:
        check = given if isinstance(given, str | Path) else collection.root
        warnings.append(
            f"{reranker.n_failed} photos of {collection.name} are missing or damaged and were left out\n"
            f"  try: seesay data check {check}"
        )
    return reranker, warnings
