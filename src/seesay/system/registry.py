"""Named classes that register themselves: models, learning tasks, image networks.

A class of this package registers itself by a decorator in its own module:

    @register_model("vse")
    class VSE(Matcher): ...

Importing all modules to know the names would import torch, so the modules of the package are searched for the decorator
instead, which takes milliseconds; a module is imported when one of its names is asked for. (Entry points of our own
would need no search, but exist only where the package is installed, not in a working copy.)

Another package brings a class by an entry point whose name is the name of the class:

    [project.entry-points."seesay.models"]
    clip = "my_package.clip"              # a module that uses the decorator, or "my_package.clip:CLIP"
"""

import re
import warnings
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

from seesay.errors import SeesayError

Kind = TypeVar("Kind", bound=type)
Registered = TypeVar("Registered", bound=type)


class Registry(Generic[Kind]):
    """Classes by name.

    Args:
        what: What one of them is called in messages, such as "model family".
        package: Whose modules are searched for the decorator.
        decorator: The name of the decorator in these modules.
        group: Of the entry points of other packages.
        attribute: The attribute of a class that is set to its name.
    """

    def __init__(self, what: str, package: str, decorator: str, group: str, attribute: str = "name") -> None:
        self._what = what
        self._package = package
        self._decorator = decorator
        self._group = group
        self._attribute = attribute
        self._classes: dict[str, Kind] = {}
        self._failures: dict[str, str] = {}

    def register(self, name: str) -> Callable[[Registered], Registered]:
        """A decorator that registers a class under a name.

        Raises:
            SeesayError: Another class has the name.
        """

        def add(found: Registered) -> Registered:
            self.add(name, found)  # type: ignore[arg-type]
            return found

        return add

    def add(self, name: str, found: Kind) -> None:
        """Register a class; the same one again, as a module that is imported twice gives it, takes its place."""
        before = self._classes.get(name)
        if before is not None and _place(before) != _place(found):
            raise SeesayError(f"{_place(found)} registers the {self._what} {name!r}, which is {_place(before)}")
        setattr(found, self._attribute, name)
        self._classes[name] = found

    def names(self) -> list[str]:
        """All names, in alphabetical order; nothing is imported."""
        others = [name for name in self._entry_points() if name not in self._failures]
        return sorted({*self._classes, *self._modules, *others})

    def imported(self) -> list[Kind]:
        """The classes whose modules were imported so far."""
        return list(self._classes.values())

    def __contains__(self, name: object) -> bool:
        """Whether there is a class of a name; packages of others are looked through only where this one has none."""
        if name in self._classes or name in self._modules:
            return True
        return name in self._entry_points() and name not in self._failures

    def find(self, name: str) -> Kind:
        """The class of a name, imported where it was not.

        Raises:
            SeesayError: There is none; the names that there are, and the packages that cannot be imported, are named.
        """
        if name not in self._classes and name in self._modules:
            module = import_module(self._modules[name])
            if name not in self._classes:  # it was imported before, into a registry that is not there any more
                for each in vars(module).values():
                    if isinstance(each, type) and vars(each).get(self._attribute) == name:
                        self.add(name, each)  # type: ignore[arg-type]
        if name not in self._classes:
            self._load_entry_points(name)
        if name not in self._classes:
            why = self._failures.get(name)
            raise SeesayError(
                f"there is no {self._what} {name!r}" + (f": its package cannot be imported ({why})" if why else ""),
                allowed=self.names(),
                hint=f"pip install the package that brings {name!r}",
            )
        return self._classes[name]

    def _load_entry_points(self, name: str) -> None:
        """Import the entry point of a name, or all of them: a module may register more than its own name."""
        known = self._entry_points()
        for entry in [known[name]] if name in known else list(known.values()):
            if entry.name in self._classes or entry.name in self._failures:
                continue
            try:
                loaded = entry.load()
                if isinstance(loaded, type) and entry.name not in self._classes:
                    self.add(entry.name, loaded)  # type: ignore[arg-type]
            except Exception as error:  # whatever the code of another package raises
                self._failures[entry.name] = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"the {self._what} {entry.name!r} ({entry.value}) cannot be imported: {self._failures[entry.name]}",
                    stacklevel=2,
                )

    def _entry_points(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self._group)}

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Names of this package → the modules that register them."""
        spec = find_spec(self._package)
        folders = spec.submodule_search_locations if spec is not None else None
        pattern = re.compile(rf'^@{self._decorator}\("([^"]+)"', re.MULTILINE)
        return {
            name: ".".join([self._package, *path.relative_to(folder).with_suffix("").parts])
            for folder in folders or ()
            for path in sorted(Path(folder).rglob("*.py"))
            for name in pattern.findall(path.read_text(encoding="utf-8"))
        }


def _place(found: type) -> str:
    return f"{found.__module__}.{found.__qualname__}"
