"""The lower half's activations: what is kept is what the network computes, and nothing else passes for it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images import activations
from seesay.images.activations import ActivationStore, ActivationTable, activations_of, load_lower
from seesay.images.extraction import content_key, features_of
from seesay.images.features import FeatureSpec, preprocess
from seesay.images.halves import split_network
from seesay.images.io import open_image

SPEC = FeatureSpec("efficientnet-lite0", size=64)


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    noise = np.random.default_rng(0)
    paths = [tmp_path / f"{number}.png" for number in range(6)]
    for path in paths:
        Image.fromarray(noise.integers(0, 255, (48, 80, 3), np.uint8)).save(path)
    return paths


def pixels_of(path: Path) -> np.ndarray:
    return preprocess(open_image(path), SPEC.size, "squash")


def test_both_halves_together_are_the_network(photos: list[Path]) -> None:
    backbone = SPEC.load_backbone()
    lower, upper = split_network(backbone)
    x = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(upper(lower(x)), backbone.network(x))


def test_networks_without_halves_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = SPEC.load_backbone()
    flat = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    object.__setattr__(backbone, "network", flat)
    with pytest.raises(SeesayError, match="has no halves"):
        split_network(backbone)


def test_the_runtime_agrees_with_torch_to_a_thousandth_of_the_scale(photos: list[Path]) -> None:
    pixels = np.concatenate([pixels_of(path) for path in photos])
    backbone = SPEC.load_backbone()
    lower, _ = split_network(backbone)
    x = (torch.from_numpy(pixels).float() - torch.tensor(backbone.mean)) / torch.tensor(backbone.std)
    wanted = lower(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).numpy()
    found = load_lower(SPEC)(pixels)
    assert found.dtype == np.float16
    assert np.abs(found.astype(np.float32) - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_rows_are_those_of_the_pictures_asked_for(photos: list[Path], tmp_path: Path) -> None:
    table = activations_of(photos, SPEC, root=tmp_path / "cache")
    found = table.rows([4, 1]).lower
    assert found is not None
    lower = load_lower(SPEC)
    np.testing.assert_allclose(found.numpy(), np.concatenate([lower(pixels_of(photos[n])) for n in (4, 1)]), atol=0.05)
    assert [len(table), len(table.part(1, 3))] == [6, 2]
    assert isinstance(features_of(photos, SPEC, ("lower",), root=tmp_path / "cache"), ActivationTable)


def test_what_is_there_is_not_computed_again(
    photos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ActivationStore(SPEC, root=tmp_path).fill(photos[:4])
    seen: list[int] = []
    whole = activations._activate
    monkeypatch.setattr(
        activations, "_activate", lambda lower, size, batch: seen.append(len(batch)) or whole(lower, size, batch)
    )
    ActivationStore(SPEC, root=tmp_path).fill(photos)
    assert sum(seen) == 2


def test_a_damaged_row_is_computed_again(photos: list[Path], tmp_path: Path) -> None:
    store = ActivationStore(SPEC, root=tmp_path)
    keys = store.fill(photos)
    wanted = store.read([keys[photos[2]]])
    shard = next(store.folder.glob("*.npy"))
    content = bytearray(shard.read_bytes())
    content[-1] ^= 0xFF
    shard.write_bytes(bytes(content))
    again = ActivationStore(SPEC, root=tmp_path)
    assert len(again.missing(list(keys.values()))) == 1
    again.fill(photos)
    assert again.missing(list(keys.values())) == []
    torch.testing.assert_close(again.read([keys[photos[2]]]), wanted)


def test_activations_of_another_network_are_not_taken(photos: list[Path], tmp_path: Path) -> None:
    keys = ActivationStore(SPEC, root=tmp_path).fill(photos)
    other = ActivationStore(FeatureSpec("efficientnet-lite0", size=96), root=tmp_path)
    assert len(other.missing(list(keys.values()))) == len(photos)


def test_a_disk_that_is_too_small_is_named_before_any_work(
    photos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activations.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 10}))
    with pytest.raises(SeesayError, match=r"activations need .* GB in .* are free") as refused:
        ActivationStore(SPEC, root=tmp_path / "cache").fill(photos)
    assert "SEESAY_CACHE" in str(refused.value)
    assert not (tmp_path / "cache").exists()


def test_a_photo_that_vanished_or_cannot_be_opened_is_named(photos: list[Path], tmp_path: Path) -> None:
    store = ActivationStore(SPEC, root=tmp_path / "cache")
    with pytest.raises(SeesayError, match=r"gone\.png"):
        store.fill([*photos, tmp_path / "gone.png"])
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n cut off")
    with pytest.raises(SeesayError, match=r"broken\.png"):
        store.fill([*photos, broken])
    # The others are kept.
    assert ActivationStore(SPEC, root=tmp_path / "cache").missing([content_key(path) for path in photos]) == []


def test_only_whole_pictures_are_kept() -> None:
    with pytest.raises(SeesayError, match="ten-crop"):
        ActivationStore(FeatureSpec("efficientnet-lite0", crop="ten-crop"))
