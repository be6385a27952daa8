"""The eye and the ear: a convolutional network and a text transformer that learn one space together.

Two towers trained contrastively, as in ConVIRT (Zhang et al. 2020) and CLIP (Radford et al. 2021), at a size that two
cores can train. The eye is EfficientNet-Lite2: its lower half stays that of ImageNet, and what it makes of a photo is
kept on disk (`seesay.images.activations`); its upper half learns. The ear is all-MiniLM-L6-v2, a BERT of six layers
that already knows English (Wang et al. 2020; Reimers & Gurevych 2019); its upper layers learn.

A photo is one linear layer on the mean of the eye's map, a sentence one linear layer on the mean of the ear's states;
both are scaled to unit length. The eye's ImageNet classifier learns along, so that it forgets less of what it knew.
With `reads_both` the photo's layer reads the vector of ImageNet's network too, which the same lower half gives.

Two embeddings of which one sees through a network of ImageNet's classes and reads whole words make other mistakes. With
`beside` the vector is this model's and that of a joint embedding (`vse`) side by side, so that its cosine is the
weighted mean of both. Both look through the same lower half: a photo passes it once. With a bank of sentences a photo's
vector has one more number, its hubness, and a sentence's what that counts for: their product is the corrected score.
For words and short phrases it counts for less (`seesay.settings.short_texts`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.catalogue.weights import UPPER, short_texts_of, weights_digest
from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.halves import split_network
from seesay.images.state_dicts import unpack_state
from seesay.layers.hub_bank import HubBank
from seesay.layers.packing import pack_state
from seesay.layers.pooling import masked_mean
from seesay.layers.transformer import TextEncoder, read_bert
from seesay.models.base import ImageLike, Matcher
from seesay.models.eye.parts import load_beside, lower_network
from seesay.models.eye.upper import Eye, upper_half
from seesay.models.registry import register_model
from seesay.models.starting import find_start, fit_tensors, read_data, read_family
from seesay.settings.eye_ear import EyeEarConfig as EyeEarConfig
from seesay.settings.short_texts import ShortTexts
from seesay.text.subwords import LONGEST, Subwords
from seesay.text.tokenizer import Tokenizer

N_READ = 64
"""Sentences that the ear reads at once."""


@register_model("eye-ear")
class EyeEar(Eye, Matcher):
    """Photos and sentences as unit vectors of one space, from the lower half's activations and from subwords."""

    n_dev_images = 250
    is_embedding = True
    config_type = EyeEarConfig
    tokenizer_type = Subwords
    learning_task = "eye-ear"
    stage = "first"
    graph_kinds = ("upper", "pooled", "texts", "score")
    tuning = ("vectors", "short")
    starting_point = (
        "Its sentence encoder started from all-MiniLM-L6-v2 (Apache-2.0), which had learned from a billion pairs of "
        "sentences. Among them are captions of Flickr30K and COCO, those of Flickr8K's test photos with them: "
        "sentences, never photos. So its figures are not to be compared with those of models that have not read them, "
        "a paper's least of all. Its image network started from EfficientNet-Lite2 with ImageNet's weights "
        "(Apache-2.0), whose lower half stays as it was."
    )
    weak_points = (
        "Counting, left and right, and who does what to whom: an image is one vector.",
        "What is small: the network's map has nine by nine cells.",
        "Text inside images, named people and places, and words that no caption taught.",
        "People of kinds that Flickr's photos of 2004–2014 show rarely; the captions carry their writers' guesses "
        "about age and gender.",
    )
    config: EyeEarConfig

    def __init__(self, config: EyeEarConfig, tokenizer: Tokenizer, features: FeatureSpec) -> None:
        super().__init__(config, tokenizer, features)
        backbone = lower_network(config, features).load_backbone()
        if not isinstance(backbone.classifier, nn.Linear):
            raise SeesayError(f"{features.backbone} has no ImageNet classes to keep", allowed="an efficientnet-lite")
        if (n := len(tokenizer)) != config.n_subwords:
            what = f"the tokenizer has {n} subwords, config.n_subwords is {config.n_subwords}"
            raise SeesayError(what, hint=f"--set config.n_subwords={n}")
        self.upper = upper_half(backbone, learns=config.learns_eye)
        self.classifier: nn.Linear | None = backbone.classifier.requires_grad_(config.learns_eye)
        self.ear = TextEncoder(config.n_subwords, config.text_dim, config.n_layers, config.heads, config.inner, LONGEST)
        if config.frozen_layers:
            for part in (self.ear.embedding, self.ear.norm, *self.ear.blocks[: config.frozen_layers]):
                part.requires_grad_(False)
            self.ear.position.requires_grad_(False)
        self.project = nn.Linear(config.image_dim * (1 + config.reads_both), config.dim)
        self.project_text = nn.Linear(config.text_dim, config.dim)
        self.log_temperature = nn.Parameter(torch.tensor(config.temperature).log())
        self.image_dropout = nn.Dropout(config.image_dropout)
        self.text_dropout = nn.Dropout(config.text_dropout)
        dim = self.view_dim_for(config) - bool(config.n_bank)
        self.bank = HubBank(config.n_bank, dim, config.bank_dim, config.hub_temperature) if config.n_bank else None
        if config.packed:
            self.classifier = None
            pack_state(self, [name for name, weight in self.named_parameters() if weight.ndim > 1])
        self.beside = load_beside(config.beside, config.beside_dim, features) if config.beside else None

    def initialise(self, seed: int) -> None:
        """Start both halves from weights of this family, or the ear from a text transformer, the eye from ImageNet."""
        from safetensors.torch import load_file

        start = find_start(self.config.start_from)
        tensors = load_file(start / "model.safetensors")
        if read_family(start) != self.family:
            if self.config.on_vectors:
                raise SeesayError(f"config.start_from is {self.config.start_from!r}", allowed="weights of an eye")
            read_bert(self.ear, tensors)
            return
        wanted = self.state_dict()
        taken = {name: part.float() for name, part in unpack_state(tensors, wanted).items()}
        self.load_state_dict(fit_tensors(taken, wanted) if self.config.on_vectors else taken)  # from one as it ships

    @property
    def rate_scales(self) -> Mapping[str, float]:
        """Parts that learn at a share of the recipe's rate: those that come trained."""
        eye, ear = self.config.eye_rate, self.config.ear_rate
        return {"upper": eye, "classifier": eye, "ear": ear}

    @property
    def shared_parts(self) -> dict[str, tuple[str, ...]]:
        return {self.config.beside: ("beside",)} if self.config.beside else {}

    @property
    def temperature(self) -> float:
        return float(self.log_temperature.detach().exp())

    @property
    def subwords(self) -> Subwords:
        """The tokenizer."""
        assert isinstance(self.tokenizer, Subwords)
        return self.tokenizer

    @property
    def caption_words(self) -> Tokenizer:
        """Those of the embedding that stands beside it, which has counted them: subwords spell any word."""
        return self.tokenizer if self.beside is None else self.beside.tokenizer

    @classmethod
    def earlier_data(cls, config: EyeEarConfig) -> list[dict[str, Any]]:
        return read_data(find_start(config.start_from))

    @classmethod
    def tokenizer_for(cls, config: EyeEarConfig) -> Subwords:
        return Subwords.read(find_start(config.start_from) / Subwords.file_name)

    @classmethod
    def task_for(cls, config: EyeEarConfig) -> str:
        return "ear" if config.on_vectors else cls.learning_task

    @classmethod
    def outputs_for(cls, config: EyeEarConfig) -> tuple[str, ...]:
        both = ("pooled", "lower") if config.beside or config.reads_both else ("lower",)
        return ("pooled",) if config.on_vectors else both

    @classmethod
    def view_dim_for(cls, config: EyeEarConfig) -> int:
        return config.dim + (config.beside_dim if config.beside else 0) + bool(config.n_bank)

    @property
    def pooled_spec(self) -> FeatureSpec | None:
        """The network whose vectors `encode_pooled` takes; None where this eye is not the one that others look through.

        Its features lie in the cache as soon as another model has been learned on it or measured.
        """
        spec = FeatureSpec("eye-imagenet" if self.beside else "eye", self.feature_spec.size, self.feature_spec.crop)
        own = weights_digest(self.weights.folder, UPPER) if self.weights else ""
        return spec if spec.digest == own else None

    @cached_property
    def _frozen_upper(self) -> nn.Sequential:
        """From activations to the vector of the network as it was, which the embedding beside this one reads."""
        backbone = self.feature_spec.load_backbone()
        return nn.Sequential(split_network(backbone)[1], backbone.head)

    def features(self, images: Sequence[ImageLike]) -> Features:
        lower = self.activations(images)
        if self.outputs == ("lower",):
            return Features.of_lower(lower)
        with torch.inference_mode():
            return Features(self._frozen_upper(lower.float().permute(0, 3, 1, 2)), lower=lower)

    def encode_images(self, features: Features) -> Tensor:
        if features.lower is None:
            if features.pooled.shape[1] != 2 * self.config.image_dim:  # of ImageNet's network alone
                raise ValueError("these features hold no activations: ask for the output 'lower'")
            return self.encode_pooled(features.pooled[:, : self.pooled_dim])
        seen = self.feature_map(features.lower).mean((2, 3))
        return self.encode_pooled(torch.cat([seen, features.pooled], 1)[:, : self.pooled_dim])

    @property
    def pooled_dim(self) -> int:
        """C of the eye's vectors; 2 C where those of ImageNet's network stand beside them."""
        return self.config.image_dim * (2 if self.config.beside or self.config.reads_both else 1)

    def encode_pooled(self, pooled: Tensor) -> Tensor:
        """What `encode_images` gives, from vectors (n, `pooled_dim`).

        These are the vectors of the networks `eye` and `eye-imagenet` (`seesay.images.eye`): whoever sees through them
        has no need to look again.
        """
        vectors = self.embed_images(pooled[:, : self.project.in_features])
        if self.beside is not None:
            of_imagenet = pooled[:, self.config.image_dim :]
            vectors = self.stand_beside(vectors, self.beside.encode_images(Features(of_imagenet)))
        if self.bank is None:
            return vectors
        return torch.cat([vectors, self.bank(vectors).unsqueeze(1) - self.config.hub_mean], 1)

    def stand_beside(self, own: Tensor, other: Tensor) -> Tensor:
        """Both vectors in one of unit length, whose cosine is the weighted mean of theirs."""
        weight = self.config.beside_weight
        return torch.cat([own * (1 - weight) ** 0.5, other * weight**0.5], 1)

    def embed_images(self, pooled: Tensor) -> Tensor:
        """Unit vectors (n, dim) of the eye's vectors (n, C), or with `reads_both` of both networks' (n, 2 C)."""
        return F.normalize(self.project(self.image_dropout(pooled)), dim=1)

    def encode_texts(self, sentences: Sequence[str]) -> Tensor:
        if not sentences:  # a process whose share of a small batch is nothing
            return self.project_text.weight.new_zeros(0, self.view_dim)
        # Sentences of like length go together, as a batch is padded to its longest.
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
        pooled = torch.cat([
            self._read([sentences[place] for place in order[start : start + N_READ]])
            for start in range(0, len(order), N_READ)
        ])[torch.tensor(order).argsort()]  # fmt: skip
        own = self.embed_texts(pooled)
        both = own if self.beside is None else self.stand_beside(own, self.beside.encode_texts(sentences))
        texts = self._correct(both)
        if self._short is not None and self.bank is not None:
            texts[:, -1] *= torch.from_numpy(self._short.shares_of(sentences))
        return texts

    @cached_property
    def _short(self) -> ShortTexts | None:
        return short_texts_of(self.weights)

    def _correct(self, texts: Tensor) -> Tensor:
        """Sentences with what the hubness of a photo counts for."""
        return texts if self.bank is None else F.pad(texts, (0, 1), value=-self.config.hub_weight)

    def _read(self, sentences: Sequence[str]) -> Tensor:
        return self._pool(*map(torch.from_numpy, self.subwords.rows(sentences)))

    def _pool(self, subwords: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training and self.config.ear_in_half):
            states: Tensor = self.ear(subwords, mask)
        return masked_mean(states.float(), mask)

    def embed_texts(self, pooled: Tensor) -> Tensor:
        """Unit vectors (n, dim) of means (n, D) of the ear's states."""
        return F.normalize(self.project_text(self.text_dropout(pooled)), dim=1)

    def text_inputs(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """What `encode_inputs` takes, by name and in order: sentences as numbers, before any weights."""
        subwords, mask = map(torch.from_numpy, self.subwords.rows(sentences))
        if self.beside is None:
            return {"subwords": subwords, "mask": mask}
        words, lengths = self.beside.word_rows(sentences)
        return {"subwords": subwords, "mask": mask, "words": words, "lengths": lengths}

    def encode_inputs(self, subwords: Tensor, mask: Tensor, *beside: Tensor) -> Tensor:
        """What `encode_texts` gives, from `text_inputs`."""
        own = self.embed_texts(self._pool(subwords, mask))
        return self._correct(own if self.beside is None else self.stand_beside(own, self.beside.encode_words(*beside)))

    def score(self, images: Tensor, texts: Tensor) -> Tensor:
        return images @ texts.T
