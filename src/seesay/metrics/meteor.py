"""METEOR 1.5 (Denkowski & Lavie 2014) by its authors' Java program, which the package `pycocoevalcap` carries.

It knows stems, synonyms and paraphrases, and takes some seconds to load them. Java and `seesay[meteor]` are needed;
everything else in seesay works without.
"""

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from seesay.errors import SeesayError
from seesay.metrics.sentences import Scores, Sentence, as_text, check_references

_JAR = "meteor-1.5.jar"
_INSTALL = "pip install 'seesay[meteor]'"


def why_no_meteor() -> str | None:
    """What is missing for METEOR on this machine, or None where it can run."""
    if _find_jar() is None:
        return f"METEOR needs the package pycocoevalcap: {_INSTALL}"
    if shutil.which("java") is None:
        return "METEOR needs Java: install a Java runtime, so that `java -version` answers"
    return None


def meteor(
    hypotheses: Sequence[Sentence],
    references: Sequence[Sequence[Sentence]],
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """METEOR of one hypothesis per image against all references of that image.

    The figure for the collection is not the mean: METEOR adds up its counts first, like corpus BLEU. An empty
    hypothesis scores 0.

    Args:
        hypotheses: One sentence per image.
        references: One sentence or more per image.
        on_progress: Called with the number of images done and the number of all images.

    Raises:
        SeesayError: Java or the package is missing (`why_no_meteor` says so beforehand), or the program failed.
    """
    check_references(hypotheses, references)
    jar, reason = _find_jar(), why_no_meteor()
    if jar is None or reason is not None:
        raise SeesayError(reason or "METEOR is missing", hint=_INSTALL)
    # -norm normalises case and punctuation, as the COCO evaluation does
    command = ["java", "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command,
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            encoding="utf-8",
        )
        try:
            return _converse(process, hypotheses, references, on_progress)
        except (OSError, ValueError) as error:  # it closed its side, or said something that is no number
            process.kill()
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace").strip().splitlines()
            raise SeesayError(
                f"METEOR's Java program failed: {said[-1] if said else 'it ended without a word'}",
                hint="java -version",
            ) from error
        finally:
            process.kill()
            process.communicate()


def _converse(
    process: subprocess.Popen[str],
    hypotheses: Sequence[Sentence],
    references: Sequence[Sequence[Sentence]],
    on_progress: Callable[[int, int], None] | None,
) -> Scores:
    """Ask for the counts of each image, then hand all counts back for the scores."""
    assert process.stdin is not None
    assert process.stdout is not None
    counts = []
    for done, (hypothesis, own) in enumerate(zip(hypotheses, references, strict=True), start=1):
        sentences = [_plain(sentence) for sentence in (*own, hypothesis)]
        counts.append(_ask(process.stdin, process.stdout, " ||| ".join(["SCORE", *sentences])))
        if on_progress:
            on_progress(done, len(hypotheses))
    first = float(_ask(process.stdin, process.stdout, " ||| ".join(["EVAL", *counts])))
    each = [first, *(float(process.stdout.readline()) for _ in counts[1:])]
    return Scores(float(process.stdout.readline()), np.array(each))


def _ask(into: IO[str], out: IO[str], line: str) -> str:
    into.write(line + "\n")
    into.flush()
    if not (answer := out.readline().strip()):
        raise ValueError("no answer")
    return answer


def _plain(sentence: Sentence) -> str:
    """A sentence that cannot be taken for a part of the protocol."""
    return " ".join(as_text(sentence).replace("|||", " ").split())


def _find_jar() -> Path | None:
    package = importlib.util.find_spec("pycocoevalcap")
    folders = package.submodule_search_locations if package and package.submodule_search_locations else []
    return next((jar for folder in folders if (jar := Path(folder) / "meteor" / _JAR).is_file()), None)
