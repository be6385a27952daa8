"""How well do the noun phrases of our trees agree with the phrases that people marked in Flickr30k Entities?

A phrase counts as found where both spans are the same to the token. Sentences are those of the dev photos of Flickr8K
that have a marked phrase. The peer is spaCy's `noun_chunks` with the same pipeline on the same tokens. "Any NP" asks
whether a marked phrase is a noun phrase anywhere in the tree, nested ones included: what a tree model can learn from.

    SEESAY_DATA=... python -m benchmarks.quality.noun_phrases
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.recording import parse_arguments, record
from seesay import data
from seesay.data import entities
from seesay.text._dependencies import installed_parser
from seesay.text.tokens import token_spans, tokenize
from seesay.text.trees import Tree, noun_phrases, parse

Span = tuple[int, int]


def marked_phrases(collection: data.Collection) -> tuple[list[str], list[dict[Span, str]]]:
    """Sentences, and for each the token spans that people marked with the first kind of what they name."""
    sentences, truth = [], []
    for item in collection.items:
        for number, sentence in enumerate(item.sentences):
            places = token_spans(sentence.split())
            spans = {
                (places[phrase.first][0], places[phrase.last - 1][1]): phrase.kinds[0]
                for phrase in item.phrases
                if phrase.sentence == number
            }
            spans = {(first, last): kind for (first, last), kind in spans.items() if first < last}
            if spans:
                sentences.append(sentence)
                truth.append(spans)
    return sentences, truth


def compare(found: Sequence[set[Span]], truth: Sequence[dict[Span, str]]) -> dict[str, float]:
    n_common = sum(len(spans & marked.keys()) for spans, marked in zip(found, truth, strict=True))
    n_found, n_marked = sum(map(len, found)), sum(map(len, truth))
    return {
        "precision": round(100 * n_common / n_found, 2),
        "recall": round(100 * n_common / n_marked, 2),
        "f1": round(100 * 2 * n_common / (n_found + n_marked), 2),
    }


def recall_by_kind(found: Sequence[set[Span]], truth: Sequence[dict[Span, str]]) -> dict[str, float]:
    n_marked = Counter(kind for marked in truth for kind in marked.values())
    n_common = Counter(
        kind for spans, marked in zip(found, truth, strict=True) for span, kind in marked.items() if span in spans
    )
    return {kind: round(100 * n_common[kind] / n, 2) for kind, n in n_marked.most_common()}


def spacy_chunks(sentences: Sequence[str]) -> list[set[Span]]:
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.load(installed_parser(), exclude=["ner", "lemmatizer", "senter"])
    docs = nlp.pipe(Doc(nlp.vocab, words=tokenize(sentence)) for sentence in sentences)
    return [{(chunk.start, chunk.end) for chunk in doc.noun_chunks} for doc in docs]


def timed_parse(sentences: Sequence[str], cache: Path) -> tuple[list[Tree], float]:
    start = time.process_time()
    trees = parse(sentences, cache)
    return trees, len(sentences) / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Noun phrases against the phrases of Flickr30k Entities")
    parser.add_argument("--data", default="flickr8k")
    parser.add_argument("--entities", default="flickr30k_entities")
    parser.add_argument("--split", default="dev")
    arguments = parse_arguments(parser, "noun_phrases")

    collection = data.load(arguments.data).split(arguments.split)
    sentences, truth = marked_phrases(entities.attach(collection, data.locate(arguments.entities)))
    print(f"{len(sentences)} sentences of {arguments.data} {arguments.split}, {sum(map(len, truth))} marked phrases")
    chunks = spacy_chunks(sentences)  # first: the parser is then warm for what is timed
    with tempfile.TemporaryDirectory() as folder:
        trees, parsed_per_second = timed_parse(sentences, Path(folder))
        _, kept_per_second = timed_parse(sentences, Path(folder))
    found = [set(noun_phrases(tree)) for tree in trees]
    anywhere = [{node.span for node in tree.nodes() if node.is_noun_phrase} for tree in trees]

    rows = {
        "seesay noun_phrases": compare(found, truth),
        "spaCy noun_chunks": compare(chunks, truth),
        "any NP of the tree": {"recall": compare(anywhere, truth)["recall"]},
    }
    print(f"{'':<22} {'precision':>9} {'recall':>9} {'F1':>9}")
    for name, row in rows.items():
        print(
            f"{name:<22} "
            + " ".join(f"{row[key]:9.2f}" if key in row else " " * 9 for key in ("precision", "recall", "f1"))
        )
    kinds = recall_by_kind(found, truth)
    print("recall by kind: " + ", ".join(f"{kind} {share:.1f}" for kind, share in kinds.items()))
    print(f"sentences per processor second: {parsed_per_second:.0f} parsed, {kept_per_second:.0f} from the cache")
    record(
        arguments,
        ("spacy", installed_parser()),
        data=arguments.data,
        split=arguments.split,
        n_sentences=len(sentences),
        n_phrases=sum(map(len, truth)),
        rows=rows,
        recall_by_kind=kinds,
        sentences_per_cpu_second={"parsed": round(parsed_per_second), "from the cache": round(kept_per_second)},
    )


if __name__ == "__main__":
    main()
