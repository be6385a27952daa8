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
