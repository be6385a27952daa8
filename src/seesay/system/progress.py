"""How work that takes its time reports how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
