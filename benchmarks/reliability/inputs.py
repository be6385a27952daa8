"""Hostile values: numbers, texts, and files of every kind that may be named."""

import hashlib
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

INTEGERS = ("-1", "0", "99999999", str(10**20), "nan", "1.5", "", "٣", "0x10", "1" * 5000)
FLOATS = ("nan", "inf", "-inf", "1e308", "1e-320", "-1", "", "٣", "1" * 5000)
TEXTS = (
    "", " ", "x" * 19_000, "x" * 100_000, "\x1b]0;title\x07", "\udcff\udcfe", "a\0b", "../../../etc/passwd",
    "~nobody/x", "ftp://127.0.0.1:9/x", "http:/127.0.0.1:9/x", "s3:/bucket/x", "'; DROP TABLE photos; --", "[" * 5000,
    "%s%n%x", "-", "--", "2019-02-30", "0,0,1e-40,1e-40", "grid-1x100000000", "windows-" + "9" * 5000,
    "a" + "*a" * 30 + "b", "**/" * 3000, "config." + "a." * 5000 + "b=1", "seed=" + "9" * 30, "optimiser.rate=1e308",
    "🐕", "\r\n", "NaN",
)  # fmt: skip


def make_inputs(folder: Path) -> dict[str, str]:
    """Files of every kind that may be named, in a folder that no command may change."""
    from PIL import Image

    (folder / "photos").mkdir(parents=True)
    for colour in ("red", "green", "blue"):
        Image.new("RGB", (40, 30), colour).save(folder / "photos" / f"{colour}.png")
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff" + bytes(50))
    (folder / "empty.png").touch()
    (folder / "a\x1b[31m\nb.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "captions.csv").write_text("image,sentence,split\nphotos/red.png,a red photo,test\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.toml").write_text("a = " + "[" * 100_000)
    for name in ("\u202egnp.exe.png", "caf\udce9\udcff.png", "x" * 251 + ".png", " .png", "-o.png"):
        (folder / name).write_bytes((folder / "photos/red.png").read_bytes())
    (folder / "turning").mkdir()
    (folder / "turning/round").symlink_to("..")
    (folder / "library").mkdir()
    (folder / "library/library.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
    (folder / "recipe.toml").write_text(_RECIPE)
    make_weights(folder / "graphs", {"file": "../../../etc/passwd", "digest": "0"})
    make_weights(folder / "cycle", {"file": "encode.onnx", "digest": "0"}, source_weights={"cycle": "0"})
    os.mkfifo(folder / "pipe.png")
    (folder / "loop.png").symlink_to("loop.png")
    (folder / "zero.png").symlink_to("/dev/zero")
    (folder / "weights").mkdir()
    (folder / "weights/config.json").write_text("{}")
    os.mkfifo(folder / "weights/model.safetensors")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.png"))
    return {
        "photo": str(folder / "photos/red.png"),
        "photos": str(folder / "photos"),
        "collection": str(folder / "captions.csv"),
    }


_RECIPE = """
name = "x"
model = "vse"
seed = 0
[config]
dim = 999999999999
[data]
train = [{source = "/dev/zero"}]
dev = {source = "/"}
[stop]
epochs = 1
"""


def make_weights(folder: Path, graph: dict[str, str], **more: Any) -> None:
    """A folder that says it holds weights."""
    about = {
        "format": 1, "name": folder.name, "family": "vse", "features": {"backbone": "efficientnet-lite2"},
        "config": {"dim": 2**40, "word_dim": -1}, "vocabulary": "x",
        "graphs": {"opset": 17, "network": "../../..", "files": {"image": graph, "sentence": graph}},
    }  # fmt: skip
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**about, **more}))
    (folder / "model.safetensors").write_bytes((2**62).to_bytes(8, "little") + b"{}")
    (folder / "encode.onnx").write_bytes(bytes(100))


def list_paths(folder: Path) -> list[str]:
    """Names of files, as hostile as they come."""
    own = [str(path) for path in sorted(folder.iterdir())]
    return [*own, str(folder / "photos/red.png"), "", ".", "/", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem",
            "/proc/kmsg", str(folder.parent / "no/such/file.png"), "x" * 300,
            str(folder / "photos/red.png/x.png")]  # fmt: skip


def fingerprint(folder: Path) -> dict[str, str]:
    """Of all names below a folder: their kind, as `ls` shows it, then a digest of size, time and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest = hashlib.sha256(repr((status.st_mode, status.st_size, status.st_mtime_ns)).encode())
        if path.is_file() and not path.is_symlink() and status.st_size < 2**20:
            digest.update(path.read_bytes())
        found[os.fsencode(path).hex()] = stat.filemode(status.st_mode)[0] + digest.hexdigest()
    return found


def prepare() -> None:
    """Import what commands import, once for all children."""
    import seesay.cli.commands
    import seesay.library.library
    import seesay.verbs.captions
    import seesay.verbs.grounding
    import seesay.web.server  # noqa: F401


def prepare_learning() -> None:
    """Import what commands import that learn and measure."""
    import seesay.evaluation.tasks
    import seesay.export.exporting
    import seesay.grounding.magnitudes
    import seesay.models.pretrained
    import seesay.training.finishing.steps
    import seesay.training.run  # noqa: F401
