"""What the core install takes, and how long the README's first line does.

A fresh environment gets what `pip install .` brings, from this folder; then `seesay demo` runs in it, twice. Packages
that learning and measuring need must not be there.

    python -m benchmarks.speed.install [--keep DIR]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.recording import parse_arguments, record, seconds

ABSENT = ("torch", "spacy", "cv2", "pyarrow", "scipy", "sklearn", "matplotlib", "onnx", "efficientnet_lite_pytorch")
ROOT = Path(__file__).parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="make the environment here, and leave it")
    arguments = parse_arguments(parser, "install")
    with tempfile.TemporaryDirectory() as temporary:
        place = arguments.keep or Path(temporary) / "environment"
        source = Path(temporary) / "source"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__"))
        made = seconds(lambda: _run([sys.executable, "-m", "venv", str(place)]))
        empty = _megabytes(place)
        installed = seconds(lambda: _run([str(place / "bin" / "pip"), "install", "-q", str(source)]))
        found = [name for name in ABSENT if not _run([_python(place), "-c", f"import {name}"], may_fail=True)]
        home = {"HOME": temporary, "SEESAY_LIBRARY": f"{temporary}/library", "SEESAY_CACHE": f"{temporary}/cache"}
        demo = [seconds(lambda: _run([str(place / "bin" / "seesay"), "demo"], home)) for _ in range(2)]
        largest = sorted(_packages(place), reverse=True)[:8]
        result = {
            "megabytes": _megabytes(place),
            "megabytes_of_an_empty_environment": empty,
            "largest_megabytes": {name: size for size, name in largest},
            "present_and_not_wanted": found,
            "environment_seconds": round(made, 1),
            "install_seconds": round(installed, 1),
            "demo_seconds": [round(value, 1) for value in demo],
        }
    record(arguments, ("onnxruntime", "numpy", "pillow"), **result)
    print(result)


def _python(place: Path) -> str:
    return str(place / "bin" / "python")


def _run(command: list[str], environment: dict[str, str] | None = None, *, may_fail: bool = False) -> int:
    """Run a command in the new environment alone; gives its exit code."""
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    finished = subprocess.run(command, env={**own, **(environment or {})}, capture_output=True, text=True, cwd="/")
    if finished.returncode and not may_fail:
        raise SystemExit(f"{' '.join(command)} ended with {finished.returncode}: {finished.stderr[-1000:]}")
    return finished.returncode


def _megabytes(folder: Path) -> int:
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return round(sum(path.stat().st_size for path in paths) / 1e6)


def _packages(place: Path) -> list[tuple[int, str]]:
    (packages,) = place.glob("lib/python*/site-packages")
    return [(_megabytes(folder), folder.name) for folder in packages.iterdir() if folder.is_dir()]


if __name__ == "__main__":
    main()
