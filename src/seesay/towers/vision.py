"""Image transformers (ViT, Dosovitskiy et al. 2021) as CLIP, SigLIP and DINOv2 lay them out.

Tensors have the names that CLIP's have in its published files (`seesay.towers.families` renames the others').

A tower gives one vector and a map. With a text tower beside it both lie in the joint space: what is a place of the map
is what the vector would be if this place alone were attended in the end. For CLIP that is the value of the last
attention, projected, without what the class token has gathered (MaskCLIP, Zhou et al. 2022); for SigLIP the attending
head, shown one place. Without a text tower a place of the map is its state after the last norm.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.towers.shapes import LayersShape, VisionShape


def activate(x: Tensor, name: str) -> Tensor:
    """One of `seesay.towers.shapes.ACTIVATIONS`."""
    if name == "quick_gelu":
        return x * torch.sigmoid(1.702 * x)
    return F.gelu(x, approximate="tanh" if name == "gelu_pytorch_tanh" else "none")


class Linear(nn.Linear):
    """As torch's, of all rows as one matrix: for that a graph has an operator that takes the weights as they lie.

    Of more dimensions ONNX Runtime turns all weights around whenever it opens the graph.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(0, -2)).view(*x.shape[:-1], self.out_features)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (Linear(dim, dim) for _ in range(4))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        n, length, dim = x.shape
        query, key, value = (
            part(x).view(n, length, self.heads, dim // self.heads).transpose(1, 2)  # (n, heads, T, dim / heads)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed: Tensor = self.out_proj(attended.transpose(1, 2).reshape(n, length, dim))
        return mixed

    def value(self, x: Tensor) -> Tensor:
        """What each place would get if it attended to itself alone."""
        own: Tensor = self.out_proj(self.v_proj(x))
        return own


class FeedForward(nn.Module):
    def __init__(self, shape: LayersShape) -> None:
        super().__init__()
        self.shape = shape
        self.fc1 = Linear(shape.dim, shape.inner * (2 if shape.gated else 1))
        self.fc2 = Linear(shape.inner, shape.dim)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.fc1(x)
        if self.shape.gated:
            gate, value = inner.chunk(2, dim=-1)
            inner = F.silu(gate) * value
        else:
            inner = activate(inner, self.shape.activation)
        out: Tensor = self.fc2(inner)
        return out


class Layer(nn.Module):
    def __init__(self, shape: LayersShape) -> None:
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(shape.dim, shape.eps)
        self.self_attn = Attention(shape.dim, shape.heads)
        self.layer_norm2 = nn.LayerNorm(shape.dim, shape.eps)
        self.mlp = FeedForward(shape)
        self.scale1, self.scale2 = (nn.Parameter(torch.ones(shape.dim)) if shape.scales else None for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attended: Tensor = self.self_attn(self.layer_norm1(x), mask)
        x = x + (attended if self.scale1 is None else attended * self.scale1)
        widened: Tensor = self.mlp(self.layer_norm2(x))
        return x + (widened if self.scale2 is None else widened * self.scale2)


class Layers(nn.Module):
    """The layers of a tower, one after the other."""

    def __init__(self, shape: LayersShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.n_layers))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x


class _Embeddings(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        dim, has_class = shape.layers.dim, shape.pooling == "class"
        self.antialias = bool(shape.registers)
        self.patch_embedding = nn.Conv2d(3, dim, shape.patch, shape.patch, bias=shape.patch_bias)
        self.position_embedding = nn.Embedding(shape.grid**2 + has_class, dim)
        self.class_embedding = nn.Parameter(torch.zeros(dim)) if has_class else None
        self.registers = nn.Parameter(torch.zeros(shape.registers, dim)) if shape.registers else None

    def forward(self, pixels: Tensor) -> Tensor:
        """From normalised pixels (B, 3, H, W) to states: those without a place first, then the patches row by row."""
        x: Tensor = self.patch_embedding(pixels).flatten(2).transpose(1, 2)  # (B, h · w, D)
        if self.class_embedding is None:
            return x + self.position_embedding.weight
        places = self.position_embedding.weight
        first = (self.class_embedding + places[0]).expand(x.shape[0], 1, -1)
        further = [] if self.registers is None else [self.registers.expand(x.shape[0], -1, -1)]
        return torch.cat([first, *further, x + places[1:]], 1)

    @torch.no_grad()
    def resize(self, grid: int) -> None:
        """Let positions be those of another number of patches, as DINOv2 does it."""
        has_class = int(self.class_embedding is not None)
        places = self.position_embedding.weight
        side = round((len(places) - has_class) ** 0.5)
        if side == grid:
            return
        square = places[has_class:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
        resized = F.interpolate(square, (grid, grid), mode="bicubic", align_corners=False, antialias=self.antialias)
        rows = resized.permute(0, 2, 3, 1).flatten(0, 2)
        resized_places = torch.cat([places[:has_class], rows])
        n, dim = resized_places.shape
        self.position_embedding = nn.Embedding(n, dim, _weight=resized_places)


class _Head(nn.Module):
    """SigLIP's: a learned question attends to all places."""

    def __init__(self, shape: LayersShape) -> None:
        super().__init__()
        self.probe = nn.Parameter(torch.zeros(1, 1, shape.dim))
        self.attention = nn.MultiheadAttention(shape.dim, shape.heads, batch_first=True)
        self.layernorm = nn.LayerNorm(shape.dim, shape.eps)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor) -> Tensor:
        n, _, dim = x.shape
        heads = self.attention.num_heads
        weights, biases = self.attention.in_proj_weight.chunk(3), self.attention.in_proj_bias.chunk(3)
        query, key, value = (
            F.linear(part, weight, bias).view(n, -1, heads, dim // heads).transpose(1, 2)
            for part, weight, bias in zip((self.probe.expand(n, -1, -1), x, x), weights, biases, strict=True)
        )
        attended = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(n, dim)
        return self._finish(self.attention.out_proj(attended))

    def alone(self, x: Tensor) -> Tensor:
        """What it makes of each place as if there were no other: all of its attention is there."""
        weight, bias = self.attention.in_proj_weight.chunk(3)[2], self.attention.in_proj_bias.chunk(3)[2]
        return self._finish(self.attention.out_proj(F.linear(x, weight, bias)))

    def _finish(self, x: Tensor) -> Tensor:
        widened: Tensor = self.mlp(self.layernorm(x))
        return x + widened


class _VisionModel(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        dim, eps = shape.layers.dim, shape.layers.eps
        self.embeddings = _Embeddings(shape)
        self.pre_layrnorm = nn.LayerNorm(dim, eps) if shape.first_norm else None  # spelled so in the published files
        self.encoder = Layers(shape.layers)
        self.post_layernorm = nn.LayerNorm(dim, eps)
        self.head = _Head(shape.layers) if shape.pooling == "head" else None


class VisionTower(nn.Module):
    """Normalised pixels to a map and a vector."""

    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.shape = shape
        self.vision_model = _VisionModel(shape)
        self.visual_projection = Linear(shape.layers.dim, shape.out_dim, bias=False) if shape.out_dim else None

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """The map (B, C, h, w) and the vector (B, D) of pixels (B, 3, H, W)."""
        own = self.vision_model
        x = own.embeddings(pixels)
        if own.pre_layrnorm is not None:
            x = own.pre_layrnorm(x)
        *lower, last = own.encoder.layers
        for layer in lower:
            x = layer(x)
        before, x = x, last(x)
        if own.head is not None:
            states = own.post_layernorm(x)
            vector, places = own.head(states), own.head.alone(states)
        else:
            first = 1 + self.shape.registers
            vector = own.post_layernorm(x[:, 0])
            if self.visual_projection is None:
                places = own.post_layernorm(x[:, first:])
            else:
                assert isinstance(last, Layer)
                places = own.post_layernorm(last.self_attn.value(last.layer_norm1(before[:, first:])))
                vector, places = self.visual_projection(vector), self.visual_projection(places)
        side = pixels.shape[2] // self.shape.patch
        return places.transpose(1, 2).reshape(places.shape[0], -1, side, side), vector
