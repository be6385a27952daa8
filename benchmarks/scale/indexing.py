"""What indexing real photos with the product has cost so far: CPU time, memory, disk, and what kills have left behind.

python -m benchmarks.scale.indexing LIBRARY LOG
"""

import argparse
import json
from pathlib import Path

from benchmarks.scale.growing import ask, count, n_incomplete
from benchmarks.scale.sections import write_section

FIRST = 5000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("log", type=Path, help="what `benchmarks.scale.growing` has written")
    arguments = parser.parse_args()
    sittings = [json.loads(line) for line in arguments.log.read_text().splitlines()]
    worked = [row for row in sittings if row["ended"] != "exit 2"]  # it was refused: another one was at it
    n = sum(row["after"] - row["before"] for row in worked)
    size = sum(path.stat().st_size for path in arguments.library.glob("library.db*"))
    photos = count(arguments.library)
    write_section(
        "indexing",
        photos=photos,
        measured_photos=n,
        sittings=len(worked),
        kills=sum(row["ended"] == "killed" for row in worked),
        incomplete_after_kills=sum(row["incomplete"] for row in sittings) + n_incomplete(arguments.library),
        cpu_seconds_per_photo=round(sum(row["cpu_seconds"] for row in worked) / n, 4),
        peak_megabytes=max(row["peak_megabytes"] for row in worked),
        bytes_per_photo=round(size / photos),
        bytes_per_photo_of_the_first={str(FIRST): first_bytes(arguments.library, size / photos)},
        log=sittings,
    )


def first_bytes(library: Path, per_photo: float) -> int:
    """Bytes per photo of a library of the first so many: what these keep, and the database's share for itself."""
    kept = (
        "SELECT avg(length(v.vector) + length(t.jpeg) + length(w.vector)) FROM vectors v "
        "JOIN thumbnails t USING (content) JOIN views w USING (content)"
    )
    return round(per_photo - ask(library, kept) + ask(library, f"{kept} WHERE content <= {FIRST}"))


if __name__ == "__main__":
    main()
