"""Tables of every claim of the papers, at the end of each page of docs/papers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from seesay.evaluation.replication.claims import PAPERS, answer, format_figure
from seesay.evaluation.replication.papers import all_rows
from seesay.evaluation.replication.records import Records
from seesay.evaluation.replication.showing import markdown
from tables import reading
from tables.reading import table

_SEEDED = {"Sum": ("alignment_objectives", "eye_seeds"), "perplexity": ("caption_words",)}
"""Sweeps that train the same variant with several seeds, by the figure that they compare."""


def _writer(paper: str) -> Callable[[], str]:
    def write() -> str:
        answers = answer(paper, Records(reading.RESULTS, reading.WEIGHTS))
        return markdown(answers) + f"\n{_varied()}\n\nFrom records, by `seesay evaluate --paper {paper}`.\n"

    write.__name__ = f"claims_{paper}"
    return write


def _varied() -> str:
    """How far the seeds of one variant were apart, which is what margins have to be wider than."""
    said = []
    for what, sweeps in _SEEDED.items():
        groups = [group for name in sweeps for group in reading.result(name)["seeds"].values() if group["n"] > 1]
        widest = max(group["highest"] - group["lowest"] for group in groups)
        said.append(f"{what} by at most {widest:.1f} ({' and '.join(f'`{name}`' for name in sweeps)})")
    return f"Where a sweep trains one variant with two or three seeds, they differ in {' and in '.join(said)}."


@dataclass(frozen=True)
class Side:
    """Where a row's figures lie: as published, improved on the same training photos, and as shipped; none if empty."""

    published: tuple[str, ...]
    improved: tuple[str, ...]
    shipped: tuple[str, ...]


BOTH_WAYS = ("i2t.r1", "t2i.r1")
_OVERVIEW = (
    ("m-RNN", "captions: B-4", ("Section 7.4", "flickr8k", "m-RNN-AlexNet"), ("bleu4",), Side(
        ("weights", "mrnn-paper", "flickr8k/test/beam-1", "captions"),
        ("weights", "mrnn-flickr8k", "flickr8k/test", "captions"), ("weights", "mrnn", "flickr8k/test", "captions"),
    )),
    ("m-RNN", "retrieval: R@1 of sentences / images", ("Table 3", "flickr8k", "m-RNN-AlexNet"), BOTH_WAYS, Side(
        (), ("weights", "mrnn-flickr8k", "flickr8k/test"), (),
    )),
    ("DVSA", "retrieval: R@1 of sentences / images", ("Table 2", "flickr8k", "DVSA: BRNN"), BOTH_WAYS, Side(
        ("weights", "dvsa-paper", "flickr8k/test"), ("weights", "dvsa-flickr8k", "flickr8k/test"),
        ("weights", "dvsa", "flickr8k/test"),
    )),
    ("HM-LSTM", "retrieval: R@1 of sentences / images", ("Table 1", "flickr8k", "HM-LSTM"), BOTH_WAYS, Side(
        ("hmlstm_ablations", "rows", "variant=as published", "test"), ("weights", "hmlstm-flickr8k", "flickr8k/test"),
        ("weights", "hmlstm", "flickr8k/test"),
    )),
    ("sm-LSTM", "retrieval: R@1 of sentences / images", ("Table 1", "flickr30k", "sm-LSTM"), BOTH_WAYS, Side(
        ("weights", "smlstm-paper", "flickr8k/test"), ("weights", "smlstm-flickr8k", "flickr8k/test"),
        ("weights", "smlstm", "flickr8k/test"),
    )),
    ("Identifier", "the right one of two photos, %", ("Section 3.3", "coco", "proposed"), ("accuracy.2-way",), Side(
        ("identification", "rows", "runs/identifier-paper/weights"),
        ("identification", "rows", "runs/identifier-flickr8k/weights"), ("identification", "rows", "identifier"),
    )),
)  # fmt: skip
"""Paper, what is measured, the paper's row, its figures, and where ours lie."""


def overview() -> str:
    """One row or two of each paper: published, ours as published, improved, and shipped."""
    records = Records(reading.RESULTS, reading.WEIGHTS)
    rows: list[list[object]] = []
    for paper, what, place, keys, side in _OVERVIEW:
        (printed,) = (row for row in all_rows() if (row.where, row.data, row.method) == place and row.paper == paper)
        theirs = " / ".join(format_figure(key, printed.figure(key) or 0.0) for key in keys)
        data = {"flickr8k": "", "flickr30k": " (Flickr30K)", "coco": " (COCO)"}[printed.data]
        ours = [_figures(records, path, keys) for path in (side.published, side.improved, side.shipped)]
        rows.append([paper, what, f"{theirs}{data}", *ours])
    header = ["paper", "on Flickr8K's test photos", "paper's figure", "ours, as published",
              "improved, same training photos", "as shipped"]  # fmt: skip
    return table(header, rows)


def _figures(records: Records, path: tuple[str, ...], keys: tuple[str, ...]) -> str:
    found = [records.find([*path, *key.split(".")]) if path else None for key in keys]
    if any(figure is None for figure in found):
        return "–"
    return " / ".join(
        format_figure(key, float(figure.value)) for key, figure in zip(keys, found, strict=True) if figure
    )


def verdicts() -> str:
    """How many claims of each paper have which verdict."""
    known = ("replicates", "does not replicate", "cannot be measured here", "not yet measured", "stale")
    rows: list[list[object]] = []
    for paper in PAPERS:
        counts = Counter(found.verdict for found in answer(paper, Records(reading.RESULTS, reading.WEIGHTS)))
        rows.append([f"[{paper}]({paper}.md)", *(counts[verdict] for verdict in known)])
    return table(["page", *known], rows)


TABLES = (*(_writer(paper) for paper in PAPERS), overview, verdicts)
