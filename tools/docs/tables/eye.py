"""Tables of docs/eye.md, from the figures of the eye that ships, and from the record of a shorter run."""

import json

from tables.reading import RECALL_HEADINGS, RECALLS, WEIGHTS, dated, result, swept, table

LEARNED_ON = (
    "as shipped",
    "learned on without wrong sentences",
    "learned on with wrong sentences",
    "mean of that and as shipped",
)
SEEDS = 3
"""What the claim that learning helps asks for."""
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


def eye_wrong() -> str:
    found = result("wrong_sentences")
    models = {name: found["models"][name] for name in LEARNED_ON}
    names = list(next(iter(models.values()))["sums"])
    sums = [
        [name, *(f"{row['sums'][each]:.1f}" for each in names), f"{row['mean']:.1f}"] for name, row in models.items()
    ]
    trials: list[list[object]] = [
        [name, split, *(f"{share:.1f} %" for share in row["trials"][split].values())]
        for name, row in models.items()
        for split in row["trials"]
    ]
    kinds = next(iter(models.values()))["trials"]["dev"]
    both = (
        f"Sum on dev:\n\n{table(['the ear', *(NAMES.get(name, name) for name in names), 'mean'], sums)}\n"
        f"Two-way trials on Flickr8K, where a coin has 50 %:\n\n{table(['the ear', 'photos', *kinds], trials)}"
    )
    return dated(both, found, "python -m benchmarks.ablations.wrong_sentences")


def eye_seeds() -> str:
    found = result("eye_seeds")
    groups = found["seeds"]
    sums = {(row["group"], row["variant"]): row["dev"]["sum"] for row in found["rows"]}
    start = f"{found['start']['figures']['flickr8k/dev']['sum']:.1f}"
    rows: list[list[object]] = [["the start", start, start, ""]]
    others: list[list[object]] = []  # of another rate
    for (group, name), learned in sums.items():
        kept = sums.get((group.replace("learning", "frozen"), name))
        if group.startswith("learning") and kept is not None:
            label = name + group.removeprefix("learning")
            listed = rows if group == "learning" else others
            listed.append([label, f"{kept:.1f}", f"{learned:.1f}", f"{learned - kept:+.1f}"])
    both = [groups[group] for group in ("frozen", "learning") if group in groups]
    n = min(of["n"] for of in both) if len(both) == 2 else 0
    if n > 1:
        rows.append(["mean", *(f"{of['mean']:.1f}" for of in both), f"{both[1]['mean'] - both[0]['mean']:+.1f}"])
        rows.append(["range", *(f"{of['lowest']:.1f} to {of['highest']:.1f}" for of in both), ""])
    few = f"Seeds of the recipe that were run: {n} of {SEEDS}. This decides nothing."
    verdict = few if n < SEEDS else _verdict(*both)
    text = table(["", "frozen: dev Sum", "learning: dev Sum", "difference"], [*rows, *others])
    return dated(f"{text}\n{verdict}\n", found, swept("eye_seeds"))


def _verdict(frozen: dict[str, float], learning: dict[str, float]) -> str:
    if learning["lowest"] > frozen["highest"]:
        return "The worst learning run is above the best frozen one."
    if learning["highest"] < frozen["lowest"]:
        return "The best learning run is below the worst frozen one."
    return "The ranges overlap: these seeds do not separate the two."


TABLES = (eye_retrieval, eye_vectors, eye_words, eye_captions, eye_wrong, eye_seeds)
