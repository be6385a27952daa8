"""What graphs reach is what torch reaches, also for a model whose features no store keeps."""

import shutil
from pathlib import Path

import seesay
from seesay import data
from seesay.evaluation.protocols import EvaluationSet
from seesay.evaluation.retrieval import evaluate_graphs, evaluate_retrieval
from seesay.models.pretrained import load
from seesay.runtime.matching import Model

SAMPLES = Path(seesay.__file__).parent / "samples"
SENTENCES = {
    "cat.jpg": "A close up of a cat.",
    "coffee.jpg": "A cup of coffee on a table.",
    "photographer.jpg": "A man with a camera on a tripod.",
    "rocket.jpg": "A rocket stands on its launch pad.",
}


def test_the_eye_is_measured_by_its_graphs_as_by_torch(tmp_path: Path) -> None:
    for name in SENTENCES:
        shutil.copy(SAMPLES / name, tmp_path)
    rows = [f"{name},{sentence},test" for name, sentence in SENTENCES.items()]
    (tmp_path / "captions.csv").write_text("\n".join(["image,sentence,split", *rows]) + "\n")
    measured = EvaluationSet(data.load(tmp_path).split("test"), store=tmp_path / "features")
    by_graphs = evaluate_graphs(Model("eye"), measured)
    assert by_graphs.figures == evaluate_retrieval(load("eye"), measured).figures
    assert by_graphs.figures["i2t"]["r1"] == 100
