"""Networks in ONNX Runtime give what they give in torch."""

import builtins
from typing import Any

import numpy as np
import pytest
import torch

from seesay.images.accelerated import accelerate_network
from seesay.images.backbones import load_backbone

SIZE = 64
PIXELS = np.random.default_rng(0).integers(0, 256, (3, SIZE, SIZE, 3), np.uint8)


def _difference(found: list[Any]) -> float:
    wanted = load_backbone("efficientnet-lite0", size=SIZE)(torch.from_numpy(PIXELS))
    assert [part.shape for part in found] == [tuple(part.shape) for part in wanted]
    return max(float(np.abs(part - tensor.numpy()).max()) for part, tensor in zip(found, wanted, strict=True))


def test_onnx_runtime_gives_the_map_and_the_vector_of_torch() -> None:
    run = accelerate_network(load_backbone("efficientnet-lite0", size=SIZE))
    assert _difference(run(PIXELS)) < 1e-4
    assert run(PIXELS[:1])[0].shape[0] == 1


def test_without_onnx_it_runs_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    run = accelerate_network(load_backbone("efficientnet-lite0", size=SIZE))
    assert _difference(run(PIXELS)) == 0
