"""Fuzz one target with `atheris`, which keeps the cases that reach code which no case has reached, and changes these.

Only what is imported while it looks is watched: so everything of ours is imported here after it has begun to look, the
readers, what they load when they first read, and those parts of Python and of other packages that read for them.
"""

import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris

_WATCHED = ("seesay", "pathspec", "h11", "PIL", "tomllib", "starlette", "uvicorn", "xml", "gzip", "zipfile")


def main() -> None:
    with atheris.instrument_imports(include=[*_WATCHED]):
        from benchmarks.reliability import fuzz

        arguments = fuzz.read_arguments()
        warnings.simplefilter("ignore")  # Pillow warns of every tag that it cannot read
        fuzz.note_pauses()
        corpus = arguments.corpus / arguments.slice
        found = arguments.corpus / "found" / arguments.slice
        work = fuzz.Slice(arguments.slice, 60 * arguments.minutes, arguments.output, found)
    search(arguments.slice, arguments.seed, corpus, work.try_one)


def search(target: str, seed: int, corpus: Path, try_one: Callable[[bytes], None]) -> None:
    """Search until a case ends the process."""
    from benchmarks.reliability.changes import SPICES, change_values
    from benchmarks.reliability.targets import TARGETS

    files = TARGETS[target].corpus
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(files):
        (corpus / f"right-{number}").write_bytes(content)
    words = corpus.with_name(f"{target}.words")
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in spice[:64]) + '"\n' for spice in SPICES))

    def mutate(content: bytes, at_most: int, seed: int) -> bytes:
        """Half of the changes are made to values, where there are some."""
        dice = random.Random(seed)
        if dice.random() < 0.5 and (changed := change_values(content, dice)) is not None and len(changed) <= at_most:
            return changed
        return bytes(atheris.Mutate(content, at_most))

    options = [
        f"-seed={seed + 1}",
        f"-dict={words}",
        "-timeout=900",  # by the clock, which goes on while this process is stopped to leave others the machine
        "-rss_limit_mb=4096",
        f"-max_len={max(20_000, *(2 * len(content) for content in files))}",
        f"-artifact_prefix={corpus}/../{target}-",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], try_one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
