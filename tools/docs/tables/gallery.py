"""Tables of docs/gallery.md: sixty photos nobody chose, and queries of one or two words."""

import csv

from tables.reading import RESULTS, dated, result, table

VERDICTS = ("right", "half", "half+", "wrong", "wrong+")


def gallery() -> str:
    """How many texts are right, half right and wrong."""
    found = result("gallery")
    rows: list[list[object]] = [
        [kind, *(counts.get(verdict, 0) for verdict in VERDICTS)] for kind, counts in found["counts"].items()
    ]
    names = ", ".join(f"{number} is `{name}`" for number, name in enumerate(found["captioners"], 1))
    text = table(["texts", *VERDICTS], rows) + f"\nOf the captioners, {names}."
    return dated(text, found, "python -m benchmarks.quality.gallery --count")


def gallery_photos() -> str:
    """What was said of each photo, with its verdict."""
    found = result("gallery")
    with (RESULTS / "gallery.tsv").open(encoding="utf-8", newline="") as file:
        verdicts = {(row["photo"], row["text"]): row["verdict"] for row in csv.DictReader(file, delimiter="\t")}
    rows: list[list[object]] = []
    for entry in found["photos"]:
        cells = [
            f"{each['text']}{' (unsure)' if each['unsure'] else ''}: {verdicts[entry['photo'], each['text']]}"
            for each in entry["captions"]
        ]
        rows.append([entry["photo"], *cells])
    return table(["photo", *(f"`{name}`" for name in found["captioners"])], rows)


def short_queries() -> str:
    """Average precision of short queries, by what is changed in their vectors."""
    found = result("short_queries")
    ways = found["average_precision_and_p5"]
    rows: list[list[object]] = [
        [way, *(" / ".join(f"{own[kind][0]:.1f}" for kind in own) for own in by_name.values())]
        for way, by_name in ways.items()
    ]
    first = next(iter(ways.values()))
    kinds = " / ".join(next(iter(first.values())))
    header = ["vector of the query", *(f"{name}/dev: {kinds}" for name in first)]
    return dated(table(header, rows), found, "python -m benchmarks.quality.short_queries")


SHORT_REGIONS = (
    "eye", "as search does", "alignment, 20 photos, 0.4", "alignment, 20 photos, 0.6", "alignment, 50 photos, 0.6",
    "alignment, 100 photos, 0.4", "alignment, 100 photos, 0.6", "alignment, 100 photos, 0.8", "best region, 0.4",
    "standing out, 0.4", "against others, 0.4", "that of the thing, 0.4", "many regions, 0.4",
)  # fmt: skip
"""The ways that the documentation shows; the record has all."""


def short_regions() -> str:
    """Average precision of short queries whose best photos are reranked by their regions."""
    found = result("short_regions")
    ways = found["average_precision_and_p5"]
    kinds = list(next(iter(ways["eye"].values())))

    def say(own: dict[str, list[float]]) -> str:
        return " / ".join(f"{own[kind][0]:.1f}" if kind in own else "–" for kind in kinds)

    sizes = found["collections"]
    rows: list[list[object]] = [[way, *(say(ways[way].get(name, {})) for name in sizes)] for way in SHORT_REGIONS]
    header = ["order of the best photos", *(f"{name}/dev: {' / '.join(kinds)}" for name in sizes)]
    asked = "; ".join(
        f"{name} {' / '.join(str(own['queries'].get(kind, 0)) for kind in kinds)} queries over {own['photos']} photos"
        for name, own in sizes.items()
    )
    return dated(table(header, rows) + f"\n{asked}.", found, "python -m benchmarks.quality.short_regions --photos 500")


def short_texts() -> str:
    """Average precision of short texts by how many words they have, and by how much hubness counts for."""
    found = result("short_texts")["steps"][0]
    figures = found["figures"]["average precision by words and share"]
    rows: list[list[object]] = []
    for (words, by_share), chosen in zip(sorted(figures.items()), found["table"]["shares"], strict=True):
        for share, by_name in by_share.items():
            mark = "**" if float(share) == chosen else ""
            rows.append([words, f"{mark}{share}{mark}", *(f"{own:.1f}" for own in by_name.values())])
    names = next(iter(next(iter(figures.values())).values()))
    header = ["content words", "share of hubness", *(f"{name}/{found['split']}" for name in names)]
    return f"{table(header, rows)}\n\nThe shares in bold ship. Chosen by `seesay tune eye --only short`.\n"


def short_blend() -> str:
    """What search finds by how much regions count: with whole sentences, and with short texts."""
    found = next(step for step in result("tuning/dvsa-search")["steps"] if step["section"] == "cascade")
    chosen, figures = found["table"], found["figures"]
    whole = {key: chosen[key] for key in ("k", "weight")}
    short = chosen.get("short", [])
    kinds = [("sentences", figures["R@1 + R@5 + R@10 of sentences"], whole)]
    for words, tried in sorted(figures["average precision of short queries by words"].items()):
        kind = "1 content word" if words == "1" else f"{words} content words"
        kinds.append((kind, tried, short[int(words) - 1] if int(words) <= len(short) else whole))
    rows: list[list[object]] = []
    for kind, tried, own in kinds:
        ships = f"{own['k']} photos, {own['weight']}"
        as_sentences = f"{whole['k']} photos, {whole['weight']}"
        without = next(way for way in tried if way.endswith(", 0.0"))
        for way in dict.fromkeys((without, as_sentences, ships)):
            shown = "none" if way == without else f"**{way}**" if way == ships else way
            rows.append([kind, shown, *(f"{value:.1f}" for value in tried[way].values())])
    names = next(iter(kinds[0][1].values()))
    header = ["queries", "photos reranked and weight", *(f"{name}/{found['split']}" for name in names)]
    note = "Of sentences R@1 + R@5 + R@10, of others average precision. What is bold ships."
    return f"{table(header, rows)}\n\n{note} Chosen by `seesay tune dvsa --only cascade`.\n"


TABLES = (gallery, gallery_photos, short_queries, short_texts, short_regions, short_blend)
