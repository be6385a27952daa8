"""Tables of every claim of the papers, at the end of each page of docs/papers."""

from collections.abc import Callable

from seesay.evaluation.replication.claims import PAPERS, answer
from seesay.evaluation.replication.records import Records
from seesay.evaluation.replication.showing import markdown
from tables import reading


def _writer(paper: str) -> Callable[[], str]:
    def write() -> str:
        answers = answer(paper, Records(reading.RESULTS, reading.WEIGHTS))
        return markdown(answers) + f"\nFrom records, by `seesay evaluate --paper {paper}`.\n"

    write.__name__ = f"claims_{paper}"
    return write


TABLES = tuple(_writer(paper) for paper in PAPERS)
