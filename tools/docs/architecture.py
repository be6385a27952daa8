"""Draw which room imports which, from the source, into docs/pictures/architecture.svg.

    python tools/docs/architecture.py            draw it
    python tools/docs/architecture.py --check    fail where the picture is stale

Every import counts: at the top of a module, inside a function, and for typing only. Rooms stand in the order of the
contract in pyproject.toml, the lowest at the bottom. Nearly all import `system` and `errors`, which is not drawn.
"""

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "seesay"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

Edge = tuple[str, str]

_WIDTH, _ROW, _TOP = 860, 56, 34
_BOX, _HIGH = 118, 30
_EVERYWHERE = ("system", "errors")


def modules() -> dict[str, Path]:
    """Dotted name below the package → file; a package is its `__init__`."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.removeprefix("seesay.") for name in node.names if name.name.startswith("seesay."))
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "seesay":
            module = (node.module or "").removeprefix("seesay").removeprefix(".")
            for name in node.names:
                inner = f"{module}.{name.name}".removeprefix(".")
                yield inner if inner in known else module


def module_edges() -> set[Edge]:
    """Which module imports which; the package's own `__init__` only hands names out and is left out."""
    known = modules()
    return {
        (name, other)
        for name, path in known.items()
        if name
        for other in imports(path, known)
        if other not in ("", name)
    }


def room(module: str) -> str:
    """The room that a module lies in."""
    return module.split(".")[0]


def room_edges() -> Counter[Edge]:
    """How many modules of one room import from another."""
    pairs = {(module, room(other)) for module, other in module_edges()}
    return Counter(
        (room(module), other) for module, other in pairs if room(module) != other and room(module) != "__main__"
    )


def layers() -> list[list[str]]:
    """The contract's rooms from the top; those of one row do not know each other."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract.get("containers") == ["seesay"])
    return [[name.strip(" ()") for name in row.split("|")] for row in rows]


def cycles(edges: set[Edge]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan's strongly connected components of two or more)."""
    after: dict[str, list[str]] = {}
    for a, b in sorted(edges):
        after.setdefault(a, []).append(b)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in after.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(after):
        if node not in index:
            visit(node)
    return found


def draw(rows: list[list[str]], edges: Counter[Edge]) -> str:
    """The picture as SVG text."""
    place = {
        name: (_WIDTH * (column + 1) / (len(row) + 1), _TOP + number * _ROW)
        for number, row in enumerate(rows)
        for column, name in enumerate(row)
    }
    number_of = {name: number for number, row in enumerate(rows) for name in row}
    height = 2 * _TOP + _ROW * (len(rows) - 1) + _HIGH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="14">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    # Rows that follow each other are joined by a straight line; longer ways bend outwards, the longer the further.
    for (above, below), n in sorted(edges.items()):
        if above not in place or below not in place or below in _EVERYWHERE:
            continue
        (x1, y1), (x2, y2) = place[above], place[below]
        far = number_of[below] - number_of[above]
        side = 1 if (number_of[above] + number_of[below]) % 2 else -1
        bend = 0 if far <= 1 else side * (60 + 19 * far)
        thick = 0.6 + min(n, 24) / 8
        parts.append(
            f'<path d="M{x1:.0f},{y1 + _HIGH:.0f} C{x1 + bend:.0f},{y1 + _HIGH + 20:.0f} {x2 + bend:.0f},{y2 - 20:.0f} '
            f'{x2:.0f},{y2:.0f}" fill="none" stroke="#5b7f9f" stroke-opacity="0.45" stroke-width="{thick:.1f}">'
            f"<title>{above} imports {below}: {n} modules</title></path>"
        )
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x - _BOX / 2:.0f}" y="{y:.0f}" width="{_BOX}" height="{_HIGH}" rx="6" fill="#eef4f9" '
            f'stroke="#2d5f86"/><text x="{x:.0f}" y="{y + 20:.0f}" text-anchor="middle" fill="#17324a">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def upward(rows: list[list[str]], edges: Counter[Edge]) -> list[Edge]:
    """Edges from a room to one that does not lie below it; there should be none."""
    number_of = {name: number for number, row in enumerate(rows) for name in row}
    return [(a, b) for a, b in sorted(edges) if number_of.get(a, -1) >= number_of.get(b, len(rows))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the picture is stale")
    arguments = parser.parse_args()
    picture = draw(layers(), room_edges())
    if not arguments.check:
        PICTURE.write_text(picture, encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != picture:
        sys.exit("docs/pictures/architecture.svg is stale: run python tools/docs/architecture.py")


if __name__ == "__main__":
    main()
