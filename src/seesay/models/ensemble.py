"""Several matchers together in torch (`seesay.catalogue.ensembles`)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seesay.catalogue.ensembles import Ensemble, Scored, Scores
from seesay.models.base import ImageLike, Matcher
from seesay.models.pretrained import load


def scored_by(model: Matcher, images: Tensor, texts: Any) -> Scored:
    """What a model predicts as a stage of search does, from what its two encoders gave."""
    scores = model.score(images, texts, **model.stage_options).numpy()
    if model.hubness is None:
        return Scored(scores)
    return Scored(scores, model.hubness.of_images(images).numpy(), model.hubness.of_texts(texts).numpy())


@torch.inference_mode()
def match_together(
    ensemble: Ensemble, images: ImageLike | Sequence[ImageLike], sentences: str | Sequence[str]
) -> Scores:
    """Score every sentence against every image: (n_images, n_texts)."""
    models = [load(member.name) for member in ensemble.members]
    return ensemble.join([scored_by(model, *model.encode(images, sentences)) for model in models])
