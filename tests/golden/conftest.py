"""Golden files: what the command line prints and draws, compared with what it printed and drew before.

Only the command line is called, so these tests hold still while the code behind it moves. `SEESAY_RENEW_GOLDEN=1`
writes the files of `expected/` anew; read their diff before you keep it.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image

import seesay as package
from seesay.cli.main import run

EXPECTED = Path(__file__).parent / "expected"
TOLERANCE = 2e-3  # relative, and absolute for numbers below one
GRID_TOLERANCE = 0.02  # of a mean colour between 0 and 1: letters and heat may be off by a pixel
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
SENTENCES = {
    "astronaut": ("A woman in an orange suit smiles.", "an astronaut sits in front of a flag", "train"),
    "bricks": ("A wall of red bricks.", "a close up of a brick wall", "train"),
    "cat": ("A close up of a cat.", "a brown cat looks at the camera", "test"),
    "coffee": ("A cup of coffee on a table.", "a spoon lies beside a red cup", "test"),
    "coins": ("Many old coins in rows.", "a collection of coins on a dark table", "train"),
    "galaxies": ("Stars and galaxies in the dark sky.", "many bright lights in the night", "dev"),
    "photographer": ("A man with a camera on a tripod.", "a man in a black coat stands on grass", "test"),
    "rocket": ("A rocket stands on its launch pad.", "a tall white tower in front of the sky", "test"),
}


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in: a captioned collection of the sample photos, `sample`, and a folder with a broken photo."""
    folder = tmp_path_factory.mktemp("home").resolve()
    images = folder / "sample/images"
    images.mkdir(parents=True)
    rows = ["image,sentence,split"]
    for name, (first, second, split) in SENTENCES.items():
        photo = images / f"{name}.jpg"
        shutil.copyfile(Path(package.__file__).parent / "samples" / photo.name, photo)
        os.utime(photo, (1_560_000_000 + 100_000 * len(rows),) * 2)
        rows += [f"{photo.name},{first},{split}", f"{photo.name},{second},{split}"]
    (folder / "sample/captions.csv").write_text("\n".join(rows) + "\n")
    shutil.copytree(folder / "sample", folder / "damaged")
    (folder / "damaged/images/cat.jpg").write_bytes((images / "cat.jpg").read_bytes()[:900])
    (folder / "damaged/images/coins.jpg").unlink()
    return folder


@pytest.fixture(scope="session")
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The features of one test session: stored ones would hide a change in how they are computed."""
    return tmp_path_factory.mktemp("golden-cache")


@pytest.fixture
def seesay(
    home: Path, fresh_cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Finished]]:
    """Call the command line in that folder, on a plain terminal that is wide enough for every path."""
    settings = {"COLUMNS": "160", "TERM": "dumb", "TZ": "UTC", "SEESAY_CACHE": fresh_cache, "SEESAY_LIBRARY": "library"}
    settings["LOKY_MAX_CPU_COUNT"] = "1"  # of t-SNE: more would be counted by a program of the path
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    # METEOR runs on Java where there is one, and takes longer than everything else here.
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.chdir(home)
    # Not every processor computes in 8 bits: what is printed here is what all of them print.
    monkeypatch.setattr("seesay.runtime.exact.is_exact", lambda: False)
    time.tzset()

    def call(*arguments: object) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Finished(int(end.value.code or 0), out, err)

    yield call
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def golden(home: Path, fresh_cache: Path) -> Callable[[str, str], None]:
    """Compare a text with the golden file of a name."""
    places = {
        str(home): "<home>",
        str(fresh_cache): "<cache>",
        str(Path(package.__file__).parent): "<package>",
    }

    def compare(name: str, text: str) -> None:
        path = EXPECTED / f"{name}.txt"
        text = normalise(text, places)
        if os.environ.get("SEESAY_RENEW_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"there is no {path.name} yet: SEESAY_RENEW_GOLDEN=1 writes it"
        differences = find_differences(path.read_text(encoding="utf-8"), text)
        assert not differences, f"{path.name} differs:\n" + "\n".join(differences[:20])

    return compare


def normalise(text: str, places: dict[str, str]) -> str:
    """Name what differs from run to run: folders of the test, points in time, durations, versions."""
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, places[place])
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\+00:00", "<now>", text)
    text = re.sub(r"Measured on \d{4}-\d\d-\d\d by", "Measured on <today> by", text)
    text = re.sub(r'"seconds": (\{[^}]*\}|[\d.]+)', '"seconds": <seconds>', text)
    text = re.sub(r"\b\d+\.\d+ s\b", "<seconds> s", text)
    text = re.sub(r'"id": \d+', '"id": <id>', text)  # in the order in which the file system lists photos
    text = re.sub(r'"(seesay|torch)": "\d[^"]*"', r'"\1": "<version>"', text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def find_differences(expected: str, found: str) -> list[str]:
    """Lines that differ, as `- expected` and `+ found`: in their words, or in a number by more than the tolerance."""
    before, after = expected.splitlines(), found.splitlines()
    tolerance, differences = TOLERANCE, []
    for one, other in zip(before, after, strict=False):
        if one.startswith("--- "):
            tolerance = GRID_TOLERANCE if " colours of " in one else TOLERANCE
        if not _is_close(one, other, tolerance):
            differences += [f"- {one}", f"+ {other}"]
    shorter = min(len(before), len(after))
    return differences + [f"- {line}" for line in before[shorter:]] + [f"+ {line}" for line in after[shorter:]]


def _is_close(one: str, other: str, tolerance: float) -> bool:
    if one == other:
        return True
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    for left, right in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
        allowed = tolerance * max(1.0, abs(float(left)))
        if left.lstrip("-+").isdigit():  # counts are exact; a percentage may be rounded to its neighbour
            allowed = 1.0 if "%" in one else 0.0
        if abs(float(left) - float(right)) > allowed + 1e-9:
            return False
    return True


def describe_picture(path: Path) -> str:
    """The size of a picture, and the mean colours of eight times eight parts of it."""
    with Image.open(path) as image:
        grid = image.convert("RGB").resize((8, 8), Image.Resampling.BOX)
        rows = [[grid.getpixel((x, y)) for x in range(8)] for y in range(8)]
        lines = ["  ".join(" ".join(f"{part / 255:.3f}" for part in pixel) for pixel in row) for row in rows]
        return f"--- colours of {path.name}, {image.width}x{image.height}\n" + "\n".join(lines) + "\n"


@pytest.fixture
def check(seesay: Callable[..., Finished], golden: Callable[[str, str], None], home: Path) -> Callable[..., None]:
    """Run a command, and compare all that it prints and draws with the golden file of a name."""

    def compare(name: str, *arguments: object) -> None:
        drawn = [home / str(thing) for thing in arguments if str(thing).startswith("out/")]
        finished = seesay(*arguments)
        assert "Traceback" not in finished.err
        line = " ".join(f'"{argument}"' if " " in str(argument) else str(argument) for argument in arguments)
        text = f"$ seesay {line}\n--- ends with {finished.code}\n{finished.out}"
        if finished.err:
            text += f"--- stderr\n{finished.err}"
        for path in drawn:
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                text += describe_picture(file) if file.suffix in (".png", ".jpg") else f"--- wrote {file.name}\n"
        golden(name, text)

    return compare
