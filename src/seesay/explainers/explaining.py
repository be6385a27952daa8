"""The one call for all explainers.

contrastive  excitation minus the excitation of the negated score (`seesay.explainers.excitation`)
excitation   what has excited the match score of an identifier (in the same module)
alignment    where the vector of each word fits the image (`seesay.explainers.alignment`)
attention    where sm-LSTM attends at each of its steps (`seesay.explainers.attention`)
crops        what is said of crops of the image, and without each word (`seesay.explainers.crops`)

Others can be installed (`seesay.explainers.registry`).
"""

from typing import TYPE_CHECKING

from seesay.errors import SeesayError
from seesay.explainers.explanation import Explanation, place_in_image
from seesay.explainers.registry import choose_explainer
from seesay.images.arrays import ImageFeatures
from seesay.images.views import seen_part
from seesay.runtime.protocol import Answering
from seesay.text.tokens import LONGEST, tokenize

if TYPE_CHECKING:
    from PIL.Image import Image


def explain_image(model: Answering, image: "Image", sentence: str, method: str | None = None) -> Explanation:
    """Explain how well a sentence fits an opened image; maps and boxes are of the whole image.

    Raises:
        SeesayError: As `explain`.
    """
    explainer = choose_explainer(model, method)
    found = explain(model, explainer.see(model, image), sentence, explainer.name)
    return found if explainer.needs_image else place_in_image(found, seen_by(model, image.size))


def seen_by(model: Answering, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """The part of an image, whose width and height are given, that a model's network is shown."""
    network = model.feature_spec
    return seen_part(*size, network.size, network.crop)


def explain(model: Answering, features: ImageFeatures, sentence: str, method: str | None = None) -> Explanation:
    """Explain how well a sentence fits an image.

    Args:
        model: Any that an explainer is installed for.
        features: Of one image, with its map, as `model.features` gives them.
        sentence: What is said about the image; its words are those that a tokenizer finds.
        method: The name of an explainer; by default the first that the model lists.

    Raises:
        SeesayError: There is no such explainer, it cannot explain the model, or the sentence has no words.

    Example:
        >>> from PIL import Image
        >>> from seesay.runtime.matching import Model
        >>> model = Model("vse")
        >>> features = model.features([Image.new("RGB", (64, 64), "green")])
        >>> found = explain(model, features, "A green meadow.")
        >>> found.method, found.words, found.map.shape
        ('alignment', ('a', 'green', 'meadow'), (10, 10))
    """
    explainer = choose_explainer(model, method)
    words = tokenize(sentence)[:LONGEST]
    if not words:
        raise SeesayError(f"the sentence {sentence!r} has no words")
    return explainer.explain(model, features, " ".join(words))
