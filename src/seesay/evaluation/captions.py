"""How well a captioner writes: the perplexity of people's captions, and the metrics of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seesay.captioning.bank import features_in, references_of
from seesay.captioning.captions import caption_images
from seesay.captioning.matching import CaptionJudge
from seesay.captioning.perplexity import measure_perplexity
from seesay.captioning.settings import Sampling, Settings
from seesay.data import Collection
from seesay.data.examples import read_split
from seesay.engines import answering
from seesay.errors import SeesayError
from seesay.evaluation.protocols import EvaluationSet, Protocol, timed
from seesay.metrics.captions import CaptionReport, caption_report
from seesay.models.base import Captioner, Weights
from seesay.runtime.protocol import Answering
from seesay.text.tokens import tokenize


@dataclass(frozen=True)
class CaptionEvaluation:
    """What a captioner reached on a split under a protocol.

    Attributes:
        figures: Those that are quoted.
        decoding: How the captions were written, such as `beam 3`.
        captions: By the image's name.
        n_images: Images that were captioned.
        n_sentences: Sentences that people wrote about them.
        seconds: How long the parts took.
    """

    protocol: Protocol
    seed: int | None
    figures: CaptionReport
    decoding: str
    captions: dict[str, str]
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        return {"captions": {**rounded(self.figures), "decoding": self.decoding}}


def evaluate_captions(
    model: Captioner | Answering,
    measured: EvaluationSet,
    *,
    settings: Settings | None = None,
    sampling: Sampling | None = None,
    judge: CaptionJudge | None = None,
    training: list[str] | None = None,
    meteor: bool | None = None,
) -> CaptionEvaluation:
    """Caption every image and measure the captions against all of its sentences.

    Args:
        model: Any captioner.
        measured: The images of all folds are measured together.
        settings: How captions are written; as the weights say where it is not given. Nothing is reranked.
        sampling: Draw captions at random instead of searching for the best.
        judge: What orders them, if anything does.
        training: What the captioner learned from (see `training_sentences`), for the share of captions that are novel.
        meteor: See `seesay.metrics.captions.caption_report`.
    """
    answers = answering(model)
    settings = settings or Settings.of(answers)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        source = measured.read(answers)
    with timed("perplexity", seconds):
        perplexity = measure_perplexity(answers, source)
    with timed("captions", seconds):
        written = caption_images(
            answers, features_in(source), settings=settings, sampling=sampling, judge=judge,
            on_progress=measured.on_progress,
        )  # fmt: skip
    best = [several[0] for several in written]
    with timed("metrics", seconds):
        known = None if training is None else [tokenize(sentence) for sentence in training]
        words = [caption.words for caption in best]
        figures = caption_report(words, references_of(source), perplexity=perplexity, training=known, meteor=meteor)
    texts = {item.name: caption.text for item, caption in zip(source.collection.items, best, strict=True)}
    counts, how = (len(source.collection), len(source.sentences)), describe_decoding(settings, judge, sampling)
    return CaptionEvaluation(measured.rules, measured.seed, figures, how, texts, *counts, seconds)


def rounded(figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Four decimals, of which papers print three at most."""
    return {name: None if value is None else round(value, 4) for name, value in figures.items()}


def describe_decoding(settings: Settings, judge: CaptionJudge | None = None, sampling: Sampling | None = None) -> str:
    """How captions are written, in a word or two.

    Example:
        >>> describe_decoding(Settings(beam=3)), describe_decoding(Settings(beam=1))
        ('beam 3', 'greedy')
        >>> describe_decoding(Settings(beam=5, length_power=0.7, no_repeat=2))
        'beam 5, length power 0.7, no 2 words twice'
        >>> describe_decoding(Settings(beam=1), sampling=Sampling(seed=2))
        'sampled, seed 2'
    """
    if sampling:
        return f"sampled, seed {sampling.seed}"
    settings = judge.widen(settings) if judge else settings
    rules = f", length power {settings.length_power:g}" if settings.length_power else ""
    rules += f", {settings.min_length} words or more" if settings.min_length > 1 else ""
    rules += f", no {settings.no_repeat} words twice" if settings.no_repeat else ""
    rules += f", ordered by {judge.matching.matcher}" if judge else ""
    return f"beam {settings.beam}{rules}" if settings.beam > 1 or rules else "greedy"


def training_sentences(weights: Weights) -> list[str] | None:
    """The sentences that weights learned from; None where a collection of theirs is not to be found here."""
    read = training_collections(weights)
    return None if read is None else [sentence for collection in read for sentence in collection.sentences]


def training_collections(weights: Weights) -> list[Collection] | None:
    """The splits that weights learned from; None where one of them is not to be found here."""
    if "recipe" not in weights.about:
        return None
    try:
        sources = weights.about["recipe"]["data"]["train"]
        return [
            read_split(each["source"], each.get("split", "train"), without=each.get("without", "")) for each in sources
        ]
    except (SeesayError, KeyError, TypeError):
        return None
