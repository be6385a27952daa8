"""Pack the matrices of a weights folder as bytes (`seesay.layers.packing`), so that it takes half the room.

    python tools/pack_weights.py WEIGHTS
    seesay export WEIGHTS          # its graphs point into the file

Whatever was chosen beside the weights as they were has to be chosen again (`seesay tune`).
"""

import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from seesay.catalogue.weights import find
from seesay.layers.packing import pack_tensors
from seesay.system.files import replace_atomically


def pack(folder: Path) -> tuple[int, int]:
    """Pack a folder's file; its bytes before and after."""
    path = folder / "model.safetensors"
    before = path.stat().st_size
    packed = {name: tensor.contiguous() for name, tensor in pack_tensors(load_file(path)).items()}
    with replace_atomically(path) as temporary:
        save_file(packed, temporary)
    return before, path.stat().st_size


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, *pack(find(name).folder))
