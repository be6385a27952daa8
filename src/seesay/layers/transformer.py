"""The encoder of a transformer (Vaswani et al. 2017) as BERT lays it out (Devlin et al. 2019).

Post-norm blocks, learned positions, GELU. Names and shapes are this file's own; `read_bert` fills it from a published
safetensors file.
"""

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError

NORM_EPS = 1e-12


class Block(nn.Module):
    """Self-attention and a feed-forward layer, each added to its input and normalised."""

    def __init__(self, dim: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(dim, 3 * dim)  # query, key and value in one product
        self.mix = nn.Linear(dim, dim)
        self.attend_norm = nn.LayerNorm(dim, NORM_EPS)
        self.widen = nn.Linear(dim, inner)
        self.narrow = nn.Linear(inner, dim)
        self.norm = nn.LayerNorm(dim, NORM_EPS)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From states (n, T, dim) to states; `mask` (n, 1, 1, T) says which positions may be attended."""
        n, length, dim = x.shape
        query, key, value = (
            part.view(n, length, self.heads, -1).transpose(1, 2)  # (n, heads, T, dim / heads)
            for part in self.attend(x).chunk(3, dim=2)
        )
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.attend_norm(x + self.mix(attended.transpose(1, 2).reshape(n, length, dim)))
        out: Tensor = self.norm(x + self.narrow(F.gelu(self.widen(x))))
        return out


class TextEncoder(nn.Module):
    """Subword numbers to states.

    Args:
        n_subwords: Rows of the embedding.
        longest: Positions.
    """

    def __init__(self, n_subwords: int, dim: int, n_layers: int, heads: int, inner: int, longest: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_subwords, dim)
        self.position = nn.Parameter(torch.zeros(longest, dim))
        self.norm = nn.LayerNorm(dim, NORM_EPS)
        self.blocks = nn.ModuleList(Block(dim, heads, inner) for _ in range(n_layers))

    def forward(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """From numbers (n, T) and which of them count (n, T) to states (n, T, dim)."""
        x: Tensor = self.norm(self.embedding(subwords) + self.position[: subwords.shape[1]])
        attended = mask[:, None, None, :]
        for block in self.blocks:
            x = block(x, attended)
        return x


@torch.no_grad()
def read_bert(encoder: TextEncoder, tensors: Mapping[str, Tensor]) -> None:
    """Fill an encoder from the tensors of a published BERT; its layers are the first of the published ones.

    Raises:
        SeesayError: A tensor is missing or has another shape.
    """

    def take(target: Tensor, *names: str) -> None:
        absent = [name for name in names if name not in tensors]
        if absent:
            raise SeesayError(f"the text encoder's file has no {absent[0]}", allowed="a BERT in safetensors")
        found = torch.cat([tensors[name].float() for name in names])[: len(target)]
        if found.shape != target.shape:
            raise SeesayError(f"{names[0]} is {tuple(found.shape)} in the file, {tuple(target.shape)} in the model")
        target.copy_(found)

    take(encoder.embedding.weight, "embeddings.word_embeddings.weight")
    take(encoder.position, "embeddings.position_embeddings.weight")
    # All sentences are of one kind, so the vector of that kind is part of every position.
    kind = torch.zeros(2, encoder.position.shape[1])
    take(kind, "embeddings.token_type_embeddings.weight")
    encoder.position.add_(kind[0])
    _take_both(take, encoder.norm, "embeddings.LayerNorm")
    for number, block in enumerate(encoder.blocks):
        assert isinstance(block, Block)
        prefix = f"encoder.layer.{number}"
        parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
        take(block.attend.weight, *(f"{part}.weight" for part in parts))
        take(block.attend.bias, *(f"{part}.bias" for part in parts))
        _take_both(take, block.mix, f"{prefix}.attention.output.dense")
        _take_both(take, block.attend_norm, f"{prefix}.attention.output.LayerNorm")
        _take_both(take, block.widen, f"{prefix}.intermediate.dense")
        _take_both(take, block.narrow, f"{prefix}.output.dense")
        _take_both(take, block.norm, f"{prefix}.output.LayerNorm")


def _take_both(take: Callable[..., None], module: nn.Linear | nn.LayerNorm, name: str) -> None:
    take(module.weight, f"{name}.weight")
    take(module.bias, f"{name}.bias")
