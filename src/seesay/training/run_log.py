"""The log of a run: one JSON object a line, and the claim on the folder that it lives in."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from seesay.errors import SeesayError
from seesay.system.locks import hold_lock


class RunLog:
    """Append lines to `log.jsonl` of a run's folder; while it is open no other process can open it.

    Args:
        is_open: False makes a log that writes nothing, for the processes of a run that are not the first.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, RunLog(Path(folder)) as log:
        ...     log.write({"kind": "steps", "loss": 0.5})
        ...     (Path(folder) / "log.jsonl").read_text()
        '{"kind": "steps", "loss": 0.5}\\n'
    """

    def __init__(self, run_dir: Path, *, is_open: bool = True) -> None:
        self.path = run_dir / "log.jsonl"
        self._opened = ExitStack()
        self._file: BinaryIO | None = self._open() if is_open else None

    def _open(self) -> BinaryIO:
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            busy = f"another process is training in {folder}"
            self._opened.enter_context(hold_lock(folder / "run.lock", busy, hint="wait for it, or take another folder"))
            return self._opened.enter_context(self.path.open("ab"))
        except OSError as error:
            self._opened.close()
            raise SeesayError(
                f"cannot write {self.path}: {error.strerror or error}", hint="choose a folder that you may write to"
            ) from error

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def n_bytes(self) -> int:
        """How long the log is."""
        return os.fstat(self._file.fileno()).st_size if self._file is not None else 0

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a line; it is in the file when this returns."""
        if self._file is not None:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()

    def cut(self, n_bytes: int) -> None:
        """Forget what was written after a checkpoint, so that repeated steps leave no doubled lines."""
        if self._file is not None and n_bytes < self.n_bytes:
            self._file.truncate(n_bytes)
