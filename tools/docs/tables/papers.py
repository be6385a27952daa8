"""Tables of every claim of the papers, at the end of each page of docs/papers."""

from collections.abc import Callable

from seesay.evaluation.replication.claims import PAPERS, answer
from seesay.evaluation.replication.records import Records
from seesay.evaluation.replication.showing import markdown
from tables import reading

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


TABLES = tuple(_writer(paper) for paper in PAPERS)
