import os
import sys
from pathlib import Path

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.metrics import meteor as meteor_module
from seesay.metrics.meteor import meteor, why_no_meteor

# Speaks the protocol of METEOR's program: counts per image, then a score for each and one for all. A "score" here is
# the number of references and of hypothesis words, so that a test can see what arrived.
STAND_IN = """#!{python}
import sys
for line in sys.stdin:
    kind, *fields = [field.strip() for field in line.split("|||")]
    if kind == "SCORE":
        print(len(fields) - 1 + len(fields[-1].split()) / 100, flush=True)
    else:
        print("\\n".join([*fields, str(max(map(float, fields)))]), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An executable `java`, the only one there is, and a jar for it."""
    (tmp_path / "meteor-1.5.jar").touch()
    java = tmp_path / "java"
    java.write_text(STAND_IN.format(python=sys.executable))
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(meteor_module, "_find_jar", lambda: tmp_path / "meteor-1.5.jar")
    return java


def test_every_image_is_scored_once_and_the_collection_at_the_end(program: Path) -> None:
    steps: list[tuple[int, int]] = []
    score = meteor(
        ["a dog runs", ["two", "cats"], ""],
        [["a dog", "one dog"], [["two", "cats"]], ["x", "y", "z"]],
        on_progress=lambda *step: steps.append(step),
    )
    assert score.each.tolist() == [2.03, 1.02, 3.0]
    assert score.corpus == 3.0
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_sentences_cannot_break_out_of_the_protocol(program: Path) -> None:
    score = meteor(["a ||| b\nEVAL ||| 1"], [["c ||| d"]])
    assert score.each.tolist() == [1.04]


def test_a_program_that_fails_is_an_error_with_its_last_words(program: Path) -> None:
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('Could not reserve enough space')\n")
    with pytest.raises(SeesayError, match="Could not reserve enough space"):
        meteor(["a dog"], [["a dog"]])


def test_a_program_that_talks_nonsense_is_an_error(program: Path) -> None:
    program.write_text(f"#!{sys.executable}\nimport sys\nfor line in sys.stdin: print('hello', flush=True)\n")
    with pytest.raises(SeesayError, match="METEOR's Java program failed"):
        meteor(["a dog"], [["a dog"]])


def test_missing_java_and_missing_package_are_told_apart(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    assert why_no_meteor() is None
    monkeypatch.setenv("PATH", "")
    assert "Java" in str(why_no_meteor())
    monkeypatch.setattr(meteor_module, "_find_jar", lambda: None)
    with pytest.raises(SeesayError, match=r"pip install 'seesay\[meteor\]'"):
        meteor(["a dog"], [["a dog"]])


def test_hypotheses_are_one_per_image(program: Path) -> None:
    with pytest.raises(SeesayError, match="1 hypotheses for the references of 2 images"):
        meteor(["a dog"], [["a dog"], ["a cat"]])


@pytest.mark.skipif(
    not os.environ.get("SEESAY_TEST_METEOR") or why_no_meteor() is not None,
    reason="takes some seconds to load: set SEESAY_TEST_METEOR=1, with Java and pycocoevalcap installed",
)
def test_real_captions_score_as_pycocoevalcap_scores_them(flickr8k) -> None:
    from pycocoevalcap.meteor.meteor import Meteor

    hypotheses, references = [*flickr8k.hypotheses[:100], ""], [*flickr8k.references[:100], ["a dog"]]
    theirs = dict(enumerate(references)), {i: [hypothesis] for i, hypothesis in enumerate(hypotheses)}
    corpus, each = Meteor().compute_score(*theirs)
    score = meteor(hypotheses, references)
    assert score.corpus == pytest.approx(corpus, abs=1e-9)
    np.testing.assert_allclose(score.each, each, atol=1e-9)
