"""What is fuzzed: every part of seesay that reads what others have made, each with a corpus of files that are right."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.reliability import corpora, served, stored
from benchmarks.reliability.changes import with_right_checksums
from seesay.errors import SeesayError

Read = Callable[[bytes, Path], object]


def _image(content: bytes, folder: Path) -> object:
    """A picture; a PNG with its checksums as they are and as they should be."""
    from seesay.images.io import open_image
    from seesay.images.structure import require_whole
    from seesay.library.indexing.metadata import read_metadata

    if (right := with_right_checksums(content)) != content:
        with suppress(SeesayError):
            _image(right, folder)
    image = open_image(content, max_pixels=1_000_000)
    with suppress(SeesayError):
        require_whole(content, 32)
    return image.size, read_metadata(content)


def _patterns(content: bytes, folder: Path) -> object:
    from seesay.library.indexing.ignoring import is_left_out, read_ignore_file

    (folder / ".seesayignore").write_bytes(content)
    patterns = read_ignore_file(str(folder))
    return is_left_out(f"{folder}/{'a' * 100}/b.png", [patterns], is_folder=False)


def _collection(*parts: str) -> Read:
    """A reader of a collection that consists of a few files; the content is dealt out among them."""

    def read(content: bytes, folder: Path) -> object:
        from seesay import data

        _deal_out(content, folder, parts)
        found = data.load(folder if len(parts) > 1 or "/" in parts[0] else folder / parts[0])
        return found.fingerprint(), found.splits

    return read


def _deal_out(content: bytes, folder: Path, names: Sequence[str]) -> None:
    """Write the files of a case; one that it lacks stays as the case before has left it."""
    for name, part in zip(names, content.split(corpora.BETWEEN, len(names) - 1), strict=False):
        if not (folder / name).parent.exists():
            (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(part)


def _judgements(content: bytes, folder: Path) -> object:
    from seesay.data.collection import Collection, Item
    from seesay.data.judgements import read_judgements

    (folder / "judgements.tsv").write_bytes(content)
    items = (Item("a.jpg", folder / "a.jpg", ("a dog", "a cat")),)
    return read_judgements(folder / "judgements.tsv", Collection("a", folder, "CSV", items), "fit")


def _tower(content: bytes, folder: Path) -> object:
    """All files of a published folder, as far as they are read before a tensor is."""
    from seesay.text.pieces import Pieces
    from seesay.towers.looking import look_at

    names = ("config.json", "preprocessor_config.json", "tokenizer_config.json", "model.safetensors", "tokenizer.json")
    _deal_out(content, folder, names)
    found = look_at(folder)
    return Pieces(found.tokenizer, found.rule).rows(["a dog 🐶", ""]) if found.rule else found.view


def _query(content: bytes, _: Path) -> object:
    """What a person types into the box of a search, and into its filters."""
    from seesay.library.ranking.likeness import read_box
    from seesay.library.stores.filters import narrow, read_filter
    from seesay.library.zero_shot import read_words
    from seesay.text.typed.queries import read_typed

    text = content.decode("utf-8", "replace")
    typed = read_typed(text, date(2026, 11, 18))
    found: list[object] = [typed.notes()]
    for read in (
        lambda: narrow(read_filter(after=text, camera=text), typed.dates),
        lambda: narrow(read_filter(within=text, before="2020"), typed.dates),
        lambda: read_box(text), lambda: read_words(text), lambda: read_filter(tag=text) if len(text) < 5 else None,
    ):  # fmt: skip
        with suppress(SeesayError):
            found.append(read())
    return found


def _weights(content: bytes, folder: Path) -> object:
    from seesay.runtime.tensors import map_tensor, read_places

    (folder / "model.safetensors").write_bytes(content)
    places = read_places(folder / "model.safetensors")
    return [map_tensor(folder / "model.safetensors", place).sum() for place in places.values()]


def _graph(content: bytes, folder: Path) -> object:
    from seesay.runtime.graph_file import read_graph_file

    (folder / "graph.onnx").write_bytes(content)
    return read_graph_file(folder / "graph.onnx")


def _network(content: bytes, folder: Path) -> object:
    from seesay.images.networks.tflite import read_layers

    (folder / "network.tflite").write_bytes(content)
    return [layer.weight.sum() for layer in read_layers(folder / "network.tflite")]


def _vectors(content: bytes, folder: Path) -> object:
    """Word vectors as GloVe and word2vec publish them."""
    from seesay.text._vector_files import read_rows

    (folder / "vectors.txt").write_bytes(content)
    return sum(1 for _ in read_rows(folder / "vectors.txt"))


def _phrases(content: bytes, folder: Path) -> object:
    from seesay.grounding.phrases import read_phrases

    (folder / "phrases.json").write_bytes(content)
    return [phrase.text for phrase in read_phrases(folder / "phrases.json")]


def _ensemble(content: bytes, folder: Path) -> object:
    from seesay.catalogue.ensembles import read_ensemble

    (folder / "config.json").write_bytes(content)
    return read_ensemble(folder).uses_hubness


def _recipe(content: bytes, folder: Path) -> object:
    from seesay.training.recipe import read_recipe

    (folder / "recipe.toml").write_bytes(content)
    return read_recipe(folder / "recipe.toml").fingerprint()


def _config(content: bytes, folder: Path) -> object:
    """A config.json, with everything that is read of it before a model is built."""
    from seesay.catalogue.weights import STEPS, doubt_of, read_about, tuned_table
    from seesay.runtime.folder import GraphFolder
    from seesay.settings.calibration import Calibration

    (folder / "config.json").write_bytes(content)
    weights = read_about(folder)
    for step in (
        lambda: [tuned_table(weights, table) for table in STEPS.values()],
        lambda: [doubt_of(weights, table) for table in ("confidence", "presence")],
        lambda: Calibration.from_table(weights.about.get("calibration"), "config.json"),
        lambda: GraphFolder(folder).open("encode"),
    ):
        with suppress(SeesayError):
            step()
    return weights.name


def _vocabulary(content: bytes, folder: Path) -> object:
    from seesay.text.vocabulary import Vocabulary

    return len(Vocabulary.from_json(content.decode("utf-8", "replace"), "vocabulary.json"))


@dataclass(frozen=True)
class Target:
    """Something that reads.

    Attributes:
        read: Given bytes and a folder to put them in; a `SeesayError` is an answer, anything else a finding.
        make_corpus: Files that are right.
    """

    read: Read
    make_corpus: Callable[[], Sequence[bytes]] = field(repr=False)

    @property
    def corpus(self) -> list[bytes]:
        return list(self.make_corpus())


def _target(read: Read, *corpus: bytes) -> Target:
    return Target(read, lambda: corpus)


TARGETS: dict[str, Target] = {
    "image": Target(_image, corpora.pictures),
    "patterns": _target(_patterns, *corpora.PATTERNS),
    "csv": _target(_collection("captions.csv"), corpora.CSV),
    "jsonl": _target(_collection("captions.jsonl"), corpora.LINES),
    "coco": _target(_collection("captions_val2017.json"), corpora.COCO),
    "karpathy": _target(_collection("dataset_a.json"), corpora.KARPATHY),
    "flickr": _target(
        _collection("text/Flickr8k.token.txt", "text/Flickr_8k.trainImages.txt", "text/Flickr_8k.devImages.txt"),
        corpora.FLICKR,
    ),
    "entities": _target(_collection("Sentences/1.txt", "Annotations/1.xml", "train.txt"), corpora.ENTITIES),
    "iapr": _target(_collection("annotations_complete_eng/00/1.eng", "iapr_train_list.txt"), corpora.IAPR),
    "judgements": _target(_judgements, corpora.JUDGEMENTS),
    "weights": _target(_weights, corpora.WEIGHTS),
    "graph": Target(_graph, corpora.graphs),
    "config": _target(_config, corpora.CONFIG),
    "vocabulary": _target(_vocabulary, corpora.VOCABULARY),
    "tower": Target(_tower, corpora.tower),
    "recipe": _target(_recipe, corpora.RECIPE),
    "network": Target(_network, corpora.networks),
    "vectors": Target(_vectors, corpora.word_vectors),
    "phrases": _target(_phrases, corpora.PHRASES),
    "ensemble": _target(_ensemble, corpora.ENSEMBLE),
    "rows": Target(stored.rows, corpora.rows),
    "matrix": Target(stored.matrix, corpora.matrices),
    "features": Target(stored.features, corpora.features),
    "query": Target(_query, corpora.queries),
    "http": Target(served.request, corpora.requests),
}
