"""The text transformers of CLIP and SigLIP; tensors have the names that they have in the published files."""

import torch
from torch import Tensor, nn

from seesay.towers.shapes import TextShape
from seesay.towers.vision import Layers


class _Embeddings(nn.Module):
    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(shape.n_subwords, shape.layers.dim)
        self.position_embedding = nn.Embedding(shape.longest, shape.layers.dim)


class _TextModel(nn.Module):
    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        dim = shape.layers.dim
        self.embeddings = _Embeddings(shape)
        self.encoder = Layers(shape.layers)
        self.final_layer_norm = nn.LayerNorm(dim, shape.layers.eps)
        self.head = nn.Linear(dim, shape.out_dim) if shape.out_bias else None


class TextTower(nn.Module):
    """Rows of token numbers to vectors of the joint space."""

    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        self.shape = shape
        self.text_model = _TextModel(shape)
        self.text_projection = None if shape.out_bias else nn.Linear(shape.layers.dim, shape.out_dim, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """(n, T) → (n, D). What stands behind the end token of a causal tower changes nothing."""
        own = self.text_model
        length = tokens.shape[1]
        x = own.embeddings.token_embedding(tokens) + own.embeddings.position_embedding.weight[:length]
        mask = None
        if self.shape.causal:
            places = torch.arange(length, device=tokens.device)
            mask = places <= places.unsqueeze(1)  # (T, T)
        x = own.final_layer_norm(own.encoder(x, mask))
        if self.shape.end is None:
            pooled = x[:, -1]
        else:
            ends = tokens if self.shape.end < 0 else (tokens == self.shape.end).long()
            place = ends.argmax(1)
            pooled = x.gather(1, place[:, None, None].expand(-1, 1, x.shape[2]))[:, 0]
        vector: Tensor = self.text_projection(pooled) if own.head is None else own.head(pooled)  # type: ignore[misc]
        return vector
