"""Training one model in several processes, as `torchrun` starts them.

Every process sees the description of the whole batch, encodes its own share of it and adds to the gradient of the whole
batch's loss; the sum over the processes is that gradient, so the steps equal those of a single process.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.autograd.function import FunctionCtx

from seesay.errors import SeesayError
from seesay.layers.sequences import Sequences
from seesay.system.spread import MakeWork


@contextmanager
def process_group() -> Iterator[tuple[int, int]]:
    """Join the processes that `torchrun` started and yield (rank, world); (0, 1) where there is only this one."""
    if distributed.is_initialized():
        yield distributed.get_rank(), distributed.get_world_size()
        return
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield 0, 1
        return
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise SeesayError(
            f"WORLD_SIZE asks for several processes, but {', '.join(missing)} is not set",
            hint="torchrun --nproc-per-node 2 -m seesay train RECIPE",
        )
    distributed.init_process_group("gloo")
    try:
        yield distributed.get_rank(), distributed.get_world_size()
        distributed.barrier()  # none leaves while another still talks to it
    finally:
        distributed.destroy_process_group()


def leave(code: int) -> None:
    """End a process that `torchrun` started without Python's clean-up; do nothing in any other.

    Threads of torch's gloo may still let go of tensors while the interpreter closes down. Once in some hundred runs
    that aborts a process whose work is done and saved, and torchrun then calls the whole training failed.
    """
    if "TORCHELASTIC_RUN_ID" in os.environ:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def own_share(n: int, rank: int, world: int) -> slice:
    """The part of `n` examples that a process works on; the parts differ by at most one and join without gaps.

    Example:
        >>> [own_share(10, rank, 4) for rank in range(4)]
        [slice(0, 2, None), slice(2, 5, None), slice(5, 7, None), slice(7, 10, None)]
    """
    return slice(n * rank // world, n * (rank + 1) // world)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, rank: int, world: int) -> Tensor:
        shards = gather_shards(tensor, world)
        start = sum(len(shard) for shard in shards[:rank])
        ctx.own, ctx.world = slice(start, start + len(tensor)), world  # type: ignore[attr-defined]
        return torch.cat(shards)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient[ctx.own] * ctx.world, None, None


def gather_with_own_gradient(tensor: Tensor, rank: int, world: int) -> Tensor:
    """Join the rows that all processes hold, in the order of their ranks; the gradient flows into the own rows.

    Meant for losses that need every row, such as a ranking over the whole batch: each process gathers the embeddings,
    computes the same loss L of the whole batch and returns `Loss.of_whole_batch(L, world)`, whose total is L / world.
    The gradient of the own rows is multiplied by `world` to undo that division, so that after the sum over processes
    each weight has the gradient of L, whether it is used before the gathering (an encoder: one process sees
    its rows) or after it (a learned temperature: all processes see it).

    Args:
        tensor: (n_own, ...); n_own may differ between processes and may be 0.

    Returns:
        (n_all, ...), equal in all processes.

    Example:
        >>> gather_with_own_gradient(torch.tensor([[1.0, 2.0]]), rank=0, world=1)
        tensor([[1., 2.]])
    """
    if world == 1:
        return tensor
    joined: Tensor = _Gather.apply(tensor, rank, world)  # type: ignore[no-untyped-call]
    return joined


def gather_shards(tensor: Tensor, world: int) -> list[Tensor]:
    """The tensors of all processes; they may differ in their first dimension."""
    if world == 1:
        return [tensor]
    own = tensor.detach()
    lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
    distributed.all_gather(lengths, torch.tensor([len(own)]))
    longest = max(int(length) for length in lengths)
    padded = own.new_zeros((longest, *own.shape[1:]))
    padded[: len(own)] = own
    shards = [torch.empty_like(padded) for _ in range(world)]
    distributed.all_gather(shards, padded)
    return [shard[: int(length)] for shard, length in zip(shards, lengths, strict=True)]


def gather_json(value: Any, world: int) -> list[Any]:
    """A value of every process, in the order of their ranks; by JSON, because torch's own way pickles."""
    own = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
    return [json.loads(bytes(shard.tolist())) for shard in gather_shards(own, world)]


def spread_over_processes(make: MakeWork[Any, Any], things: Sequence[Any]) -> list[Any]:
    """Do work on things, each in one of the processes; all have all that was made, in the order of the things.

    Tensors and `Sequences` are sent round; anything else is made by every process for itself.

    Example:
        >>> spread_over_processes(lambda: torch.tensor, [1, 2])
        [tensor(1), tensor(2)]
    """
    work = make()
    if not distributed.is_initialized():
        return [work(thing) for thing in things]
    rank, world = distributed.get_rank(), distributed.get_world_size()
    own = {place: work(things[place]) for place in range(rank, len(things), world)}
    if not all(gather_json(all(isinstance(made, Tensor | Sequences) for made in own.values()), world)):
        return [own[place] if place in own else work(things[place]) for place in range(len(things))]
    return [_send(own.get(place), place % world, world) for place in range(len(things))]


def _send(made: Any, source: int, world: int) -> Any:
    """What one process has made, in all of them."""
    parts = [] if made is None else [made.states, made.words, made.lengths] if isinstance(made, Sequences) else [made]
    shapes = gather_json([[list(part.shape), str(part.dtype).removeprefix("torch.")] for part in parts], world)[source]
    received = [
        parts[place].contiguous() if parts else torch.empty(shape, dtype=getattr(torch, kind))
        for place, (shape, kind) in enumerate(shapes)
    ]
    for part in received:
        distributed.broadcast(part, src=source)
    return received[0] if len(received) == 1 else Sequences(*received)


def sum_gradients(parameters: Sequence[nn.Parameter], flags: Sequence[bool], world: int) -> list[bool]:
    """Replace each gradient by its sum over the processes, in one exchange.

    Args:
        flags: Questions to settle on the way: the answer is True in every process where it was True in any.

    Returns:
        The flags, equal in all processes.
    """
    if world == 1:
        return list(flags)
    # A weight that no process used keeps no gradient at all: an optimiser treats that differently from zeros.
    used = torch.tensor([float(parameter.grad is not None) for parameter in parameters])
    gradients = [
        (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).flatten()
        for parameter in parameters
    ]
    buffer = torch.cat([*gradients, used, torch.tensor([float(flag) for flag in flags])])
    distributed.all_reduce(buffer)
    sizes = [gradient.numel() for gradient in gradients]
    *summed, used, agreed = torch.split(buffer, [*sizes, len(used), len(flags)])
    for parameter, gradient, count in zip(parameters, summed, used.tolist(), strict=True):
        parameter.grad = gradient.view_as(parameter).to(parameter.dtype) if count else None
    return [value > 0 for value in agreed.tolist()]


def copy_from_first(tensors: Sequence[Tensor], world: int) -> None:
    """Overwrite tensors in place with those of the first process."""
    if world > 1:
        for tensor in tensors:
            distributed.broadcast(tensor.detach(), src=0)
