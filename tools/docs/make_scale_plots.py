"""Draw docs/pictures/scale.png from benchmarks/results/scale.json: what growth does to quality, time and memory.

python tools/docs/make_scale_plots.py
"""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tables.reading import ROOT, result

PICTURE = ROOT / "docs/pictures/scale.png"
COLOURS = ("#1f6f9f", "#d9722e", "#5a9c51", "#8a5fa8")
STAGES = {"vectors": "vectors", "hubness": "+ hubness", "tags": "+ tags", "regions": "+ regions"}


def main() -> None:
    report = result("scale")
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    ((first, tenth), (latency, memory)) = figure.subplots(2, 2)
    draw_recall(first, report["quality"], "R@1")
    draw_recall(tenth, report["quality"], "R@10")
    draw_latency(latency, report)
    draw_memory(memory, report)
    for axes in (first, tenth, latency, memory):
        axes.set_xscale("log")
        axes.set_xlabel("photos")
        axes.grid(alpha=0.25, which="major")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(PICTURE, dpi=110)
    print(f"written to {PICTURE.relative_to(ROOT)}")


def draw_recall(axes: Axes, quality: dict[str, Any], name: str) -> None:
    for colour, (stage, label) in zip(COLOURS, STAGES.items(), strict=True):
        rows = [row for row in quality["rows"] if row["stage"] == stage]
        axes.plot([row["photos"] for row in rows], [row[name] for row in rows], "o-", color=colour, label=label)
    axes.set_ylim(0, None)
    axes.set_ylabel(f"{name}, %")
    axes.set_title(f"{name} of Flickr8K's test captions")


def draw_latency(axes: Axes, report: dict[str, Any]) -> None:
    rows = alone(report)
    axes.plot(
        [row["photos"] for row in rows], [row["warm_cpu_milliseconds"] for row in rows], "o-", color=COLOURS[0],
        label="SQLite, every photo compared",
    )  # fmt: skip
    passes = report["grown_bytes"]["rows"]
    axes.plot(
        [row["photos"] for row in passes], [row["pass_cpu_milliseconds"] for row in passes], "s--", color=COLOURS[2],
        label="its pass over the bytes alone",
    )  # fmt: skip
    axes.plot(*on_servers(report, searching), "s-", color=COLOURS[1], label="PostgreSQL, HNSW index")
    axes.axhline(20, color="0.6", linestyle=(0, (4, 3)), linewidth=1.2, label="20 ms")
    axes.set_yscale("log")
    axes.set_ylabel("CPU time, ms")
    axes.set_title("One search")


def draw_memory(axes: Axes, report: dict[str, Any]) -> None:
    rows = alone(report)
    axes.plot(
        [row["photos"] for row in rows], [row["memory_megabytes"]["peak"] for row in rows], "o-", color=COLOURS[0],
        label="process, highest",
    )  # fmt: skip
    both = rows + [row for row in report["grown_bytes"]["rows"] if row["photos"] > rows[-1]["photos"]]
    axes.plot(
        [row["photos"] for row in both], [row["matrix_megabytes"] for row in both], "s--", color=COLOURS[2],
        label="mapped bytes",
    )  # fmt: skip
    sizes, each = on_servers(report, lambda section: section["index_bytes_per_photo"] / 1e6)
    axes.plot(
        sizes, [n * megabytes for n, megabytes in zip(sizes, each, strict=True)], "s-", color=COLOURS[1],
        label="HNSW index",
    )  # fmt: skip
    axes.axhline(1000, color="0.6", linestyle=(0, (4, 3)), linewidth=1.2, label="1 GB")
    axes.set_yscale("log")
    axes.set_ylabel("MB")
    axes.set_title("Memory for search")


def alone(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Libraries in a folder, smallest first."""
    return sorted(report["exact"]["rows"] + report["grown_library"]["rows"], key=lambda row: row["photos"])


def on_servers(report: dict[str, Any], value: Callable[[dict[str, Any]], float]) -> tuple[list[int], list[float]]:
    """The sizes of libraries on a server, and a value of each."""
    found = [report[name] for name in ("server_small", "server", "grown_server")]
    return [section["photos"] for section in found], [value(section) for section in found]


def searching(section: dict[str, Any]) -> float:
    """CPU milliseconds of a search as the product asks."""
    found: float = (
        section["latency"][0]["server_cpu_milliseconds"]
        if "latency" in section
        else section["recall"][str(section["breadth"])]["milliseconds"]
    )
    return found


if __name__ == "__main__":
    main()
