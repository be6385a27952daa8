"""Run the commands of docs/tutorial.md on the sample photos and write down what they print.

Every block of the language `console` begins with a line `$ seesay …`; below it stands what the command printed. The
commands share a folder and a library, so that their order counts.

    python tools/docs/tutorial.py            renew the outputs and the pictures
    python tools/docs/tutorial.py --check    fail where an output is stale
"""

import argparse
import difflib
import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from seesay.cli.main import run
from seesay.images import proposals
from seesay.runtime import exact

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial.md"
PICTURES = ROOT / "docs/pictures"
BLOCK = re.compile(r"(```console\n\$ seesay (?P<command>[^\n]*)\n)(?P<output>.*?)(```)", re.DOTALL)
SHOWN = "/home/ada/tour"  # in the outputs, in place of the temporary folder
TAKEN = 1_714_557_600  # the photos carry no date, so that the date of the file counts: 1 May 2024
WIDTH = 720  # of the pictures in the page
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def render(text: str) -> str:
    """The page with the output of every command written anew; to be called where the photos are."""
    return BLOCK.sub(lambda block: f"{block[1]}{output_of(shlex.split(block['command']))}{block[4]}", text)


def output_of(arguments: list[str]) -> str:
    """What a command prints on stdout.

    Raises:
        SystemExit: The command failed.
    """
    out = StringIO()
    try:
        with redirect_stdout(out):
            run(arguments)
    except SystemExit as end:
        if end.code:
            sys.exit(f"seesay {shlex.join(arguments)} ended with {end.code}")
    lines = out.getvalue().replace(str(Path.cwd()), SHOWN).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def agree(written: str, printed: str) -> bool:
    """Whether two pages are the same except for the last digits of numbers, which may depend on the processor."""
    pages = (written, printed)
    words, again = (" ".join(re.sub("▇+", "▇", NUMBER.sub("0", page)).split()) for page in pages)
    numbers, others = ([float(number) for number in NUMBER.findall(page)] for page in pages)
    return words == again and all(map(_is_near, numbers, others))


def _is_near(number: float, other: float) -> bool:
    step = 1 if number.is_integer() and other.is_integer() else 0.01
    return math.isclose(number, other, abs_tol=step + 1e-9)


@contextmanager
def tour() -> Iterator[Path]:
    """A folder with the sample photos and an empty library, in which the commands run."""
    exact.is_exact = lambda: False  # libraries in float: the same numbers on every processor
    proposals.has = lambda extra: False  # what `pip install .` gives
    with TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        photos = here / "photos"
        shutil.copytree(ROOT / "src/seesay/samples", photos, ignore=shutil.ignore_patterns("*.md"))
        for photo in photos.iterdir():
            os.utime(photo, (TAKEN, TAKEN))
        os.environ |= {"SEESAY_LIBRARY": str(here / "library"), "COLUMNS": "100", "TERM": "dumb", "TZ": "UTC"}
        with chdir(here):
            yield here


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail where an output is stale")
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    with tour() as here:
        renewed = render(text)
        if not arguments.check:
            for picture in sorted(here.glob("*.png")):
                drawn = Image.open(picture).convert("RGB")
                drawn.thumbnail((WIDTH, WIDTH))
                drawn.save(PICTURES / f"tutorial-{picture.stem}.jpg", quality=85)
    if not arguments.check:
        PAGE.write_text(renewed, encoding="utf-8")
    elif not agree(text, renewed):
        changes = "\n".join(difflib.unified_diff(text.splitlines(), renewed.splitlines(), "written", "printed", n=0))
        sys.exit(f"docs/tutorial.md is stale: run python tools/docs/tutorial.py\n{changes}")


if __name__ == "__main__":
    main()
