"""Tables of what graphs and reduced decoding change: docs/concepts.md and docs/how-to/own-photos.md."""

from tables.reading import dated, result, table

_MOST = 5
"""Figures that are shown one by one."""


def engines() -> str:
    """The figures of `seesay evaluate` by both engines."""
    found = result("engines")
    rows: list[list[object]] = []
    for row in found["rows"]:
        differ = "; ".join(f"{name} {torch:.5g}, {graphs:.5g}" for name, (graphs, torch) in row["differ"].items())
        if row["n_that_differ"] > _MOST:
            differ = f"{row['n_that_differ']}, by at most {row['largest_difference']:.1g}"
        rows.append([f"`{row['weights']}`", row["task"], row["photos"], row["n_figures"], differ or "none"])
    header = ["weights", "task", "dev photos", "figures", "different: by torch, by graphs"]
    note = "\nDev photos of Flickr8K. Of 100 photos one query more or less is 1 for sentences and 0.2 for images.\n"
    return table(header, rows) + note + dated("", found, "python -m benchmarks.quality.engines")


def reduced() -> str:
    """What decoding JPEGs at reduced scale costs and brings."""
    found = result("reduced")
    rows: list[list[object]] = [
        [
            f"{row['longer_side']:,}",
            f"{row['noise']:g}",
            row["decoded_side"],
            f"{row['dev_sum_whole']:.1f}",
            f"{row['dev_sum_reduced']:.1f}",
            f"{row['cosine_of_vectors']['mean']:.4f}",
            f"{row['milliseconds_whole']:.0f} ms",
            f"{row['milliseconds_reduced']:.0f} ms",
        ]
        for row in found["rows"]
    ]
    header = [
        "longer side", "noise", "decoded to", "Sum, whole", "Sum, reduced", "cosine", "decoding, whole", "reduced",
    ]  # fmt: skip
    note = (
        f"\n{found['photos']} dev photos of Flickr8K, enlarged; noise is the standard deviation of one pixel, of 255. "
        f"Of {found['photos']} photos one query more or less is {100 / found['photos']:.1f} of the Sum for sentences.\n"
    )
    return table(header, rows) + note + dated("", found, "python -m benchmarks.quality.reduced")


TABLES = (engines, reduced)
