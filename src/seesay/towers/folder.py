"""A published folder: which files it has, and whether they are what they should be. Nothing is loaded.

config.json               which towers they are
model.safetensors         their tensors, or several such files with model.safetensors.index.json
preprocessor_config.json  how an image is prepared; newer releases of `transformers` say it in processor_config.json
tokenizer.json            how a sentence becomes numbers; tokenizer_config.json says how rows are filled up
"""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.system.reading import open_regular, parse_json, read_text

CONFIG, WEIGHTS, TOKENIZER, PREPROCESSOR = (
    "config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json",
)  # fmt: skip
INDEX, TOKENIZER_CONFIG = f"{WEIGHTS}.index.json", "tokenizer_config.json"
PROCESSOR, IMAGE_PROCESSOR = "processor_config.json", "image_processor"
"""The file of all that prepares inputs, and its part that says how an image is."""
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
TYPES = ("F32", "F16", "BF16", "F64")
"""Numbers that a tensor may be of."""
VISION, TEXT = "vision_model.onnx", "text_model.onnx"
"""The two files of a pair of ONNX graphs."""
MOST_SHARDS, MOST_TENSORS = 1000, 100_000
_AGAIN = "fetch the folder again, with all of its files"
_LFS = b"version https://git-lfs"


@dataclass(frozen=True)
class Published:
    """A folder whose files are all there.

    Attributes:
        files: Those that hold tensors.
        shapes: Of all tensors, by their published names, with the file of each.
    """

    folder: Path
    config: Mapping[str, Any]
    files: tuple[Path, ...]
    shapes: Mapping[str, tuple[tuple[int, ...], Path]]

    def json(self, name: str) -> Mapping[str, Any] | None:
        """What a further JSON file of the folder says; None where there is no such file."""
        path = self.folder / name
        return read_object(path) if is_there(path) else None

    def text(self, name: str) -> str | None:
        """The text of a further file; None where there is none."""
        path = self.folder / name
        if not is_there(path):
            return None
        refuse_pointer(path)
        return _read_text(path)

    def digest(self) -> str:
        """The sha256 of the file of tensors, or of those of several such files."""
        digests = [_digest(path, path.stat().st_mtime_ns, path.stat().st_size) for path in self.files]
        return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def has_tensors(folder: Path) -> bool:
    """Whether a folder has safetensors, be they in one file or in several."""
    return is_there(folder / WEIGHTS) or is_there(folder / INDEX)


def is_there(path: Path) -> bool:
    """Whether there is such a file.

    Raises:
        SeesayError: There is a link of that name that leads nowhere, or back to itself.
    """
    try:
        path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise SeesayError(f"{path} is a link to {path.readlink()}, which is not there", hint=_AGAIN) from None
        return False
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    return True


def open_published(folder: Path) -> Published:
    """Look at a folder in the layout of `transformers`.

    Raises:
        SeesayError: A file is missing, is a pickle, a pointer of Git LFS, damaged, or lies outside of the folder.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise SeesayError(f"the folder {folder} {what}", allowed=f"a folder with {CONFIG} and {WEIGHTS}")
    if not is_there(folder / CONFIG):
        is_other = any(folder.glob("open_clip_*"))
        raise SeesayError(
            f"{folder} has no {CONFIG}{', but files in the layout of open_clip' if is_other else ''}",
            allowed=f"a folder with {CONFIG} and {WEIGHTS}, in the layout of transformers",
        )
    config = read_object(folder / CONFIG)
    files = _weight_files(folder)
    shapes: dict[str, tuple[tuple[int, ...], Path]] = {}
    for path in files:
        for name, shape in _read_header(path):
            shapes[name] = (shape, path)
    return Published(folder, config, files, shapes)


def read_object(path: Path) -> Mapping[str, Any]:
    """A JSON object of a file."""
    refuse_pointer(path)
    try:
        text = _read_text(path)
        found = parse_json(text)
        if "\\ud" in text.lower():  # half of a pair of escapes is no character
            json.dumps(found, ensure_ascii=False).encode()
    except ValueError as error:
        raise SeesayError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise SeesayError(f"{path} is not an object")
    return found


def refuse_pointer(path: Path) -> None:
    """Refuse what Git has left in the place of a large file."""
    try:
        with open_regular(path) as file:
            head = file.read(len(_LFS))
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    if head == _LFS:
        folder = shlex.quote(str(path.parent))
        raise SeesayError(f"{path} is a pointer of Git LFS and not the file itself", hint=f"git -C {folder} lfs pull")


def _read_text(path: Path) -> str:
    try:
        return read_text(path)
    except OSError as error:
        raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SeesayError(f"{path} is not UTF-8: {error}") from error


def _weight_files(folder: Path) -> tuple[Path, ...]:
    if is_there(folder / WEIGHTS):
        return (folder / WEIGHTS,)
    if is_there(folder / INDEX):
        return _shards(folder)
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    if pickles:
        raise SeesayError(
            f"{folder} has its tensors in {pickles[0]}, a pickle, which can run code when it is opened",
            allowed=f"{WEIGHTS}",
            hint="take the folder's safetensors version, or convert it where you trust it: "
            "AutoModel.from_pretrained(FOLDER).save_pretrained(NEW)",
        )
    graphs = f"{VISION} with {TEXT}"
    raise SeesayError(f"{folder} has no {WEIGHTS}", allowed=f"{WEIGHTS}, several such files with {INDEX}, or {graphs}")


def _shards(folder: Path) -> tuple[Path, ...]:
    places = read_object(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise SeesayError(f"{folder / INDEX} has no weight_map", allowed="a table of tensors and their files")
    names = sorted({str(name) for name in places.values()})
    if len(names) > MOST_SHARDS:
        raise SeesayError(f"{folder / INDEX} names {len(names):,} files", allowed=f"up to {MOST_SHARDS:,}")
    for name in names:
        path = folder / name
        if Path(name).name != name or path.suffix != ".safetensors":
            raise SeesayError(f"{folder / INDEX} names the file {name!r}", allowed="a safetensors file of the folder")
        if not is_there(path):
            raise SeesayError(f"{folder} has no {name}, which {INDEX} names", hint=_AGAIN)
    return tuple(folder / name for name in names)


def _read_header(path: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of a safetensors file, of which the header alone is read."""
    refuse_pointer(path)
    from safetensors import SafetensorError, safe_open  # which networks of our own do without

    try:
        with safe_open(path, "numpy") as file:
            names = file.keys()
            if len(names) > MOST_TENSORS:
                raise SeesayError(f"{path} has {len(names):,} tensors", allowed=f"up to {MOST_TENSORS:,}")
            for name in names:
                part = file.get_slice(name)
                if part.get_dtype() not in TYPES and part.get_dtype() != "I64":  # numbers of positions
                    raise SeesayError(f"{path}: {name} is of {part.get_dtype()}", allowed=TYPES)
                yield name, tuple(part.get_shape())
    except (OSError, SafetensorError) as error:
        raise SeesayError(f"cannot read the weights {path}: {error}", hint=_AGAIN) from error


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
