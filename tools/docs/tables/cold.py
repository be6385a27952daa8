"""The table of one search command, step by step."""

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
    "an orderly end": "shutting the interpreter down in order",
    "typer": "importing typer",
    "rich": "importing rich",
}


def cold_query() -> str:
    """How long each step of one search command takes, and which steps are avoided."""
    found = result("cold")
    rows: list[list[object]] = [[name, f"{found['cpu_milliseconds'][step]:.0f} ms", ""] for step, name in STEPS.items()]
    rows.append(["**the command**", f"**{found['command_cpu_milliseconds']} ms**", ""])
    rows += [[name, "", f"{found['cpu_milliseconds_saved'][step]:.0f} ms"] for step, name in SAVED.items()]
    note = (
        f"Processor time; each step was timed on its own. By the clock the command took "
        f"{found['command_milliseconds']} ms (fastest run {found['command_milliseconds_least']} ms); it used "
        f"{found['command_peak_megabytes']} MB."
    )
    header = ["step", "takes", "avoided: would take"]
    return dated(table(header, rows) + f"\n{note}", found, "python -m benchmarks.speed.cold")


TABLES = (cold_query,)
