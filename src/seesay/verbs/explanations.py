"""`seesay.explain`: the parts of an image and the words of a sentence that a match is based on."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.errors import SeesayError
from seesay.images.sources import ImageSource
from seesay.verbs.inputs import NamedImage, read_image
from seesay.verbs.loading import answering_model, label_of, name_of
from seesay.verbs.results import Drawn, lines

if TYPE_CHECKING:
    from PIL.Image import Image

    from seesay.explainers.explanation import Explanation
    from seesay.runtime.protocol import Answering


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExplainedMatch(Drawn):
    """An image and a sentence, and what their match rests on.

    Attributes:
        model: The weights whose score is explained.
        label: What drawings call them.
        image: The image that was given.
        sentence: The sentence that was given.
        explanation: Words with weights, maps, the score (`seesay.explainers.explanation.Explanation`).
        warnings: What one should know before relying on it.
    """

    model: str
    label: str
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

    def draw(self, beside: "ExplainedMatch | None" = None) -> "Image":
        """The image with heat where the match rests, and the words by their weights.

        Args:
            beside: The match of the same image and sentence by other weights, whose steps are drawn below.

        Raises:
            SeesayError: There is another match to draw beside one that has no steps.
        """
        from seesay.drawing.saliency import draw_explanation, draw_steps

        rows = [self] if beside is None else [self, beside]
        photo, found = self.image.open(), [row.explanation for row in rows]
        if all(each.steps for each in found):
            labels = [row.label for row in rows] if beside else ()
            return draw_steps(photo, found, labels, title=self.sentence)
        if beside is not None:
            from seesay.explainers.registry import explainers_with_steps

            able = " or ".join(explainers_with_steps())
            raise SeesayError("--beside draws the steps of two models", allowed=f"with --method {able}")
        return draw_explanation(photo, self.explanation, side=800)

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
    image: ImageSource,
    sentence: str,
    *,
    method: str | None = None,
    model: "Answering | str | Path | None" = None,
    exact: bool = False,
) -> ExplainedMatch:
    """Show what the match of an image and a sentence rests on: heat on the image, weights on the words.

    Args:
        image: Anything that `seesay.open_image` opens.
        sentence: What is said about it.
        method: An explainer by name, such as `contrastive` or `alignment`; by default the first that the model lists.
        model: Weights by name or folder, or a loaded model; by default those of the method.
        exact: Take every word as it is written; by default one that the model has never learned is read as the known
            one that it is spelled like (`seesay.text.typed.known_words`).

    Raises:
        SeesayError: The image cannot be opened, there is no such method, or the weights cannot be explained by it.

    Example:
        >>> seesay.explain("photo.jpg", "a dog runs", method="alignment").words  # doctest: +SKIP
        {'a': 0.1, 'dog': 0.6, 'runs': 0.3}
    """
    given = read_image(image)
    photo = given.open()

    from seesay.explainers.explaining import explain_image
    from seesay.explainers.explanation import let_names_lead
    from seesay.explainers.registry import default_weights
    from seesay.text.typed.known_words import read_words

    chosen = model or default_weights(method)
    matcher = answering_model(chosen)
    reading = read_words(sentence, matcher.tokenizer, exact=exact)
    found = let_names_lead(explain_image(matcher, photo, reading.text, method))
    warnings = reading.notes(without="the explanation is about the rest", lost="the explanation means nothing")
    return ExplainedMatch(name_of(matcher, chosen), label_of(matcher), given, sentence, found, tuple(warnings))
