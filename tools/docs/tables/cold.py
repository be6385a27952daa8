"""The table of a search as it is typed, step by step."""

from tables.reading import dated, result, table

STEPS = {
    "python": "the interpreter",
    "numpy": "importing NumPy",
    "onnxruntime": "importing ONNX Runtime",
    "modules": "importing all other modules",
    "library": "opening the library",
    "words": "reading tokenizers and vocabularies",
    "graphs": "opening the graphs of sentences",
    "sentence": "encoding the query",
    "ranking": "ranking, with the later stage",
}
SAVED = {
    "graphs that were not kept": "opening graphs that were not kept",
    "an orderly end": "taking the interpreter down in order",
    "typer": "importing typer",
    "rich": "importing rich",
}


def cold_query() -> str:
    """Where the time of a search as typed goes, and what is done without."""
    found = result("cold")
    rows: list[list[object]] = [[name, f"{found['cpu_milliseconds'][step]:.0f} ms", ""] for step, name in STEPS.items()]
    rows.append(["**the command**", f"**{found['command_cpu_milliseconds']} ms**", ""])
    rows += [[name, "", f"{found['cpu_milliseconds_saved'][step]:.0f} ms"] for step, name in SAVED.items()]
    note = (
        f"Processor time; the steps were timed apart from the command. The command took "
        f"{found['command_milliseconds']} ms, at the least {found['command_milliseconds_least']} ms, and "
        f"{found['command_peak_megabytes']} MB."
    )
    header = ["step", "takes", "would take, and is avoided"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.cold")


TABLES = (cold_query,)
