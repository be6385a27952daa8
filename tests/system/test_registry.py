"""Classes that register themselves, here and in other packages."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.system.registry import Registry


@pytest.fixture
def registry() -> Registry[type]:
    """Of a package that has no class of the kind."""
    return Registry("shape", "seesay.system", "register_shape", "seesay.test_shapes")


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with one class that works and one that cannot be imported."""
    (tmp_path / "round_shapes.py").write_text("class Circle: pass\n")
    (tmp_path / "broken_shapes.py").write_text("import a_package_that_is_not_there\n")
    about = tmp_path / "round_shapes-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: round-shapes\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[seesay.test_shapes]\ncircle = round_shapes:Circle\nspiral = broken_shapes:Spiral\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("round_shapes", "broken_shapes"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_class_is_found_by_its_name_and_knows_it(registry: Registry[type]) -> None:
    @registry.register("square")
    class Square:
        name: str

    assert registry.find("square") is Square
    assert Square.name == "square"
    assert registry.names() == ["square"]


def test_two_classes_cannot_have_one_name(registry: Registry[type]) -> None:
    registry.register("square")(type("Square", (), {}))
    with pytest.raises(SeesayError, match=r"Other registers the shape 'square', which is .*Square"):
        registry.register("square")(type("Other", (), {}))


def test_the_same_class_again_takes_its_own_place(registry: Registry[type]) -> None:
    registry.register("square")(type("Square", (), {}))
    again = type("Square", (), {})
    registry.register("square")(again)
    assert registry.find("square") is again


def test_names_of_modules_are_known_before_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lazy_shapes"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from seesay.system.registry import Registry\n"
        "REGISTRY = Registry('shape', 'lazy_shapes', 'register_shape', 'seesay.test_none')\n"
        "register_shape = REGISTRY.register\n"
    )
    (package / "angular.py").write_text(
        "from lazy_shapes import register_shape\n\n\n"
        '@register_shape("square")\nclass Square: ...\n\n\n@register_shape("kite")\nclass Kite: ...\n'
    )
    (package / "broken.py").write_text("1 / 0\n")  # nobody asks for it
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_shapes  # type: ignore[import-not-found]

    assert lazy_shapes.REGISTRY.names() == ["kite", "square"]
    assert "lazy_shapes.angular" not in sys.modules
    assert lazy_shapes.REGISTRY.find("kite").__name__ == "Kite"


@pytest.mark.usefixtures("other_package")
class TestEntryPoints:
    def test_a_class_of_another_package_is_found(self, registry: Registry[type]) -> None:
        assert registry.names() == ["circle", "spiral"]
        assert "round_shapes" not in sys.modules
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the broken one is not touched
            assert registry.find("circle").__name__ == "Circle"

    def test_one_that_cannot_be_imported_is_a_warning_with_its_name_and_the_rest_works(
        self, registry: Registry[type]
    ) -> None:
        registry.register("square")(type("Square", (), {}))
        with (
            pytest.warns(UserWarning, match=r"the shape 'spiral' \(broken_shapes:Spiral\) cannot be imported: Mod"),
            pytest.raises(SeesayError, match=r"there is no shape 'cube'\n  allowed: circle, square"),
        ):
            registry.find("cube")
        assert registry.names() == ["circle", "square"]
        assert registry.find("circle").__name__ == "Circle"

    def test_asking_for_the_one_that_cannot_be_imported_says_why(self, registry: Registry[type]) -> None:
        with (
            pytest.warns(UserWarning, match="'spiral'"),
            pytest.raises(SeesayError, match=r"no shape 'spiral': its package cannot be imported \(ModuleNotFound"),
        ):
            registry.find("spiral")


def test_nobody_waits_for_torch_to_see_names() -> None:
    program = (
        "import sys, seesay, seesay.models.registry as models; "
        "print(models.families()); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "'vse'" in done.stdout
