"""What tests of training share."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

STEPS = Path(__file__).with_name("steps.py")


@pytest.fixture
def require_the_steps_of_one(
    program: Callable[[Path], ModuleType], tmp_path: Path
) -> Callable[[Callable[[], Any]], None]:
    """Fails where two processes do not have the losses and gradients of one; called with what makes the task."""

    def require(make_task: Callable[[], Any]) -> None:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        command = [*launcher, str(STEPS), str(tmp_path), make_task.__code__.co_filename, make_task.__name__]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        finished = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
        assert finished.returncode == 0, finished.stderr
        losses, gradients = program(STEPS).measure_steps(make_task(), 0, 1)
        assert len(losses) >= 5
        for rank in (0, 1):
            assert json.loads((tmp_path / f"losses.{rank}.json").read_text()) == pytest.approx(losses, abs=1e-5)
            found = load_file(tmp_path / f"gradients.{rank}.safetensors")
            for name, gradient in gradients.items():
                torch.testing.assert_close(found[name], gradient, atol=1e-5, rtol=1e-4, msg=name)

    return require
