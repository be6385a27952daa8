"""Write the measured tables into README.md, SECURITY.md and the pages of docs/, so that no figure is typed by hand.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; its figures come from benchmarks/results/*.json and
from the config.json of the packaged weights (tools/docs/tables/).

    python tools/docs/render.py            renew the tables
    python tools/docs/render.py --check    fail where one is stale
"""

import argparse
import re
import sys

from tables import TABLES
from tables.reading import ROOT

MARK = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def render(text: str) -> str:
    """The text with every marked table written anew."""
    return MARK.sub(lambda mark: f"{mark[1]}{TABLES[mark['name']]()}{mark[4]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a table is stale")
    arguments = parser.parse_args()
    stale = []
    for page in (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if (renewed := render(text)) != text:
            stale.append(str(page.relative_to(ROOT)))
            if not arguments.check:
                page.write_text(renewed, encoding="utf-8")
    if arguments.check and stale:
        sys.exit(f"stale tables in {', '.join(stale)}: run python tools/docs/render.py")


if __name__ == "__main__":
    main()
