"""All that can be known of a published folder before a tensor is read."""

from dataclasses import dataclass
from pathlib import Path

from seesay.errors import SeesayError
from seesay.towers.families import Towers, read_config
from seesay.towers.folder import (
    CONFIG,
    TOKENIZER,
    TOKENIZER_CONFIG,
    WEIGHTS,
    Published,
    has_tensors,
    open_published,
    read_object,
)
from seesay.towers.opening import open_tokenizer
from seesay.towers.pair import find_pair
from seesay.towers.reading import RowRule, read_rule
from seesay.towers.views import View, view_of

_LEAST = 0.9
"""The share of the tokens a tower knows that its tokenizer has at least; rows of an embedding may be left free."""


@dataclass(frozen=True)
class Candidate:
    """A folder whose parts fit together.

    Attributes:
        tokenizer: The text of its tokenizer.json; empty for towers that read no sentences.
        rule: How its rows are made; None for those.
        pair: Its two ONNX files, where it has these and no safetensors.
        doubt: What looks odd and can be right.
    """

    published: Published
    towers: Towers
    view: View
    tokenizer: str = ""
    rule: RowRule | None = None
    pair: tuple[Path, Path] | None = None
    doubt: str = ""


def look_at(folder: Path) -> Candidate:
    """Look at a folder in the layout of `transformers`.

    Raises:
        SeesayError: Something is missing, of another kind, or does not fit; one sentence says what.
    """
    pair = find_pair(folder) if folder.is_dir() and not has_tensors(folder) else None
    published = Published(folder, read_object(folder / CONFIG), (), {}) if pair else open_published(folder)
    towers = read_config(published.config, str(folder / CONFIG))
    view = view_of(published)
    if towers.text is None:
        if pair:
            raise SeesayError(f"{folder} is a {towers.family} in ONNX, and reads no sentences", allowed=WEIGHTS)
        return Candidate(published, towers, view)
    text = published.text(TOKENIZER)
    if text is None:
        raise SeesayError(
            f"{folder} has no {TOKENIZER}, without which no sentence can be read",
            hint="AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes it, where transformers is "
            "installed",
        )
    tokenizer = open_tokenizer(text, str(folder / TOKENIZER))
    rule = read_rule(towers, tokenizer, published.json(TOKENIZER_CONFIG) or {}, str(folder / TOKENIZER))
    n, rows = tokenizer.get_vocab_size(with_added_tokens=True), towers.text.n_subwords
    doubt = f"{TOKENIZER} has {n:,} tokens, the tower knows {rows:,}: is it its own?" if n < _LEAST * rows else ""
    return Candidate(published, towers, view, text, rule, pair, doubt)
