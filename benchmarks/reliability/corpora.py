"""Files that are right, from which fuzzing starts: each is read without an error by the part that it belongs to."""

import base64
import gzip
import json
import tempfile
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageCms

BETWEEN = b"\n=====\n"
"""Stands between the files of a case that consists of several."""


@cache
def pictures() -> list[bytes]:
    """Of every format that is opened, and of the kinds of one format that take other ways through its decoder."""
    noise = Image.effect_noise((12, 9), 60)
    colours, grey = noise.convert("RGB"), noise.convert("L")
    made = [_saved(colours, kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF")]
    exif = Image.Exif()
    exif[0x0112], exif[0x0110], exif[0x0132] = 6, "Canon EOS 5D", "2019:07:04 12:30:00"
    exif.get_ifd(0x8769)[0x9003] = "2019:07:04 12:30:00"
    made.append(_saved(Image.new("RGB", (12, 9)), "JPEG", exif=exif, progressive=True))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    frames = {"save_all": True, "append_images": [grey.convert("RGB")] * 2}
    made += [_saved(colours, kind, **frames) for kind in ("GIF", "PNG", "WEBP", "TIFF", "AVIF")]
    made += [
        _saved(colours.convert("P"), "PNG", transparency=0, exif=exif),
        _saved(grey.convert("I;16"), "PNG"),
        _saved(colours.convert("RGBA"), "PNG", icc_profile=profile),
        _saved(colours.convert("CMYK"), "JPEG", icc_profile=profile),
        _saved(grey.convert("1"), "TIFF", compression="group4"),
        _saved(colours, "TIFF", compression="tiff_lzw", exif=exif),
        _saved(colours.convert("P"), "BMP"),
        _saved(colours.convert("RGBA"), "WEBP", lossless=True, exif=exif),
    ]
    return made


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def requests() -> list[bytes]:
    """To the server; HOST is its address, VERSION that of the first photo."""
    head = b"Host: HOST\r\nConnection: close\r\n"
    targets = (
        b"/", b"/api/search?q=a+dog", b"/api/photos?limit=2&in=2019", b"/api/photos/1/thumbnail?v=VERSION",
        b"/api/photos/1/picture?side=320", b"/api/search?like=1&box=0,0,.5,1&sort=date", b"/static/main.js",
        b"/api/regions?q=dog", b"/api/photos/1/explain?q=a+dog", b"/api/status", b"/api/failures",
        b"/api/search?q=a+beach+without+people+in+2019&limit=5&camera=Canon&min_score=.1&offset=1",
    )  # fmt: skip
    gets = [b"GET " + target + b" HTTP/1.1\r\n" + head + b"Accept: */*\r\n\r\n" for target in targets]
    picture = pictures()[0]
    post = b"POST /api/search?q=dog HTTP/1.1\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(picture) + picture
    chunked = (
        b"POST /api/search HTTP/1.1\r\n"
        + head
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n" % len(picture)
        + picture
        + b"\r\n0\r\n\r\nGET / HTTP/1.1\r\n"
        + head
        + b"\r\n"
    )
    return [*gets, post, chunked]


def graphs() -> list[bytes]:
    """Graphs of the shipped weights: the two smallest, and the smallest whose numbers lie in another file."""
    from seesay.catalogue.weights import PACKAGED
    from seesay.runtime.graph_file import read_graph_file

    found = sorted(PACKAGED.glob("*/*.onnx"), key=lambda path: path.stat().st_size)
    stored = next(path for path in found if any(each.location for each in read_graph_file(path).stored.values()))
    return [path.read_bytes() for path in (*found[:2], stored)]


def networks() -> list[bytes]:
    """A TFLite file of three layers, one of each kind."""
    return [zlib.decompress(base64.b85decode(_NETWORK))]


def word_vectors() -> list[bytes]:
    """In all layouts that are read."""
    text = b"dog 0.5 -1\ncat 1e-3 2\nlos angeles 1 2\n"
    binary = b"2 2\n" + b"".join(word + b" " + np.ones(2, "<f4").tobytes() + b"\n" for word in (b"dog", b"cat"))
    return [text, b"3 2\n" + text, binary, gzip.compress(text, mtime=0), gzip.compress(binary, mtime=0)]


def matrices() -> list[bytes]:
    """The files of a library's matrix, as they are and as codes: what names them, then themselves."""
    from seesay.library.stores.codes import Scheme
    from seesay.library.stores.matrix import write_matrix

    made, rows = [], np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    for scheme in (None, Scheme.fit(rows)):
        with tempfile.TemporaryDirectory() as folder:
            write_matrix(Path(folder), "epoch", 6, 8, [(np.arange(1, 7), rows)], scheme)
            about = json.loads(Path(folder, "matrix.json").read_text())
            kinds = [kind for kind in MATRIX_FILES if kind in about]
            files = [Path(folder, about[kind]).read_bytes() for kind in kinds]
            made.append(BETWEEN.join([json.dumps(about | {kind: kind for kind in kinds}).encode(), *files]))
    return made


MATRIX_FILES = ("ids", "rows", "codes", "sums", "scheme")


def features() -> list[bytes]:
    """A shard of kept features: its index, and its rows."""
    rows = np.arange(6, dtype=np.float16).reshape(2, 3)
    index = {"keys": ["a", "b"], "crc32": [zlib.crc32(row.tobytes()) for row in rows]}
    file = BytesIO()
    np.save(file, rows, allow_pickle=False)
    return [json.dumps(index).encode() + BETWEEN + file.getvalue()]


def tower() -> list[bytes]:
    """A tiny CLIP as `transformers` writes it: four files of settings, and tensors that nothing is computed with."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|startoftext|>", "<|endoftext|>"]
    numbers = {letter: number for number, letter in enumerate(letters)}
    made = Tokenizer(models.BPE(numbers, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    ends = [(mark, numbers[mark]) for mark in letters[-2:]]
    made.post_processor = processors.TemplateProcessing(single="<|startoftext|> $A <|endoftext|>", special_tokens=ends)
    layers = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**layers, "vocab_size": len(letters), "max_position_embeddings": 16, "eos_token_id": len(letters) - 1}
    vision = {**layers, "image_size": 32, "patch_size": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5}
    clip = {"model_type": "clip", "text_config": text, "vision_config": vision, "projection_dim": 8}
    siglip = {"model_type": "siglip", "text_config": {**text, "projection_size": 8}, "vision_config": vision}
    dino = {"model_type": "dinov2", **vision, "mlp_ratio": 4, "use_swiglu_ffn": True, "qkv_bias": True}
    view = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}, "do_center_crop": True}
    view |= {"resample": 3, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}
    config = {"pad_token": {"content": "<|endoftext|>"}, "padding_side": "right"}
    return [
        BETWEEN.join([json.dumps(family).encode(), json.dumps(view).encode(), json.dumps(config).encode(),
                      WEIGHTS, made.to_str().encode()])
        for family in (clip, siglip, dino)
    ]  # fmt: skip


def queries() -> list[bytes]:
    """As people type them."""
    typed = (
        "show me photos of a dog without a ball from 2019", 'a sign that says "no people" in last summer', "-cat dog",
        "two men not wearing hats, on 3rd of july 2019", "nobody on the beach 3 weeks ago", "2019-07-04", "0,0,.5,1",
        "snow in december or on a mountain since 2015 but no people", "cat, dog,red bus",
        "「犬」 “quoted” „so“ «or so»",
    )  # fmt: skip
    return [text.encode() for text in typed]


_HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
WEIGHTS = len(_HEADER).to_bytes(8, "little") + _HEADER + bytes(16)
COCO = json.dumps(
    {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"id": 1, "image_id": 1, "caption": "a dog"}]}
).encode()
KARPATHY = json.dumps(
    {"images": [{"filename": "a.jpg", "split": "val", "sentences": [{"raw": "a dog"}, {"tokens": ["a", "cat"]}]}]}
).encode()
LINES = b'{"file": "a.jpg", "split": "train", "sentences": ["a dog", {"raw": "b"}]}\n{"image": "b", "caption": "c"}\n'
CSV = b'image,sentence,split\na.jpg,a dog,train\nb.jpg,"a, cat",test\n'
FLICKR = b"a.jpg#0\tA dog runs .\na.jpg#1\tA cat .\nb.jpg#0\tA bird\n" + BETWEEN + b"a.jpg\n" + BETWEEN + b"b.jpg\n"
ENTITIES = (
    b"[/EN#18/people A child] in [/EN#20/clothing a dress] .\n" + BETWEEN + b"<annotation><size><width>9</width>"
    b"<height>9</height></size><object><name>18</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax>"
    b"</bndbox></object><object><name>20</name><nobndbox>1</nobndbox></object></annotation>" + BETWEEN + b"1\n"
)
IAPR = b"<DOC><TITLE>x</TITLE><DESCRIPTION>a dog; a cat;</DESCRIPTION></DOC>\n" + BETWEEN + b"00/1\n"
JUDGEMENTS = b"image\tcaption\tyes\tno\tpart\na.jpg\ta.jpg#0\t2\t1\tfit\na.jpg\ta.jpg#1\t0\t3\treport\n"
RECIPE = (
    b'name = "a"\nmodel = "vse"\nseed = 1\n[data]\nmin_count = 1\ntrain = [{source = "a"}]\ndev = {source = "a"}\n'
    b"[optimiser]\nrate = 0.1\n[stop]\nepochs = 3\n[config]\ndim = 8\n"
)
CONFIG = json.dumps({
    "format": 1, "name": "a", "family": "vse", "config": {}, "features": {}, "vocabulary": "x",
    "calibration": {"slope": 1.0, "offset": 0.0, "rarity_slope": 1.0, "rarity_offset": 1.0},
    "graphs": {"opset": 17, "files": {"encode": {"file": "encode.onnx", "digest": "0"}}},
    "tuned": {"calibration": {"weights": {"a": "0"}}}, "presence": {"slope": 1.0}, "cascade": {"stages": []},
}).encode()  # fmt: skip
VOCABULARY = json.dumps(
    {"format": "seesay-vocabulary-1", "min_count": 1, "n_sentences": 2, "n_unknown": 0, "words": {"a": 2, "dog": 1}}
).encode()
PHRASES = json.dumps([[3, ["NP", "a", "dog"]], [1, ["NP", ["NP", "a", "man"], ["PP", "in", "a", "hat"]]]]).encode()
ENSEMBLE = json.dumps({
    "format": 1, "name": "a", "family": "ensemble", "config": {"chosen_on": "dev"},
    "members": [{"name": "a", "weight": 1.0, "mean": 0.5, "deviation": 2.0, "of_images": 0.5, "of_texts": 0.25}] * 2,
}).encode()  # fmt: skip
PATTERNS = (b"*.tif\n!cover.tif\n/a/**/b\n[a-z]?.png\n", b"*a" * 30 + b"b\n", b"**/" * 50 + b"x\n")
_FINGERPRINT = '{"model": "a", "weights": "b", "features": "c", "dim": 4}'
VALUES = (
    _FINGERPRINT, _FINGERPRINT, b"/a", '["*.tif"]', "0" * 64, 12, 9, "2019-07-04T12:30:00", "Canon", bytes(8), bytes(8),
    b"\xff\xd8\xff", 1, 0.5, b"/a/b.png", 5, 10**18, "2019-07-04T12:30:00", b"/a/c.png", "damaged",
)  # fmt: skip
"""Of a library with a photo and a failure, in the order in which its rows name them."""


def rows() -> list[bytes]:
    """Each value of a library as bytes, with a first byte that says which it is and whether it is text or bytes."""
    found = []
    for place, value in enumerate(VALUES):
        written = value if isinstance(value, bytes) else str(value).encode()
        found.append(bytes([2 * place + isinstance(value, bytes)]) + written)
    return found


_NETWORK = (
    "c-oCqyGjE=6utY*E-tbxTUZ3Kun@5bYLOzKg;=Gqunc~IrKP2aUm&S0`~nd_!DoEL=Ra6m3T8YrbCL|Pa4(#ly{~iU-kGV3$o6J?MT|^KDWT+&;X"
    "i>U5&&9T0G5Cna0FupbbXOe4?2(m7w}<`Ip*yG9iVMEGB9ch$u6j6<L1FrB5{NKCAqbI&$GTR?CZd{QcBWTVu=7v7lW&2|3TM+-#1k(x0VRd{@#y"
    "LjPqyM*A8qA?px=bLC=}*+1NF%BT2Yw`|Loe$f{|boaf+JCEpOq;D282yS%!-Nx%}KO2SyTmw@^)_`-=^7GY~Tz3f9T8Sk^EhA)4`?dc17td};)e"
    "F$5}*?&M-u0nFNj?cKDziR!0z2DyT?jIhX`p++~Z|@(%DTMrv=P>N?gy-$fVHviT6LX-d&tY;F_D$q6WwJB#CU|aXgY{0qzvb|I&Wth>p*iinuey"
    "(TG>_Qi#?I{Rod}Ko3$oN>1^"
)
