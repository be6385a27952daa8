"""The text transformer: masked positions do not count, and published tensors land where they belong."""

import pytest
import torch
from torch import nn

from seesay.errors import SeesayError
from seesay.layers.transformer import TextEncoder, read_bert

DIM, INNER, HEADS = 8, 16, 2


def published(n_layers: int = 2, n_subwords: int = 11, longest: int = 9, seed: int = 0) -> dict[str, torch.Tensor]:
    """A BERT of random weights under the names of its published files."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.3

    tensors = {
        "embeddings.word_embeddings.weight": draw(n_subwords, DIM),
        "embeddings.position_embeddings.weight": draw(longest, DIM),
        "embeddings.token_type_embeddings.weight": draw(2, DIM),
        "embeddings.LayerNorm.weight": 1 + draw(DIM),
        "embeddings.LayerNorm.bias": draw(DIM),
    }
    for number in range(n_layers):
        prefix = f"encoder.layer.{number}"
        shapes = {
            "attention.self.query": (DIM, DIM),
            "attention.self.key": (DIM, DIM),
            "attention.self.value": (DIM, DIM),
            "attention.output.dense": (DIM, DIM),
            "intermediate.dense": (INNER, DIM),
            "output.dense": (DIM, INNER),
        }
        for name, shape in shapes.items():
            tensors |= {f"{prefix}.{name}.weight": draw(*shape), f"{prefix}.{name}.bias": draw(shape[0])}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            tensors |= {f"{prefix}.{name}.weight": 1 + draw(DIM), f"{prefix}.{name}.bias": draw(DIM)}
    return tensors


def encoder(n_layers: int = 2) -> TextEncoder:
    return TextEncoder(11, DIM, n_layers, HEADS, INNER, 9).eval()


def by_torch(tensors: dict[str, torch.Tensor], numbers: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The same network out of torch's own layers."""
    length = numbers.shape[1]
    x = tensors["embeddings.word_embeddings.weight"][numbers]
    x = (
        x
        + tensors["embeddings.position_embeddings.weight"][:length]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    x = nn.functional.layer_norm(
        x, (DIM,), tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"], 1e-12
    )
    for number in range(2):
        prefix = f"encoder.layer.{number}"
        layer = nn.TransformerEncoderLayer(
            DIM, HEADS, INNER, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
        )
        own = [tensors[f"{prefix}.attention.self.{part}.weight"] for part in ("query", "key", "value")]
        biases = [tensors[f"{prefix}.attention.self.{part}.bias"] for part in ("query", "key", "value")]
        layer.load_state_dict({
            "self_attn.in_proj_weight": torch.cat(own), "self_attn.in_proj_bias": torch.cat(biases),
            "self_attn.out_proj.weight": tensors[f"{prefix}.attention.output.dense.weight"],
            "self_attn.out_proj.bias": tensors[f"{prefix}.attention.output.dense.bias"],
            "linear1.weight": tensors[f"{prefix}.intermediate.dense.weight"],
            "linear1.bias": tensors[f"{prefix}.intermediate.dense.bias"],
            "linear2.weight": tensors[f"{prefix}.output.dense.weight"],
            "linear2.bias": tensors[f"{prefix}.output.dense.bias"],
            "norm1.weight": tensors[f"{prefix}.attention.output.LayerNorm.weight"],
            "norm1.bias": tensors[f"{prefix}.attention.output.LayerNorm.bias"],
            "norm2.weight": tensors[f"{prefix}.output.LayerNorm.weight"],
            "norm2.bias": tensors[f"{prefix}.output.LayerNorm.bias"],
        })  # fmt: skip
        x = layer(x, src_key_padding_mask=~mask)
    return x


def test_a_published_bert_computes_what_torchs_own_layers_compute() -> None:
    tensors, mine = published(), encoder()
    read_bert(mine, tensors)
    numbers = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 0, 0]])
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    with torch.no_grad():
        torch.testing.assert_close(mine(numbers, mask)[mask], by_torch(tensors, numbers, mask)[mask])


def test_what_is_padded_does_not_count() -> None:
    mine = encoder()
    read_bert(mine, published())
    short = mine(torch.tensor([[1, 2, 3]]), torch.ones(1, 3, dtype=torch.bool))
    padded = mine(torch.tensor([[1, 2, 3, 9, 4]]), torch.tensor([[True, True, True, False, False]]))
    torch.testing.assert_close(padded[:, :3], short)


def test_fewer_layers_are_the_first_ones() -> None:
    mine = encoder(1)
    read_bert(mine, published())
    torch.testing.assert_close(
        mine.blocks[0].mix.weight.data, published()["encoder.layer.0.attention.output.dense.weight"]
    )


def test_a_missing_or_misshapen_tensor_is_named() -> None:
    tensors = published()
    del tensors["encoder.layer.1.output.dense.bias"]
    with pytest.raises(SeesayError, match=r"has no encoder\.layer\.1\.output\.dense\.bias"):
        read_bert(encoder(), tensors)
    wide = published() | {"encoder.layer.0.intermediate.dense.weight": torch.zeros(INNER, DIM + 1)}
    with pytest.raises(SeesayError, match=r"encoder\.layer\.0\.intermediate\.dense\.weight is \(16, 9\)"):
        read_bert(encoder(), wide)
