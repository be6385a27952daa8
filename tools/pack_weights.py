"""Pack the matrices of a weights folder as bytes (`seesay.layers.packing`), so that it takes half the room.

    python tools/pack_weights.py WEIGHTS [--only PART …]
    seesay export WEIGHTS          # its graphs point into the file

Whatever was chosen beside the weights as they were has to be chosen again (`seesay tune`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file

from seesay.catalogue.weights import find
from seesay.layers.packing import pack_tensors
from seesay.system.files import replace_atomically


def pack(folder: Path, only: Sequence[str] = ()) -> tuple[int, int]:
    """Pack a folder's file, or these parts of the model; its bytes before and after."""
    path = folder / "model.safetensors"
    before = path.stat().st_size
    tensors = load_file(path)
    chosen = {name: tensor for name, tensor in tensors.items() if not only or name.split(".")[0] in only}
    packed = {**{name: tensor for name, tensor in tensors.items() if name not in chosen}, **pack_tensors(chosen)}
    packed = {name: tensor.contiguous() for name, tensor in packed.items()}
    with replace_atomically(path) as temporary:
        save_file(packed, temporary)
    return before, path.stat().st_size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("--only", nargs="+", default=(), metavar="PART", help="parts of the model, such as embedding")
    arguments = parser.parse_args()
    print(arguments.weights, *pack(find(arguments.weights).folder, arguments.only))
