"""The public names of the package, and that importing it costs nothing."""

import subprocess
import sys

import pytest

import seesay


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import sys, seesay; dir(seesay); print([n for n in ('torch', 'numpy', 'PIL', 'typer') if n in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert finished.stdout == "[]\n", finished.stderr


@pytest.mark.parametrize("name", seesay.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(seesay, name)
    assert name in dir(seesay)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'seesay' has no attribute 'laod'"):
        _ = seesay.laod


VERBS = (
    *("search", "caption", "ground", "describe", "identify", "match", "explain", "open_image", "load"),
    *("find_regions", "find_neighbours", "nearest_words", "map_collection"),
)


def test_verbs_stay_functions_after_everything_is_imported() -> None:
    """A package of the same name would take the place of a verb as soon as something imports it."""
    program = f"""
import pkgutil, types
from importlib import import_module
import seesay
for module in pkgutil.iter_modules(seesay.__path__):  # deeper ones are attributes of their packages
    if module.name != "__main__":
        import_module(f"seesay.{{module.name}}")
print([name for name in {VERBS} if not isinstance(getattr(seesay, name), types.FunctionType)])
print(isinstance(seesay.Library, type))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert finished.stdout == "[]\nTrue\n", finished.stderr


def test_a_missing_file_is_found_before_anything_heavy_is_imported() -> None:
    program = """
import sys, seesay
for call in (
    lambda: seesay.caption("nowhere.jpg"),
    lambda: seesay.identify("a cat", ["nowhere.jpg"]),
    lambda: seesay.match("nowhere.jpg", "a cat"),
    lambda: seesay.ground("nowhere.jpg", "a cat"),
    lambda: seesay.explain("nowhere.jpg", "a cat"),
):
    try:
        call()
    except seesay.SeesayError as error:
        print("nowhere.jpg" in str(error), "torch" in sys.modules)
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert finished.stdout == "True False\n" * 5, finished.stderr
