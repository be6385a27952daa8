"""Run the cells of docs/tour.ipynb and write down what they show.

The cells run in this process, one after the other, in a folder of their own. A Jupyter kernel would need four more
packages and a second process to do the same: the notebook uses plain Python only.

    python tools/docs/notebook.py            renew the outputs
    python tools/docs/notebook.py --check    fail where an output is stale
"""

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tutorial import ROOT, SHOWN, agree, tour

NOTEBOOK = ROOT / "docs/tour.ipynb"


def run_cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each code cell with its outputs, as the notebook format has them; to be called where the photos may be copied."""
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(codes, 1):
        yield cell, run_cell("".join(cell["source"]), names, number)


def run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; give what it prints and, of a last line that is an expression, the value."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.replace(str(Path.cwd()), SHOWN).splitlines(keepends=True)


def text_of(outputs: list[dict[str, Any]]) -> str:
    """What outputs say in words: pictures are left out."""
    return "\n".join("".join(each["text"] if "text" in each else each["data"]["text/plain"]) for each in outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where an output is stale")
    check = parser.parse_args().check
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    stale = []
    with tour():
        for number, (cell, outputs) in enumerate(run_cells(notebook), 1):
            if not agree(text_of(cell["outputs"]), text_of(outputs)):
                stale.append(f"cell {number} shows\n{text_of(outputs)}\nand not\n{text_of(cell['outputs'])}")
            cell.update(outputs=outputs, execution_count=number)
    if check and stale:
        sys.exit("\n".join([*stale, "docs/tour.ipynb is stale; renew it: python tools/docs/notebook.py"]))
    if not check:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
