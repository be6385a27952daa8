"""The shapes of two towers: one that sees, one that reads. All numbers that their tensors follow from."""

from dataclasses import dataclass, field

from seesay.errors import SeesayError
from seesay.system.tables import key

ACTIVATIONS = ("quick_gelu", "gelu", "gelu_pytorch_tanh")
WIDEST, DEEPEST, LONGEST, LARGEST_SIDE, MOST_SUBWORDS = 16_384, 128, 1_024, 1_024, 1_000_000
"""Of numbers in a state, layers, tokens of a sentence, pixels of a side, and subwords: far above published ones."""


@dataclass(frozen=True)
class LayersShape:
    """The layers of a transformer, which normalises before attention and before its feed-forward layer.

    Attributes:
        dim: Of its states.
        inner: Width of its feed-forward layers.
        eps: Of its layer norms.
        scales: Whether what a layer adds is scaled by learned numbers (DINOv2).
        gated: Whether feed-forward layers are SwiGLU (the largest DINOv2).
    """

    dim: int = field(metadata={"at_least": 1, "at_most": WIDEST})
    n_layers: int = field(metadata={"at_least": 1, "at_most": DEEPEST})
    heads: int = field(metadata={"at_least": 1, "at_most": WIDEST})
    inner: int = field(metadata={"at_least": 1, "at_most": 8 * WIDEST})
    activation: str = key("gelu", one_of=ACTIVATIONS)
    eps: float = key(1e-5, above=0, at_most=1e-2)
    scales: bool = False
    gated: bool = False

    def __post_init__(self) -> None:
        if self.dim % self.heads:
            raise SeesayError(
                f"states of {self.dim} numbers cannot be shared by {self.heads} heads", allowed="a divisor"
            )


@dataclass(frozen=True)
class VisionShape:
    """A tower that sees.

    Attributes:
        layers: Of its transformer.
        patch: Side of a patch in pixels.
        grid: Patches along a side, as its positions were learned.
        pooling: Where the one vector comes from: the state of a `class` token, or a `head` that attends (SigLIP).
        first_norm: Whether states are normalised before the first layer (CLIP).
        patch_bias: Whether the patch embedding has a bias.
        registers: Further tokens without a place (DINOv2 with registers).
        out_dim: Of the joint space; 0 where nothing is projected.
    """

    layers: LayersShape
    patch: int = field(metadata={"at_least": 1, "at_most": 256})
    grid: int = field(metadata={"at_least": 1, "at_most": LARGEST_SIDE})
    pooling: str = key("class", one_of=("class", "head"))
    first_norm: bool = False
    patch_bias: bool = True
    registers: int = key(0, at_least=0, at_most=256)
    out_dim: int = key(0, at_least=0, at_most=WIDEST)

    @property
    def dim(self) -> int:
        """Of the vector that it makes of an image."""
        return self.out_dim or self.layers.dim


@dataclass(frozen=True)
class TextShape:
    """A tower that reads.

    Attributes:
        layers: Of its transformer.
        n_subwords: Rows of its embedding.
        longest: Tokens of a sentence that are read.
        causal: Whether a token attends to those before it only (CLIP).
        end: The token whose state is the sentence (CLIP); -1 takes the one of the highest number, as older
            configurations mean it, and None the last place of the row (SigLIP).
        out_dim: Of the joint space.
        out_bias: Whether the projection into it has a bias.
    """

    layers: LayersShape
    n_subwords: int = field(metadata={"at_least": 1, "at_most": MOST_SUBWORDS})
    longest: int = field(metadata={"at_least": 1, "at_most": LONGEST})
    out_dim: int = field(metadata={"at_least": 1, "at_most": WIDEST})
    causal: bool = True
    end: int | None = None
    out_bias: bool = False
