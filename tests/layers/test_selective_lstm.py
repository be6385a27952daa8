"""Pairs in blocks: the same scores as pair by pair, and the equations as they stand in the paper."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from seesay.layers.attention import Side
from seesay.layers.selective_lstm import SelectiveLSTM

KINDS: list[dict[str, Any]] = [
    {},
    {"form": "paper"},
    {"similarity": "sum"},
    {"similarity": "sum", "compare_contexts": False},
    {"compare_contexts": False},
    {"variant": "att"},
    {"variant": "ctx"},
    {"variant": "mean"},
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())) or "full")


def build(**kind: Any) -> SelectiveLSTM:
    torch.manual_seed(3)
    layer = SelectiveLSTM(8, 5, 4, 4, 3, **kind)
    for weight in layer.parameters():  # large enough for attention to differ from an even one
        torch.nn.init.normal_(weight, std=2.0)
    return layer


def make_sides(n_images: int = 5, n_texts: int = 37) -> tuple[Side, Side]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 8, (n_texts,), generator=generator)
    mask = torch.arange(7) < lengths.unsqueeze(1)
    images = Side(torch.randn(n_images, 6, 8, generator=generator), torch.randn(n_images, 8, generator=generator))
    texts = Side(torch.randn(n_texts, 7, 8, generator=generator), torch.randn(n_texts, 8, generator=generator), mask)
    return images, texts


def compare_groups(layer: SelectiveLSTM, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (F.normalize(x, dim=0) * F.normalize(y, dim=0)).view(layer.n_groups, -1).sum(1) * layer.n_groups


def score_alone(layer: SelectiveLSTM, image: Side, text: Side) -> torch.Tensor:
    """One picture and one sentence by the letter of the equations: (D,) vectors and loops."""
    a, m, w, n = image.parts[0], image.context[0], text.parts[0, : int(text.mask.sum())], text.context[0]
    h = c = torch.zeros(layer.hidden)
    for _ in range(layer.n_steps):
        if layer.attends:
            sides = ((layer.image_attention, a, m), (layer.text_attention, w, n))
            weights = []
            for attention, parts, context in sides:
                terms = attention.W_a(parts)
                of_context = attention.W_m(context) if attention.W_m is not None else None
                if attention.is_joint:
                    together = terms + attention.W_h(h) + (0 if of_context is None else of_context)
                    logits = attention.w_p(together.sigmoid())
                else:
                    logits = attention.w_p(terms.sigmoid() + of_context.sigmoid() + attention.W_h(h).sigmoid())
                weights.append(logits[:, 0].softmax(0))
            x, y = weights[0] @ a, weights[1] @ w
        else:
            x, y = (m, n) if layer.has_context else (a.mean(0), w.mean(0))
        if layer.is_product:
            s = compare_groups(layer, x, y)
            if layer.compares_contexts:
                s = torch.cat([compare_groups(layer, m, n), layer.gain * s])
        else:
            inside = layer.W_image(x) + layer.W_text(y)
            if layer.compares_contexts:
                inside = inside + layer.W_context[0](m) + layer.W_context[1](n)
            s = inside.sigmoid()
        i, f, g, o = (layer.W_s(s) + layer.W_h(h)).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return layer.w_hs(layer.W_hh(h).sigmoid())[0]


@each_kind
@torch.inference_mode()
def test_blocks_score_as_the_equations_do_pair_by_pair(kind: dict[str, Any]) -> None:
    layer, (images, texts) = build(**kind), make_sides()
    singles = [[side[place : place + 1] for place in range(len(side))] for side in (images, texts)]
    alone = torch.tensor([[score_alone(layer, image, text) for text in singles[1]] for image in singles[0]])
    assert alone.std() > 1e-3
    for n_pairs in (1, 3, 50, 1000):
        torch.testing.assert_close(layer.score(images, texts, n_pairs=n_pairs), alone, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer.look(images, texts).scores, alone, rtol=1e-4, atol=1e-5)


def test_threads_score_what_one_thread_scores() -> None:
    layer, (images, texts) = build(), make_sides()
    n_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = layer.score(images, texts)
        torch.set_num_threads(2)
        torch.testing.assert_close(layer.score(images, texts), alone)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(n_threads)


@each_kind
def test_padding_is_never_looked_at(kind: dict[str, Any]) -> None:
    layer, (images, texts) = build(**kind), make_sides()
    looked = layer.look(images, texts)
    assert (looked.words[(~texts.mask).expand(looked.words.shape)] == 0).all()
    ones = torch.ones(looked.words.shape[:-1])
    torch.testing.assert_close(looked.words.sum(-1), ones)
    torch.testing.assert_close(looked.regions.sum(-1), ones)


def test_what_stands_in_the_padding_changes_nothing() -> None:
    layer, (images, texts) = build(), make_sides()
    noisy = Side(texts.parts.masked_fill(~texts.mask.unsqueeze(-1), 1e3), texts.context, texts.mask)
    torch.testing.assert_close(layer.score(images, noisy), layer.score(images, texts))


def test_the_published_attention_is_the_same_at_every_step_and_the_joint_one_is_not() -> None:
    images, texts = make_sides()
    printed, joint = (build(form=form).look(images, texts) for form in ("paper", "joint"))
    for later in (1, 2):
        torch.testing.assert_close(printed.regions[later], printed.regions[0])
        torch.testing.assert_close(printed.words[later], printed.words[0])
        assert (joint.regions[later] - joint.regions[later - 1]).abs().max() > 1e-2
        assert (joint.words[later] - joint.words[later - 1]).abs().max() > 1e-2


def test_gradients_reach_every_weight_and_both_sides() -> None:
    layer, (images, texts) = build(), make_sides(2, 3)
    for tensor in (images.parts, images.context, texts.parts, texts.context):
        tensor.requires_grad_()
    looked = layer.look(images, texts)
    (looked.scores.square().sum() + layer.unevenness(looked, texts)).backward()
    for name, weight in layer.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().max() > 0, name
    for tensor in (images.parts, images.context, texts.parts, texts.context):
        assert tensor.grad.abs().max() > 0


def test_an_untrained_layer_that_begins_as_a_cosine_ranks_as_one() -> None:
    torch.manual_seed(0)
    layer = SelectiveLSTM(64, 32, 8, 16, 3, variant="ctx")
    layer.initialise_as_cosine()
    images, texts = Side(torch.zeros(9, 0, 64), torch.randn(9, 64)), Side(torch.zeros(9, 1, 64), torch.randn(9, 64))
    cosine = F.normalize(images.context, dim=1) @ F.normalize(texts.context, dim=1).T
    scores = layer.score(images, texts)
    together = torch.corrcoef(torch.stack([cosine.flatten(), scores.flatten()]))[0, 1]
    assert together > 0.98


def test_the_untrained_two_way_layer_learns_from_a_hinge_at_once() -> None:
    """Eight kinds of pictures, each with its kind of words: a few steps tell which belong together."""
    torch.manual_seed(0)
    layer = SelectiveLSTM(64, 16, 4, 16, 3, similarity="sum", compare_contexts=False)
    regions, words = (F.normalize(torch.randn(8, 5, 64), dim=2) for _ in range(2))
    images, texts = Side(regions, F.normalize(regions.mean(1), dim=1)), Side(words, F.normalize(words.mean(1), dim=1))
    optimiser = torch.optim.AdamW(layer.parameters(), 1e-2)
    costs = []
    for _ in range(30):
        scores = layer.look(images, texts).scores
        matched = scores.diagonal()
        rivals = torch.stack([0.2 + scores - matched, 0.2 + scores - matched.unsqueeze(1)]).clamp(min=0)
        cost = rivals.masked_fill(torch.eye(8, dtype=torch.bool), 0).sum() / 8
        optimiser.zero_grad()
        cost.backward()
        optimiser.step()
        costs.append(float(cost.detach()))
    equal = 0.2 * 2 * 7  # what it costs to score all pairs the same
    assert costs[-1] < 0.1 * equal


def test_no_pictures_or_no_sentences_have_no_scores() -> None:
    layer, (images, texts) = build(), make_sides()
    assert layer.score(images[:0], texts).shape == (0, 37)
    assert layer.score(images, texts[torch.tensor([], dtype=torch.int64)]).shape == (5, 0)
