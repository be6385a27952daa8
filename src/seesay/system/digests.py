"""What files hold, by a number that differs wherever they do."""

import hashlib
import json
from pathlib import Path

from seesay.system.reading import open_regular, parse_json

_LONGEST_HEADER = 100 << 20  # bytes, as safetensors itself allows


def digest_file(path: Path, part: str = "") -> str:
    """The sha256 of a file, in hex.

    Args:
        part: Of a safetensors file, only the tensors whose names begin so: their names, kinds, shapes and bytes.

    Raises:
        OSError: It cannot be read, or has no such header.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from safetensors.numpy import save_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "model.safetensors"
        ...     digests = []
        ...     for other in (1.0, 2.0):
        ...         save_file({"upper.a": np.ones(3), "lower.b": np.full(2, other)}, path)
        ...         digests.append((digest_file(path), digest_file(path, "upper.")))
        >>> [first == second for first, second in zip(*digests, strict=True)]
        [False, True]
    """
    with open_regular(path) as file:
        if not part:
            return hashlib.file_digest(file, "sha256").hexdigest()
        length = int.from_bytes(file.read(8), "little")
        try:
            if length > _LONGEST_HEADER:
                raise ValueError
            header = parse_json(file.read(length))
            own = sorted((name, about) for name, about in header.items() if name.startswith(part))
            found = hashlib.sha256()
            for name, about in own:
                start, end = about["data_offsets"]
                file.seek(8 + length + start)
                found.update(json.dumps([name, about["dtype"], about["shape"]]).encode())
                found.update(file.read(end - start))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OSError(f"{path} is no safetensors file") from error
    return found.hexdigest()
