"""A model that sees through the eye runs on two graphs: the lower half of the network, and the eye's upper half."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.export.exporting import SAMPLES, export_weights
from seesay.images.features import FeatureSpec, compute
from seesay.images.io import open_image
from seesay.models import pretrained
from seesay.models.mrnn import MRNN, MRNNConfig
from seesay.runtime.matching import Model
from seesay.runtime.network import HalvedNetwork, open_network
from seesay.text.vocabulary import Vocabulary

PHOTOS = sorted(SAMPLES.glob("*.jpg"))[:2]


@pytest.fixture(scope="module", params=["eye", "eye-imagenet"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small captioner on the eye, alone or beside ImageNet's network, untrained, with its graphs."""
    folder = tmp_path_factory.mktemp("captioner") / "weights"
    torch.manual_seed(0)
    words = Vocabulary.build(["a dog runs", "two cats sleep"], 1)
    spec = FeatureSpec(backbone=request.param)
    dim = 2560 if request.param == "eye-imagenet" else 1280
    config = MRNNConfig(embedding=8, recurrent=8, multimodal=8, n_marginal=2, image_dim=dim)
    model = MRNN(config, words, spec)
    model.initialise(0)
    pretrained.save(folder, model, {"name": "captioner"})
    export_weights(folder, photos=PHOTOS)
    return folder


def test_the_graphs_see_what_torch_sees(exported: Path) -> None:
    graphs = Model(exported)
    found = graphs.features(PHOTOS)
    spec = FeatureSpec(backbone=graphs.about["features"]["backbone"])
    wanted = compute([open_image(path) for path in PHOTOS], spec.load_backbone())
    for seen, torch_side in ((found.pooled, wanted["pooled"]), (found.map, wanted["map"])):
        assert seen is not None
        a, b = (part.reshape(len(PHOTOS), -1).astype(np.float64) for part in (seen, torch_side))
        cosines = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
        assert cosines.min() > 0.9995


def network_of(exported: Path) -> Path:
    """Its folder: inside of the weights, or the package's, which has the one that ships."""
    return next(
        place
        for folder in (exported, PACKAGED)
        for place in folder.glob(f"{Model(exported).about['features']['backbone']}-300-*")
    )


def test_nothing_of_the_network_is_stored_again(exported: Path) -> None:
    folder = network_of(exported)
    assert [path.name for path in folder.iterdir()] == ["network.json"]
    assert isinstance(open_network(folder), HalvedNetwork)


def test_another_eye_is_refused_by_name(exported: Path, tmp_path: Path) -> None:
    folder = network_of(exported)
    about = json.loads((folder / "network.json").read_text())
    (tmp_path / "network.json").write_text(json.dumps(about | {"digest": "0" * 64}))
    with pytest.raises(SeesayError, match=r"was written for eye 000000000000, there is [0-9a-f]{12}"):
        _ = open_network(tmp_path).session


def test_a_lower_half_outside_of_the_folder_is_refused(exported: Path, tmp_path: Path) -> None:
    folder = network_of(exported)
    about = json.loads((folder / "network.json").read_text())
    (tmp_path / "network.json").write_text(json.dumps(about | {"lower": "../elsewhere"}))
    with pytest.raises(SeesayError, match="names the file"):
        _ = open_network(tmp_path).session
