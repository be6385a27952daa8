"""Which region of its picture each noun phrase of a sentence refers to (HM-LSTM section 3.3)."""

import numpy as np
import torch
from torch import Tensor

from seesay.data.examples import Examples
from seesay.grounding.heat import box_overlaps
from seesay.images.extraction import FeatureTable
from seesay.images.features import Features
from seesay.images.regions import whole_and_grid
from seesay.models.base import without_dropout
from seesay.models.hmlstm import HMLSTM


@torch.inference_mode()
def find_correspondences(
    model: HMLSTM, source: Examples, maps: FeatureTable | None = None, *, n_images: int = 64
) -> tuple[Tensor, Tensor]:
    """The best region of every noun phrase of a source's sentences, and how well it fits: (P,) both.

    Confidences are cosines; one below 0 is none.

    Args:
        maps: The features of the same pictures with their maps. Where they are given a region is chosen by how well it
            fits the part of the picture that is warm for the phrase. The region of the largest cosine is mostly a small
            one that shows what is typical, the head of a dog for "a dog", and misses the rest of it.
        n_images: Pictures at a time.
    """
    assert source.table is not None
    found: list[tuple[Tensor, Tensor]] = []
    starts = np.append(source.first_of, len(source.sentences))
    with without_dropout(model):
        for start in range(0, len(starts) - 1, n_images):
            end = min(start + n_images, len(starts) - 1)
            texts = model.encode_trees(source.sentences[starts[start] : starts[end]])
            own = source.image_of[starts[start] : starts[end]]
            pictures, place = np.unique(own, return_inverse=True)
            regions = model.encode_images(source.table.rows(pictures.tolist()))  # (n, N, D)
            picture = torch.from_numpy(place)[texts.owner]  # (P,)
            warm = None if maps is None else maps.rows(pictures.tolist())
            found.append(choose_regions(model, regions, texts.phrases, picture, warm))
    return torch.cat([region for region, _ in found]), torch.cat([confidence for _, confidence in found])


def choose_regions(
    model: HMLSTM, regions: Tensor, phrases: Tensor, picture: Tensor, maps: Features | None = None
) -> tuple[Tensor, Tensor]:
    """The region of its picture that each phrase chooses, and the confidence in it: (P,) both.

    Args:
        regions: (n, N, D) of `model.boxes` in each picture.
        phrases: (P, D).
        picture: (P,) which of the pictures.
        maps: The pictures' features with their maps, where regions are chosen by heat.
    """
    cosines = torch.bmm(regions[picture], phrases.unsqueeze(2)).squeeze(2)  # (P, N)
    region = cosines.argmax(1)
    if maps is not None and maps.map is not None and len(picture):
        _, height, width, _ = maps.map.shape
        cells = model.encode_regions(maps, whole_and_grid(height, width)[1:])  # (n, h · w, D)
        heat = torch.bmm(cells[picture], phrases.unsqueeze(2)).view(-1, height, width)
        region = torch.from_numpy(box_overlaps(heat.double().numpy(), model.boxes).argmax(1))
    return region, cosines.gather(1, region.unsqueeze(1)).squeeze(1).clamp(min=0)
