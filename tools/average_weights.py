"""Average two weights folders of one shape: between a model and what it became by learning on.

    python tools/average_weights.py FIRST SECOND OUT [--share 0.5]

OUT gets the files of SECOND with the averaged tensors, in the precision of SECOND; what was chosen for either
(`seesay tune`, `seesay export`) is left out and has to be chosen again.
"""

import argparse
import json
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

from seesay.catalogue.weights import find, weights_digest
from seesay.models.pretrained import load

KEPT = ("model.safetensors", "config.json", "card.md", "vocabulary.json", "frequencies.safetensors")
CHOSEN = ("captioning", "matching", "confidence", "tuned", "graphs", "figures")


def average(first: str, second: str, out: Path, share: float = 0.5) -> None:
    """Write `share` of the second weights plus the rest of the first."""
    theirs, folder = load(first).state_dict(), find(second).folder
    ours = load_file(folder / "model.safetensors")
    if {name: tensor.shape for name, tensor in theirs.items()} != {name: tensor.shape for name, tensor in ours.items()}:
        raise SystemExit(f"{first} and {second} differ in shape, or {second} is packed")
    out.mkdir(parents=True)
    for name in KEPT[1:]:
        if (folder / name).is_file():
            shutil.copy(folder / name, out / name)
    about = json.loads((out / "config.json").read_text(encoding="utf-8"))
    about = {key: value for key, value in about.items() if key not in CHOSEN}
    about["averaged"] = {**{name: weights_digest(find(name).folder) for name in (first, second)}, "share": share}
    (out / "config.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    mixed = {name: (1 - share) * theirs[name].float() + share * tensor.float() for name, tensor in ours.items()}
    save_file({name: tensor.to(ours[name].dtype).contiguous() for name, tensor in mixed.items()}, out / KEPT[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="of the second weights")
    arguments = parser.parse_args()
    average(arguments.first, arguments.second, arguments.out, arguments.share)
