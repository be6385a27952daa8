"""What people ask of photos is answered where torch, and what only learning needs, cannot be imported."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seesay

FORBIDDEN = ("torch", "onnx", "scipy", "sklearn", "cv2", "spacy", "pyarrow", "matplotlib")
ASK = """
import importlib.abc, json, pydoc, sys

class Forbid(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Forbid())
import seesay

def photo(name):
    return f"{sys.argv[1]}/{name}.jpg"

cat, man = photo("cat"), photo("photographer")
sampling = __import__("seesay.captioning.settings", fromlist=["Sampling"]).Sampling(seed=1)
answers = {
    "caption": seesay.caption([cat, man], n_best=2).to_dict(),
    "drawn caption": seesay.caption(cat, sampling=sampling).to_dict(),
    "ground": seesay.ground(man, ["a man", "a camera"], regions="windows-100").to_dict(),
    "sentence": seesay.ground(man, sentence="a man with a camera", regions="windows-100").to_dict(),
    "describe": seesay.describe(man, [(0.1, 0.1, 0.9, 1.0)]).to_dict(),
    "identify": seesay.identify("a man with a camera", [cat, man]).to_dict(),
    "regions": seesay.find_regions("a man", sys.argv[1]).to_dict(),
}
for method in ("contrastive", "excitation", "alignment", "attention"):
    answers[method] = seesay.explain(man, "a man with a camera", method=method).to_dict()
seesay.identify("a man", [cat, man]).draw()
answers["help"] = pydoc.render_doc(seesay, renderer=pydoc.plaintext)
answers["installed"] = [weights.name for weights in seesay.installed()]
try:
    seesay.load("vse")
except seesay.SeesayError as error:
    answers["load"] = str(error)
loaded = sorted(name for name in sys.argv[2].split(",") if name in sys.modules)
print(json.dumps({"answers": answers, "loaded": loaded}))
"""


@pytest.fixture(scope="module")
def found(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(cache))
        command = [sys.executable, "-c", ASK, str(samples), ",".join(FORBIDDEN)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_what_needs_torch_says_what_to_type(found: dict[str, Any]) -> None:
    assert found["answers"]["load"].startswith("seesay.load needs the optional part [train]")
    assert "pip install 'seesay[train]'" in found["answers"]["load"]
    assert "vse" in found["answers"]["installed"]
    assert "search(query" in found["answers"]["help"]


def test_nothing_of_it_was_imported(found: dict[str, Any]) -> None:
    assert found["loaded"] == []


def test_captions_say_what_is_there(found: dict[str, Any]) -> None:
    cat, man = found["answers"]["caption"]["photos"]
    assert "cat" in cat["captions"][0]["caption"]
    assert "man" in man["captions"][0]["caption"]
    assert len(cat["captions"]) == 2
    assert found["answers"]["drawn caption"]["photos"][0]["captions"][0]["log_prob"] < 0


def test_phrases_and_sentences_have_boxes(found: dict[str, Any]) -> None:
    assert [row["phrase"] for row in found["answers"]["ground"]["phrases"]] == ["a man", "a camera"]
    assert " ".join(row["phrase"] for row in found["answers"]["sentence"]["phrases"]) == "a man with a camera"


def test_a_region_is_described(found: dict[str, Any]) -> None:
    (region,) = found["answers"]["describe"]["regions"]
    assert region["caption"]
    assert region["log_prob"] < 0


def test_the_photo_that_is_meant_is_identified(found: dict[str, Any]) -> None:
    best = found["answers"]["identify"]["photos"][0]
    assert Path(best["photo"]).name == "photographer.jpg"
    assert best["choice"] > 0.5


def test_regions_of_photos_are_found(found: dict[str, Any]) -> None:
    (snippet,) = found["answers"]["regions"]["snippets"]
    assert Path(snippet["regions"][0]["photo"]).name == "photographer.jpg"


@pytest.mark.parametrize("method", ["contrastive", "excitation", "alignment", "attention"])
def test_a_match_is_explained_as_torch_explains_it(found: dict[str, Any], method: str, man: Path) -> None:
    from seesay.engines import open_model
    from seesay.explainers.registry import default_weights

    own = found["answers"][method]
    torch_side = open_model(default_weights(method), "torch")
    wanted = seesay.explain(man, "a man with a camera", method=method, model=torch_side).to_dict()
    assert [row["word"] for row in own["words"]] == ["a", "man", "with", "a", "camera"]
    weights = [row["weight"] for row in own["words"]]
    # The network's weights are in half precision in the graph, and its map is rounded in both.
    assert weights == pytest.approx([row["weight"] for row in wanted["words"]], abs=0.01)
    assert own["score"] == pytest.approx(wanted["score"], abs=0.05)
