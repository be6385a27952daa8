"""Tables of docs/how-to/scale.md: vectors grown from real ones, and the links of the index."""

from tables.reading import table
from tables.scale import noted, section

NAMES = {"distance_1": "distance to the nearest", "distance_10": "distance to the 10th", "dimension": "local dimension"}


def scale_growth() -> str:
    """Real vectors beside grown ones."""
    found = section("growth")
    rows: list[list[object]] = [
        [what, kind, *(f"{value:.2f}" for value in found[key][name])]
        for name, what in NAMES.items()
        for kind, key in (("real", "real"), ("grown", "made"))
    ]
    header = ["", "vectors", *(f"{100 * share:.0f} %" for share in found["quantiles"])]
    note = (
        f"{found['photos']:,} of each. The largest difference is {100 * found['largest_difference_of_all']:.0f} %, of "
        f"the three middle columns {100 * found['largest_difference']:.0f} %."
    )
    return noted(table(header, rows), note, "growth")


def scale_thinned() -> str:
    """How neighbours come nearer as a collection grows."""
    found = section("growth")["thinned"]
    real = {n: (first, tenth) for n, first, tenth in found["real"]}
    rows: list[list[object]] = [
        [f"{n:,}", *(f"{value:.2f}" for value in (*real[n], first, tenth))]
        if n in real
        else [f"{n:,}", "–", "–", f"{first:.2f}", f"{tenth:.2f}"]
        for n, first, tenth in found["made"]
    ]
    header = ["vectors", "real: nearest", "10th", "grown: nearest", "10th"]
    return noted(table(header, rows), "Median distances.", "growth")


def scale_bytes() -> str:
    found = section("grown_bytes")
    rows: list[list[object]] = [
        [
            f"{row['photos']:,}",
            f"{row['pass_cpu_milliseconds']:.0f} ms",
            f"{row['compared_again'][0]:,}, at most {row['compared_again'][1]:,}",
            f"{row['same_of_20'][0]} of 20",
            f"{row['peak_megabytes']:,} MB",
            f"{row['own_megabytes']:,} MB",
        ]
        for row in found["rows"]
    ]
    header = [
        "grown vectors", "CPU time of a pass over the bytes", "compared again", "same as exact, at least",
        "highest memory, mapped bytes included", "memory of its own",
    ]  # fmt: skip
    note = (
        f"{found['rows'][0]['directions']} bytes for each. A process that reads sentences needs its networks besides; "
        "see the memory above."
    )
    return noted(table(header, rows), note, "grown_bytes")


def scale_links() -> str:
    """The number of links of the index."""
    found = section("links")
    rows: list[list[object]] = [
        [
            row["m"] if at == 0 else "", f"{row['building_cpu_seconds']:.0f} s" if at == 0 else "",
            f"{row['index_bytes_per_photo']:,}" if at == 0 else "", each["ef_search"], f"{each['sentences']:.3f}",
            f"{each['photos']:.3f}", f"{each['milliseconds']:.1f} ms",
        ]
        for row in found["rows"]
        for at, each in enumerate(row["breadths"])
    ]  # fmt: skip
    header = [
        "`m`", "CPU time of building", "bytes per photo", "`ef_search`", "recall@10 by sentences",
        "recall@10 by photos", "CPU time per search",
    ]  # fmt: skip
    note = f"{found['photos']:,} real photos, spread over the library, in half precision."
    for row in found["rows"]:
        if asked := row.get("captions"):
            note += (
                f" Of {asked['n']} test captions of Flickr8K, {asked['index']['R@1']} % find their photo first and "
                f"{asked['index']['R@10']} % among ten by the index with `m` {row['m']}; comparing all, "
                f"{asked['compared']['R@1']} and {asked['compared']['R@10']} %."
            )
    return noted(table(header, rows), note, "links")


def scale_waits() -> str:
    """What clients wait for, by library of the benchmarks' server."""
    found = section("waits")
    rows: list[list[object]] = [
        [_named(row["library"]), f"{row['photos']:,}", each["clients"], f"{each['server_cpu_milliseconds']:.1f} ms",
         f"{each['p50']:.0f} ms", f"{each['p95']:.0f} ms"]
        for row in found["rows"]
        for each in row["waits"]
    ]  # fmt: skip
    header = ["library", "vectors", "clients at once", "CPU time of the server", "median wait", "95th percentile"]
    note = f"`ef_search` {found['breadth']}; clients and server share the machine, which nobody else used."
    return noted(table(header, rows), note, "waits")


def _named(library: str) -> str:
    return f"real, `m` {library[1:]}" if library.startswith("m") else "grown, `m` 16"


def scale_grown_server() -> str:
    """The index on grown vectors."""
    found = section("grown_server")
    rows: list[list[object]] = [
        ["all", breadth, f"{row['sentences']:.3f}", f"{row['photos']:.3f}", f"{row['milliseconds']:.1f} ms"]
        for breadth, row in found["recall"].items()
    ]
    rows += [
        [row["filter"], found["breadth"], f"{row['sentences']:.3f}", f"{row['photos']:.3f}",
         f"{row['milliseconds']:.1f} ms"]
        for row in found["filters"]
    ]  # fmt: skip
    header = ["which photos", "`ef_search`", "recall@10 by sentences", "recall@10 by photos", "CPU time per search"]
    note = (
        f"{found['photos']:,} vectors grown from {found['seeds']:,}, in half precision, `m` {found['m']}. Building the "
        f"index took {found['building_cpu_seconds'] / 60:.0f} minutes of CPU time, "
        f"{found['building_seconds'] / 60:.0f} minutes by the clock on a machine that others used, and "
        f"{found['building_megabytes'] / 1000:.1f} GB of memory; it takes {found['index_bytes_per_photo']:,} bytes a "
        f"photo, the table {found['table_bytes_per_photo']:,}. Comparing all takes "
        f"{found['exact_milliseconds']['server_cpu_milliseconds'] / 1000:.1f} s."
    )
    return noted(table(header, rows), note, "grown_server")


TABLES = (scale_growth, scale_thinned, scale_bytes, scale_links, scale_waits, scale_grown_server)
