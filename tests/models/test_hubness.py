"""Hubness: by hand, against all training vectors one by one, and on disk."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from seesay.errors import SeesayError
from seesay.models.hubness import Clusters, Hubness, estimate_hubness, find_hubness, read_hubness


def directions(n: int, seed: int, dim: int = 8) -> torch.Tensor:
    return F.normalize(torch.randn(n, dim, generator=torch.Generator().manual_seed(seed)), dim=1)


def test_it_is_the_softened_largest_product_with_the_centres_of_the_other_side() -> None:
    images = Clusters(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0.25, 0.75]))
    texts = Clusters(torch.tensor([[-1.0, 0.0]]), torch.ones(1))
    found = Hubness(images, texts, 0.5)
    vector = torch.tensor([[0.6, 0.8]])
    by_hand = 0.5 * torch.log(0.25 * torch.tensor(1.2).exp() + 0.75 * torch.tensor(1.6).exp())
    torch.testing.assert_close(found.of_texts(vector), by_hand.unsqueeze(0))
    torch.testing.assert_close(found.of_images(vector), torch.tensor([-0.6]))


def test_with_a_cluster_for_each_vector_it_is_that_of_all_of_them() -> None:
    images, texts, asked = directions(30, 0), directions(50, 1), directions(4, 2)
    found = estimate_hubness(images, texts[torch.arange(100) % 50], 0.1, n=64)  # each sentence is there twice
    expected = 0.1 * ((asked @ texts.T / 0.1).logsumexp(1) - torch.tensor(50.0).log())
    torch.testing.assert_close(found.of_images(asked), expected)


def test_centres_keep_which_vectors_are_hubs_and_more_of_them_come_closer_to_all_vectors_from_below() -> None:
    crowd = F.normalize(directions(4, 0).repeat_interleave(200, 0) + 0.8 * directions(800, 3), dim=1)
    asked = torch.cat([directions(4, 0), -directions(4, 0)])  # four amid the crowd, four far from it
    few, more, all_ = (estimate_hubness(crowd, crowd, 0.1, n).of_texts(asked) for n in (8, 64, 800))
    for found in (few, more, all_):
        assert found[:4].min() > found[4:].max()
    assert (few < all_).all()  # the mean of exponentials is above that of the mean
    assert (all_ - more).abs().sum() < (all_ - few).abs().sum()


def test_a_file_keeps_it_but_for_the_last_digits(tmp_path: Path) -> None:
    found = estimate_hubness(directions(9, 0), directions(9, 1), 0.05)
    found.write(tmp_path / "hubness.safetensors")
    again = read_hubness(tmp_path / "hubness.safetensors", 8)
    assert again.temperature == pytest.approx(0.05)
    torch.testing.assert_close(again.of_images(directions(5, 2)), found.of_images(directions(5, 2)), atol=1e-3, rtol=0)


def test_a_file_that_is_damaged_or_about_something_else_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "hubness.safetensors"
    estimate_hubness(directions(9, 0), directions(9, 1), 0.05).write(path)
    with pytest.raises(SeesayError, match=r"hubness\.safetensors does not fit vectors of 16 numbers"):
        read_hubness(path, 16)
    path.write_bytes(b"no tensors")
    with pytest.raises(SeesayError, match=r"cannot read .*hubness\.safetensors"):
        read_hubness(path, 8)
    with pytest.raises(SeesayError, match=r"cannot read .*missing"):
        read_hubness(tmp_path / "missing", 8)


def test_a_folder_with_the_older_name_of_the_file_still_opens(tmp_path: Path) -> None:
    assert find_hubness(tmp_path) is None
    older = tmp_path / "popularity.safetensors"
    estimate_hubness(directions(9, 0), directions(9, 1), 0.05).write(older)
    assert find_hubness(tmp_path) == older
    estimate_hubness(directions(9, 0), directions(9, 1), 0.05).write(tmp_path / "hubness.safetensors")
    assert find_hubness(tmp_path) == tmp_path / "hubness.safetensors"
