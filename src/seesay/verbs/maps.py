"""`seesay.map_collection`: a map of images and their sentences, by t-SNE of their vectors."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.verbs.loading import answering_model, label_of, name_of
from seesay.verbs.results import Bars, Drawn, no_bars

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.data.collection import Collection
    from seesay.drawing.maps import Map
    from seesay.runtime.protocol import Answering


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CollectionMap(Drawn):
    """Images and their sentences on a map.

    Attributes:
        model: The weights whose vectors are laid out.
        label: What drawings call them.
        collection: The images that were chosen, with their sentences.
        places: Where they are (`seesay.drawing.maps.Map`).
        mean_line: The mean distance of an image and its own sentence, and of an image and any sentence.
    """

    model: str
    label: str
    collection: "Collection"
    places: "Map"
    mean_line: tuple[float, float]

    def draw(self) -> "Image":
        """The map: a thumbnail for each image, a dot for each sentence, a line between what belongs together."""
        from seesay.drawing.maps import draw_map

        return draw_map(self.places, self._open())

    def write_page(self, path: Path) -> None:
        """Write the map as one HTML page with zoom that needs nothing else."""
        from seesay.drawing.maps import write_map

        chosen = self.collection
        title = f"{len(chosen)} photos of {chosen.name} and their sentences, as {self.label} sees them"
        names = [item.name for item in chosen.items]
        write_map(self.places, self._open(), names, chosen.sentences, path, title=title)

    def _open(self) -> "list[Image]":
        from seesay.images.io import open_image

        return [open_image(path, at_least=320) for path in self.collection.images]

    def __repr__(self) -> str:
        own, any_ = self.mean_line
        return (
            f"{len(self.collection)} photos, {len(self.collection.sentences)} sentences\n"
            f"a photo and its own sentence are {own:.2f} apart on average, a photo and any sentence {any_:.2f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As `seesay map --json` prints it."""

        def plain(place: Any) -> list[float]:
            return [round(float(part), 4) for part in place]

        found, sentences = self.places, self.collection.sentences
        rows = [
            {
                "image": item.name,
                "at": plain(found.images[place]),
                "sentences": [
                    {"text": sentences[text], "at": plain(found.sentences[text])}
                    for text in (found.owner == place).nonzero()[0]
                ],
            }
            for place, item in enumerate(self.collection.items)
        ]
        own, any_ = self.mean_line
        return {
            "model": self.model,
            "data": self.collection.name,
            "mean_line": {"own": round(own, 4), "any": round(any_, 4)},
            "images": rows,
        }


def map_collection(
    data: "Collection | str | Path",
    *,
    images: Path | None = None,
    split: str = "test",
    model: "Answering | str | Path" = "eye",
    n: int = 60,
    seed: int = 0,
    bars: Bars = no_bars,
) -> CollectionMap:
    """Lay images and their sentences out on a map, by t-SNE of their vectors in a joint embedding.

    Args:
        data: A captioned collection, its path or its name in `SEESAY_DATA`.
        images: The folder of the images, where the collection does not hold them.
        split: Which split of the collection; `all` for the whole.
        model: Weights of a joint embedding by name or folder, or a loaded one.
        n: Images, chosen at random.
        seed: The same one gives the same map.
        bars: Shows progress (`seesay.verbs.results.Bars`).

    Raises:
        SeesayError: The collection has fewer than two images here, or the weights have no vectors that could be
            compared.

    Example:
        >>> seesay.map_collection("flickr8k").show()  # doctest: +SKIP
    """
    chosen = _choose(data, images, split, n, seed)

    import numpy as np

    from seesay.drawing.maps import lay_out, mean_line

    matcher = answering_model(model)
    if not matcher.can("embed") and isinstance(model, str | Path):  # torch has whole images and sentences of hmlstm
        from seesay.engines import open_model

        matcher = open_model(model, "torch")
    name = name_of(matcher, model)
    vectors, texts = _embed(matcher, name, chosen, bars)
    owner = np.repeat(np.arange(len(chosen)), [len(item.sentences) for item in chosen.items])
    found = lay_out(vectors, texts, owner.tolist(), seed=seed)
    return CollectionMap(name, label_of(matcher), chosen, found, mean_line(found))


def _choose(given: "Collection | str | Path", images: Path | None, split: str, n: int, seed: int) -> "Collection":
    """Some images of a collection, in its order."""
    import numpy as np

    from seesay import data

    collection = data.load(given, images=images) if isinstance(given, str | Path) else given
    collection = collection if split == "all" else collection.split(split)
    with_image = [item for item in collection.items if item.image]
    if len(with_image) < 2:
        name = given if isinstance(given, str | Path) else collection.name
        raise SeesayError(f"{name} has {len(with_image)} photos here", hint=f"seesay data check {name}")
    drawn = np.random.default_rng(seed).permutation(len(with_image))[:n]
    return replace(collection, items=tuple(with_image[place] for place in sorted(drawn)))


def _embed(matcher: "Answering", name: str, chosen: "Collection", bars: Bars) -> tuple[Any, Any]:
    """One vector for each image, and one for each sentence."""
    import numpy as np

    from seesay.verbs.features import see
    from seesay.verbs.inputs import NamedImage, refuse

    if not matcher.can("embed"):
        raise SeesayError(
            f"{name} has no one vector for a photo and a sentence", allowed="a joint embedding", hint="seesay models"
        )
    named = [NamedImage(str(path), path) for path in chosen.images]
    with see(matcher, named, bars, keep_maps=True, title=f"features of {chosen.name}") as seen:
        refuse(seen.failures)
        images, texts = matcher.embed(seen.all(), chosen.sentences)
    return images.astype(np.float64), texts.astype(np.float64)
