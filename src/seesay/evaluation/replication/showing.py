"""The claims of a paper as a table that a person reads: on the command line, and in the documentation."""

from collections import Counter
from collections.abc import Sequence

from seesay.evaluation.replication.claims import Answer

HEADINGS = ("where", "claim", "paper", "ours, as published", "ours, improved", "verdict")
_SAID = {
    "replicates": ("replicates", "replicate"),
    "does not replicate": ("does not replicate", "do not replicate"),
    "not yet measured": ("is not yet measured", "are not yet measured"),
    "stale": ("is stale", "are stale"),
}
"""A verdict in a sentence about one claim and about several, where it is not the same as in the table."""


def cells(answers: Sequence[Answer]) -> list[list[str]]:
    """A row for each claim, under `HEADINGS`."""
    return [
        [
            answer.claim.where,
            answer.claim.what,
            answer.paper,
            answer.published or "–",
            answer.improved or "–",
            f"{answer.verdict}: {answer.why}" if answer.why else answer.verdict,
        ]
        for answer in answers
    ]


def summarise(answers: Sequence[Answer]) -> str:
    """How many claims have which verdict, in one line.

    Example:
        >>> from seesay.evaluation.replication.claims import answer
        >>> from seesay.evaluation.replication.records import Records
        >>> summarise(answer("smlstm", Records(results=None))).startswith("14 claims: ")
        True
    """
    counts = Counter(answer.verdict for answer in answers)
    said = (f"{n} {_SAID.get(verdict, (verdict, verdict))[n > 1]}" for verdict, n in counts.most_common())
    return f"{len(answers)} claim{'s' * (len(answers) != 1)}: " + ", ".join(said) + "."


def markdown(answers: Sequence[Answer]) -> str:
    """The table of a page."""
    header = "| " + " | ".join(HEADINGS) + " |\n|" + " --- |" * len(HEADINGS) + "\n"
    rows = ([cell.replace("|", "\\|") for cell in row] for row in cells(answers))
    return header + "".join("| " + " | ".join(row) + " |\n" for row in rows) + f"\n{summarise(answers)}\n"


def text(answers: Sequence[Answer]) -> str:
    """The same for a terminal: a block for each claim, since no terminal is as wide as a page."""
    blocks = []
    for where, claim, paper, published, improved, verdict in cells(answers):
        figures = f"  paper: {paper}   as published: {published}   improved: {improved}"
        blocks.append(f"{where}: {claim}\n{figures}\n  {verdict}")
    return "\n\n".join([*blocks, summarise(answers)])
