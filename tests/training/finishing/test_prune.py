"""Words that were seen too rarely go, with their rows; what was tuned for the others does not come along."""

import json
from pathlib import Path

import torch

from seesay.models.pretrained import load, record_table
from seesay.text.vocabulary import SPECIAL, UNKNOWN
from seesay.training.finishing.prune import prune_model, prune_words, save_pruned


def test_the_frequent_words_stay_and_the_others_count_as_unknown(colours_run: Path) -> None:
    words = load(colours_run / "weights").vocabulary
    limit = sorted(words.counts[len(SPECIAL) :])[len(words) // 2]
    pruned = prune_words(words, limit)
    assert len(SPECIAL) < len(pruned) < len(words)
    assert pruned.words == words.words[: len(pruned)]
    assert pruned.counts[UNKNOWN] == words.counts[UNKNOWN] + sum(words.counts[len(pruned) :])
    assert min(pruned.counts[len(SPECIAL) :]) >= limit


def test_a_sentence_of_kept_words_is_read_as_before(colours_run: Path) -> None:
    model = load(colours_run / "weights")
    limit = max(model.vocabulary.counts[len(SPECIAL) :])
    pruned = prune_model(model, limit).eval()
    word = pruned.vocabulary.words[len(SPECIAL)]
    with torch.inference_mode():
        torch.testing.assert_close(pruned.encode_texts([word]), model.encode_texts([word]))


def test_a_folder_is_written_with_its_files_and_without_what_was_tuned(colours_run: Path, tmp_path: Path) -> None:
    model = load(colours_run / "weights")
    assert model.weights is not None
    assert (model.weights.folder / "hubness.safetensors").is_file()
    limit = max(model.vocabulary.counts[len(SPECIAL) :])
    weights = save_pruned(model, prune_model(model, limit), limit, tmp_path / "pruned")
    record_table(tmp_path / "pruned", "tags", {"weight": 0.2}, {"data": "x", "split": "dev", "date": "2026"})
    again = load(tmp_path / "pruned")
    assert len(again.vocabulary) < len(model.vocabulary)
    assert (tmp_path / "pruned" / "hubness.safetensors").is_file()
    assert weights.about["pruned"] == {"min_count": limit}
    assert weights.figures == {}
    twice = save_pruned(again, prune_model(again, limit), limit, tmp_path / "twice")
    assert not {"tags", "tuned", "figures"} & set(json.loads((twice.folder / "config.json").read_text()))


def test_pruning_nothing_changes_nothing(colours_run: Path) -> None:
    model = load(colours_run / "weights")
    pruned = prune_model(model, 1)
    assert pruned.vocabulary.words == model.vocabulary.words
    own = model.state_dict()
    assert all(torch.equal(tensor, own[key]) for key, tensor in pruned.state_dict().items())
