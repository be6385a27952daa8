"""`seesay.explain`: where in an image, and on which words of a sentence, does a match rest?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.images.sources import ImageSource
from seesay.verbs.inputs import NamedImage, read_image
from seesay.verbs.loading import model_for, name_of
from seesay.verbs.results import Drawn, lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.explainers.explanation import Explanation
    from seesay.models.base import Matcher


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExplainedMatch(Drawn):
    """An image and a sentence, and what their match rests on.

    Attributes:
        model: The weights whose score is explained.
        image: The image that was given.
        sentence: The sentence that was given.
        explanation: Words with weights, maps, the score (`seesay.explainers.explanation.Explanation`).
        warnings: What one should know before relying on it.
    """

    model: str
    image: NamedImage
    sentence: str
    explanation: "Explanation"
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, float]:
        """The words with how much rests on each; of a word that occurs twice the greater weight."""
        pairs = zip(self.explanation.words, self.explanation.weights.tolist(), strict=True)
        weights: dict[str, float] = {}
        for word, weight in pairs:
            weights[word] = max(weight, weights.get(word, weight))
        return weights

    def draw(self) -> "Image":
        """The image with heat where the match rests, and the words by their weights."""
        from seesay.drawing.saliency import draw_explanation, draw_steps

        picture, found = self.image.open(), self.explanation
        if found.steps:
            return draw_steps(picture, [found], (), title=self.sentence)
        return draw_explanation(picture, found, side=800)

    def __repr__(self) -> str:
        weights = " ".join(
            f"{word} {weight:.2f}"
            for word, weight in zip(self.explanation.words, self.explanation.weights.tolist(), strict=True)
        )
        title = f"{self.explanation.method} explanation of {self.sentence!r} in {self.image.name} by {self.model}"
        return lines(title, f"  {weights}", *self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """As `seesay explain --json` prints it."""
        about = {"model": self.model, "photo": self.image.name, "sentence": self.sentence}
        return {**about, **self.explanation.to_dict()}


def explain(
    image: ImageSource, sentence: str, *, method: str | None = None, model: "Matcher | str | Path | None" = None
) -> ExplainedMatch:
    """Show what the match of an image and a sentence rests on: heat on the image, weights on the words.

    Args:
        image: Anything that `seesay.open_image` opens.
        sentence: What is said about it.
        method: An explainer by name, such as `contrastive` or `alignment`; by default the first that the model lists.
        model: Weights by name or folder, or a loaded model; by default those of the method.

    Raises:
        SeesayError: The image cannot be opened, there is no such method, or the weights cannot be explained by it.

    Example:
        >>> seesay.explain("photo.jpg", "a dog runs", method="alignment").words  # doctest: +SKIP
        {'a': 0.1, 'dog': 0.6, 'runs': 0.3}
    """
    given = read_image(image)
    picture = given.open()

    from seesay.explainers.explaining import explain as find
    from seesay.explainers.registry import default_weights
    from seesay.models.base import Matcher
    from seesay.models.pretrained import load

    chosen = model or default_weights(method)
    matcher = model_for(chosen, load, Matcher, "matches no images and sentences")
    found = find(matcher, matcher.features([picture]), sentence, method)
    name = name_of(matcher, chosen)
    known = any(word in matcher.tokenizer for word in found.words)
    warnings = () if known else (f"{name} knows no word of {sentence!r}: its weights mean nothing",)
    return ExplainedMatch(name, given, sentence, found, warnings)
