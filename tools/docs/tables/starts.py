"""Tables of docs/eye.md about the ImageNet network that an eye can start from."""

from typing import Any

from tables.reading import dated, result, table

NAMES = {"efficientnet-lite2": "Lite2", "efficientnet-lite3": "Lite3"}


def starts() -> str:
    found = result("starts")
    rows: list[list[object]] = [
        [
            " and ".join(NAMES[name] for name in row["networks"]),
            row["size"],
            *(" / ".join(f"{row[way][key]:.1f}" for key in ("r1", "r5", "r10")) for way in ("i2t", "t2i")),
            f"{row['sum']:.1f}",
            _difference(row["difference"]) if row["networks"] != found["rows"][0]["networks"] else "–",
        ]
        for row in found["rows"]
    ]
    header = [
        "network",
        "pixels",
        "sentence retrieval: R@1 / 5 / 10",
        "image retrieval: R@1 / 5 / 10",
        "Sum",
        "to Lite2",
    ]
    note = (
        f"Fitted on {found['train_images']:,} training photos of Flickr8K, measured on {found['dev_images']:,} dev "
        "photos. *To Lite2*: the difference in Sum at the same size, with its 95 % interval over dev photos."
    )
    return dated(f"{table(header, rows)}\n{note}", found, _command(found))


def starts_cost() -> str:
    found = result("starts_speed")
    rows: list[list[object]] = [
        [
            NAMES[row["network"]],
            row["size"],
            f"{row['cpu_ms_per_photo']:.1f} ms",
            f"{row['relative_time']:.2f}×",
            f"{row['network_mb']:.1f} MB",
            f"{row['upper_mb']:.1f} MB",
            f"{row['activations_kb']:.0f} KB",
        ]
        for row in found["rows"]
    ]
    header = ["network", "pixels", "CPU time per photo", "ratio", "size", "its upper half", "activations per photo"]
    note = (
        "CPU time in ONNX Runtime on one thread; sizes in half precision. Activations are what training keeps of each "
        "photo between the halves."
    )
    return dated(f"{table(header, rows)}\n{note}", found, "python -m benchmarks.speed.starts")


def starts_check() -> str:
    found = result("dequantised")
    whole = found["whole"]["scaled"]
    return dated(
        f"Given the same input, each of the {found['layers']} convolutions agrees with TFLite's own within "
        f"{found['largest_error_in_steps']:.2f} steps of the 8-bit scale ({found['layer_photos']} photos; half a step "
        "is rounding). From pixels to the vector, TFLite rounds to 8 bits after every layer and torch does not: the "
        f"mean cosine of both vectors is {whole['mean_cosine']:.3f} over {found['photos']} photos, and both name the "
        f"same ImageNet class for {whole['same_class']:.0f} % of them.",
        found,
        "python -m benchmarks.ablations.dequantised",
    )


def _difference(found: dict[str, Any]) -> str:
    mean, low, high = (f"{found[key]:+.1f}".replace("-", "− ").replace("+", "+ ") for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def _command(found: dict[str, Any]) -> str:
    return (
        f"python -m benchmarks.ablations.starts --train-images {found['train_images']} "
        f"--dev-images {found['dev_images']} --sizes {' '.join(map(str, found['sizes']))}"
    )


TABLES = (starts, starts_cost, starts_check)
