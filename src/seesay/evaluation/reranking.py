"""What consensus reranking gains: m-RNN's Table 8.

The same hypotheses are ordered by what people said about the nearest training images, once by BLEU and once by CIDEr,
and by what they said about the image itself: the oracle, which shows how much there is to gain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from seesay.captioning.bank import Bank as Bank
from seesay.captioning.bank import Hypotheses, features_in, references_of
from seesay.captioning.bank import read_bank as read_bank
from seesay.captioning.bank import write_hypotheses as write_hypotheses
from seesay.captioning.choosing import KS, choose_k_m
from seesay.captioning.consensus import PAPER_K_M, Consensus, Metric, oracle_scores, rerank
from seesay.captioning.reranking import refine_images
from seesay.captioning.settings import Settings
from seesay.data import Collection
from seesay.data.examples import Examples
from seesay.engines import answering
from seesay.evaluation.captions import rounded
from seesay.evaluation.protocols import EvaluationSet, Protocol, timed
from seesay.metrics.captions import caption_report
from seesay.metrics.neighbours import nearest
from seesay.models.base import Captioner
from seesay.runtime.protocol import Answering
from seesay.system.progress import Progress
from seesay.system.spread import Spread, spread_here

NAMES: Final[Mapping[Metric, str]] = {"bleu": "BLEU", "cider": "CIDEr"}


@dataclass(frozen=True)
class Setting:
    """How many neighbours count, and how many of their captions."""

    k: int
    m: int


def given_settings(settings: Settings, k: int | None = None, m: int | None = None) -> dict[Metric, Setting]:
    """k and m of each similarity: as given, else as the weights say for theirs, else what the paper chose on COCO.

    Example:
        >>> given_settings(Settings(metric="cider", k=40, m=75))
        {'bleu': Setting(k=60, m=175), 'cider': Setting(k=40, m=75)}
        >>> given_settings(Settings(), k=20)
        {'bleu': Setting(k=20, m=175), 'cider': Setting(k=20, m=125)}
    """
    own = {metric: (settings.k, settings.m) if metric == settings.metric else PAPER_K_M[metric] for metric in NAMES}
    return {metric: Setting(k or own[metric][0], m or own[metric][1]) for metric in NAMES}


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    figures: Mapping[str, float | None]
    setting: Setting | None = None


def choose_settings(
    model: Captioner | Answering, bank: Bank, dev: Examples, settings: Settings, *, on_progress: Progress | None = None
) -> dict[Metric, Setting]:
    """k and m for each similarity, by what the reranked captions of dev images reach in it."""
    bank = bank.without(dev)
    hypotheses = write_hypotheses(answering(model), dev, settings, on_progress=on_progress)
    near = nearest(refine_images(answering(model), features_in(dev)), bank.vectors, max(KS))
    ks = [k for k in KS if k <= near.shape[1]] or [near.shape[1]]
    chosen = {}
    for metric in NAMES:
        similarities = Consensus(bank.captions, metric).similarities(hypotheses, near)
        best = choose_k_m(similarities, hypotheses, references_of(dev), metric=metric, ks=ks)
        chosen[metric] = Setting(best.k, best.m)
    return chosen


@dataclass(frozen=True)
class RerankingEvaluation:
    """What the hypotheses reach in several orders, on a split under a protocol.

    Attributes:
        rows: Reranked by BLEU, by CIDEr, and the oracle of each.
        references: The collection that neighbours were looked for in.
        n_references: How many images of it there are.
        n_hypotheses: For each image.
        chosen_on: The split on which k and m were chosen; None where they were given.
        n_images: Images that were captioned.
        n_sentences: Sentences that people wrote about them.
        seconds: How long the parts took.
    """

    protocol: Protocol
    seed: int | None
    rows: tuple[Row, ...]
    references: str
    n_references: int
    n_hypotheses: int
    chosen_on: str | None
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        about = {name: getattr(self, name) for name in ("references", "n_references", "n_hypotheses", "chosen_on")}
        rows = [
            {"name": row.name, **(asdict(row.setting) if row.setting else {}), **rounded(row.figures)}
            for row in self.rows
        ]
        return {"reranking": {**about, "rows": rows}}


def evaluate_reranking(
    model: Captioner | Answering,
    measured: EvaluationSet,
    references: Collection,
    *,
    settings: Settings | None = None,
    k_m: Mapping[Metric, Setting] | None = None,
    dev: Collection | None = None,
    spread: Spread = spread_here,
) -> RerankingEvaluation:
    """Write several hypotheses for every image and measure those that each way of reranking puts first.

    Args:
        model: Any captioner.
        measured: The images of all folds are measured together.
        references: Whose training images are the neighbours; those that are measured on do not count.
        settings: How hypotheses are written; as the weights say where it is not given.
        k_m: Neighbours and captions of each similarity; as `given_settings` has them where it is not given.
        dev: A split on which to choose them instead.
        spread: Where sentences are compared, a block of them at a time: by default here (`seesay.system.cluster`).
    """
    store, on_progress = measured.store, measured.on_progress
    settings = settings or Settings.of(model)
    seconds: dict[str, float] = {}
    with timed("features", seconds):
        bank = read_bank(answering(model), references, store=store, on_progress=on_progress)
        source = measured.read(model)
        bank = bank.without(source)
    k_m = k_m or given_settings(settings)
    if dev is not None:
        with timed("choosing", seconds):
            chosen_on = EvaluationSet(dev, store=store, on_progress=on_progress).read(model)
            k_m = choose_settings(model, bank, chosen_on, settings, on_progress=on_progress)
    with timed("hypotheses", seconds):
        hypotheses = write_hypotheses(answering(model), source, settings, on_progress=on_progress)
    with timed("reranking", seconds):
        rows = measure_orders(model, bank, source, hypotheses, k_m, spread)
    return RerankingEvaluation(
        protocol=measured.rules,
        seed=measured.seed,
        rows=rows,
        references=bank.name,
        n_references=len(bank.keys),
        n_hypotheses=settings.candidates,
        chosen_on=dev.items[0].split if dev else None,
        n_images=len(source.collection),
        n_sentences=len(source.sentences),
        seconds=seconds,
    )


def measure_orders(
    model: Captioner | Answering,
    bank: Bank,
    source: Examples,
    hypotheses: Hypotheses,
    k_m: Mapping[Metric, Setting],
    spread: Spread = spread_here,
) -> tuple[Row, ...]:
    """The figures of the hypotheses that stand first: by BLEU, by CIDEr, and by the oracle of each."""
    references = references_of(source)
    refined = refine_images(answering(model), features_in(source))

    def measure(scores: Sequence[Any]) -> dict[str, float | None]:
        best = [several[0] for several in rerank(hypotheses, scores)]
        report = cast(dict[str, float | None], caption_report(best, references))
        return {name: value for name, value in report.items() if name not in ("perplexity", "novel")}

    reranked, best_possible = [], []
    for metric, name in NAMES.items():
        near = nearest(refined, bank.vectors, k_m[metric].k)
        compared = Consensus(bank.captions, metric).similarities(hypotheses, near, spread=spread)
        scores = compared.scores(k_m[metric].m)
        reranked.append(Row(f"reranked by {name}", measure(scores), k_m[metric]))
        best_possible.append(Row(f"oracle by {name}", measure(oracle_scores(hypotheses, references, metric))))
    return (*reranked, *best_possible)
