"""Tables of docs/eye.md, from the figures of the eye that ships, and from the record of a shorter run."""

import json

from tables.reading import RECALL_HEADINGS, RECALLS, WEIGHTS, dated, result, swept, table

NAMES = {"flickr8k": "Flickr8K", "coco-all": "COCO", "iapr": "IAPR TC-12"}


def eye_retrieval() -> str:
    eye, beside = (json.loads((WEIGHTS / name / "config.json").read_text())["figures"] for name in ("eye", "vse"))
    without_ear = result("weights/vse-eye")["figures"]
    rows: list[list[object]] = []
    for split, figures in eye.items():
        name, _, part = split.partition("/")
        ways = [
            " / ".join(f"{figures[way][key]:.{int(key != 'median')}f}" for key in RECALLS) for way in ("i2t", "t2i")
        ]
        others = [f"{each[split]['sum']:.1f}" if split in each else "–" for each in (without_ear, beside)]
        rows.append([f"{NAMES.get(name, name)} {part}", *ways, f"{figures['sum']:.1f}", *others])
    header = ["photos", *RECALL_HEADINGS, "Sum", "Sum without the ear (`vse-eye`)", "Sum of `vse`"]
    dates = sorted({figures["date"][:10] for figures in eye.values()})
    return f"{table(header, rows)}\nMeasured {', '.join(dates)} by `seesay evaluate eye --data DATA --split SPLIT`.\n"


def eye_vectors() -> str:
    found = result("eye_vectors")["steps"][0]
    sums, recalls = found["figures"].values()
    names = list(next(iter(sums.values())))
    header = ["weight", *(NAMES.get(name, name) for name in names)]
    tables = [
        table(header, [[weight, *(f"{row[name]:.1f}" for name in names)] for weight, row in rows.items()])
        for rows in (
            {weight: row for weight, row in sums.items() if round(float(weight) * 100) % 20 == 0},
            {weight: row for weight, row in recalls.items() if round(float(weight) * 10) % 3 == 0},
        )
    ]
    chosen = found["table"]
    return (
        f"Sum on dev for different weights of `vse`; {chosen['beside_weight']} was chosen:\n\n{tables[0]}\n"
        "R@1 + R@5 + R@10 of images for different weights of the hubness correction; "
        f"{chosen['hub_weight']} was chosen:\n\n"
        f"{tables[1]}\nChosen by `seesay tune eye --only vectors`.\n"
    )


def eye_words() -> str:
    found = result("eye_words")["models"]["eye"]
    typos, words = found["typos"], found["words"]
    rows: list[list[object]] = [
        [f"{typos['n']} captions, {name}", *(f"{recalls[key]:.1f} %" for key in ("r1", "r5", "r10"))]
        for name, recalls in typos["recalls"].items()
    ]
    by_class = sorted(words["classes"].items(), key=lambda pair: pair[1])
    low, high = ([f"*{name}* {share:.0f} %" for name, share in some] for some in (by_class[:3], by_class[-3:][::-1]))
    note = (
        f"Names of {words['n_classes']} ImageNet classes that no training caption has, as queries: a photo of the "
        f"class scores above another in {words['chance']:.1f} % of pairs (chance: 50 %). Best: "
        f"{', '.join(high)}. Worst: {', '.join(low)}."
    )
    return f"{table(['queries', 'R@1', 'R@5', 'R@10'], rows)}\n{note}\n"


def eye_captions() -> str:
    found = result("caption_matching")["steps"][0]
    chosen = found["table"]
    weights = {
        key.rpartition(" ")[2]: row
        for key, row in found["figures"].items()
        if key.startswith(f"{chosen['candidates']} candidates")
    }
    names = list(next(iter(weights.values())))
    header = ["weight", *(f"{NAMES.get(name, name)}: B-4 / CIDEr" for name in names)]
    rows: list[list[object]] = [
        [weight, *(f"{row[name]['bleu4']:.3f} / {row[name]['cider']:.3f}" for name in names)]
        for weight, row in weights.items()
    ]
    return (
        f"Captions on dev for different weights of the cosine (0: the captioner alone); {chosen['weight']:g} was "
        f"chosen, by the mean CIDEr:\n\n{table(header, rows)}\nChosen by `seesay tune mrnn --only matching`.\n"
    )


def eye_seeds() -> str:
    found = result("eye_seeds")
    groups = found["seeds"]
    frozen, learning = groups["frozen"], groups["learning"]
    sums = {(row["group"], row["variant"]): row["dev"]["sum"] for row in found["rows"]}
    names = [row["variant"] for row in found["rows"] if row["group"] == "learning"]
    rows: list[list[object]] = [
        [name, f"{sums['frozen', name]:.1f}", f"{sums['learning', name]:.1f}",
         f"{sums['learning', name] - sums['frozen', name]:+.1f}"]
        for name in names
    ]  # fmt: skip
    both = (frozen, learning)
    rows.append(["mean", *(f"{of['mean']:.1f}" for of in both), f"{learning['mean'] - frozen['mean']:+.1f}"])
    rows.append(["range", *(f"{of['lowest']:.1f} to {of['highest']:.1f}" for of in both), ""])
    apart = learning["lowest"] > frozen["highest"]
    verdict = (
        "The worst learning run is above the best frozen one."
        if apart
        else "The ranges overlap: these seeds do not separate the two."
    )
    text = table(["", "frozen: dev Sum", "learning: dev Sum", "difference"], rows)
    return dated(f"{text}\n{verdict}\n", found, swept("eye_seeds"))


TABLES = (eye_retrieval, eye_vectors, eye_words, eye_captions, eye_seeds)
