"""`seesay words`: the nearest words by a model's word vectors."""

import json
from typing import Annotated, Any

import typer

from seesay.cli.options import AsJson, Model


def words(
    asked: Annotated[list[str], typer.Argument(metavar="WORD…", help="One word or more.")],
    model: Model = "mrnn",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="How many nearest words.")] = 10,
    as_json: AsJson = False,
) -> None:
    """List the words whose vectors are nearest to a word's, by Euclidean distance.

    The vectors were learned from captions: words that are used in the same places are near each other. For a word that
    the model does not know, similar spellings are listed.

    \b
    Examples:
        seesay words dog camera
        seesay words dog -n 5 -m mrnn-flickr8k --json
    """
    from seesay.errors import SeesayError
    from seesay.models.pretrained import load
    from seesay.text.neighbours import close_spellings, nearest_words
    from seesay.text.tokens import tokenize

    plain = {}
    for word in asked:
        tokens = tokenize(word)
        if len(tokens) != 1:
            hint = f"seesay words {' '.join(tokens)}" if tokens else "seesay words dog"
            raise SeesayError(f"{word!r} has {len(tokens)} words", allowed="single words", hint=hint)
        plain[word] = tokens[0]
    loaded = load(model)
    vocabulary = loaded.vocabulary
    word_vectors = getattr(loaded, "word_vectors", None)
    if word_vectors is None:
        raise SeesayError(f"{model} keeps no word vectors that could be compared", allowed="a captioner such as mrnn")
    vectors = word_vectors()  # (V, D)
    found = {word: nearest_words(vectors, vocabulary, token, n) for word, token in plain.items() if token in vocabulary}
    unknown = {word: close_spellings(vocabulary, token) for word, token in plain.items() if token not in vocabulary}
    if as_json:
        rows: list[dict[str, Any]] = [
            {"word": word, "nearest": [{"word": near, "distance": round(far, 4)} for near, far in found[word]]}
            if word in found
            else {"word": word, "nearest": [], "close_spellings": unknown[word]}
            for word in plain
        ]
        typer.echo(json.dumps({"model": model, "words": rows}, indent=2, ensure_ascii=False))
    else:
        if found:
            _print_table(found)
        for word, close in unknown.items():
            spelled = f"; close spellings: {', '.join(close)}" if close else ""
            typer.echo(f"seesay: {model} does not know {word!r}{spelled}", err=True)
    if unknown:
        raise typer.Exit(1)


def _print_table(found: dict[str, list[tuple[str, float]]]) -> None:
    """A line for each word that was asked for, broken where the terminal ends."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for word, near in found.items():
        # A word and its distance stay on one line: no-break spaces.
        each = [Text.assemble(other, (f"\u00a0{far:.2f}", "dim")) for other, far in near]
        table.add_row(Text(word), Text("  ").join(each))
    Console().print(table)
