"""The losses and gradients of a task's steps, alone or in one of several processes.

Run by torchrun it writes those of each process: steps.py FOLDER FILE FUNCTION, where FUNCTION of the test FILE makes
the task.
"""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from seesay.training.distributed import leave, process_group, sum_gradients


def measure_steps(task: Any, rank: int, world: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    """The loss of every batch of an epoch, and its gradients summed over the processes."""
    losses, gradients = [], {}
    for index in range(task.n_batches(0)):
        task.model.zero_grad()
        loss = task.loss(task.batch(0, index), rank, world)
        loss.total.backward()
        sum_gradients(list(task.model.parameters()), [], world)
        losses.append(loss.logs["loss"])
        for name, weight in task.model.named_parameters():
            if weight.grad is not None:
                gradients[f"{index}.{name}"] = weight.grad.clone()
    return losses, gradients


def main(folder: Path, file: Path, function: str) -> None:
    make_task = runpy.run_path(str(file))[function]
    with process_group() as (rank, world):
        losses, gradients = measure_steps(make_task(), rank, world)
        (folder / f"losses.{rank}.json").write_text(json.dumps(losses))
        save_file(gradients, folder / f"gradients.{rank}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    leave(0)
