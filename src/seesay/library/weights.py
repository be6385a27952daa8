"""A folder of trained weights as a library knows it; graphs are opened when the first photo or query needs them."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seesay.catalogue import weights
from seesay.errors import SeesayError
from seesay.library.types import Fingerprint

if TYPE_CHECKING:
    from seesay.runtime.matching import Model
    from seesay.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Role:
    """What a model can be in search.

    Attributes:
        stage: `first` (one vector a photo), `regions`, `captions`, or the name of a stage of somebody else's.
        dim: Numbers per vector that it keeps of a photo.
    """

    stage: str
    dim: int


FLOAT, INT8 = "float", "int8"
PRECISIONS = (INT8, FLOAT)
"""How a library's photos go through the network: in 8 bits, or as the weights are stored."""


def precision_of(fingerprint: Fingerprint | None) -> str | None:
    """The precision of what a library was made with; None where it is still empty.

    Example:
        >>> precision_of(Fingerprint("eye", "", "efficientnet-lite2-300-squash-9656183eaeaf-int8", 1281))
        'int8'
    """
    if fingerprint is None:
        return None
    return INT8 if fingerprint.features.endswith(f"-{INT8}") else FLOAT


def to_type(held: Fingerprint, own: Fingerprint) -> str:
    """The option of `seesay library rebuild` by which a library that was made with one is made with the other."""
    same = replace(held, features=own.features) == own and precision_of(held) != precision_of(own)
    return f"--precision {precision_of(own)}" if same else f"--model {own.model}"


class LibraryWeights:
    """Trained weights by name or folder: what they are, and the model that they belong to.

    Args:
        precision: One of `PRECISIONS`; by default 8 bits where the network is installed so and this processor computes
            it exactly.

    Raises:
        SeesayError: There are no such weights, or there is no such precision.
    """

    def __init__(self, name: str | Path, precision: str | None = None) -> None:
        if precision not in (None, *PRECISIONS):
            raise SeesayError(f"there is no precision {precision!r}", allowed=PRECISIONS)
        self.name = str(name)
        self._wanted = precision
        self._found = weights.find(name)
        self.folder, self.about = self._found.folder.resolve(), self._found.about

    @property
    def config_file(self) -> str:
        """Where what they say about themselves is, for errors."""
        return str(self.folder / "config.json")

    def tuned(self, section: str) -> Any:
        """A table of their config.json that dev has chosen, or None.

        Raises:
            SeesayError: It was chosen beside other weights than those that are there.
        """
        return weights.tuned_table(weights.Weights(self.folder, self.about), section)

    @cached_property
    def role(self) -> Role | None:
        """What they can be in search, which their config.json says; None for nothing."""
        if "search" not in self.about:
            raise SeesayError(
                f"{self.config_file} does not say what {self.name} can be in search",
                hint=f"seesay export {self.name}",
            )
        found = self.about["search"]
        if found is None:
            return None
        try:
            return Role(str(found["stage"]), int(found["dim"]))
        except (KeyError, TypeError, ValueError) as error:
            raise SeesayError(f"{self.config_file}: 'search' is {found!r}", allowed="a stage and a dim") from error

    @cached_property
    def fingerprint(self) -> Fingerprint:
        features = self.about["features"]
        spec = "-".join(str(features.get(key, "")) for key in ("backbone", "size", "crop"))
        return Fingerprint(
            model=self.folder.name if weights.is_known_place(self.folder) else str(self.folder),
            weights=weights.weights_digest(self.folder)[:16],
            features=f"{spec}-{str(features.get('digest', ''))[:12]}" + (f"-{INT8}" if self.precision == INT8 else ""),
            dim=self.role.dim if self.role else int(self.about["config"].get("dim", 0)),
        )

    @cached_property
    def precision(self) -> str:
        """How photos go through the network."""
        if self._wanted is not None:
            return self._wanted
        from seesay.runtime.exact import has_rounded, is_exact

        network = str((self.about.get("graphs") or {}).get("network") or "")
        return INT8 if network and has_rounded(network, self.folder.parent) and is_exact() else FLOAT

    @property
    def vocabulary(self) -> "Tokenizer":
        """The words that captions taught: the model's own, or those of the embedding that stands beside it."""
        return self.model.caption_words

    @cached_property
    def model(self) -> "Model":
        """The model itself, for what needs more than vectors.

        Raises:
            SeesayError: The weights have no graphs.
        """
        from seesay.runtime.matching import Model

        return Model(self.folder)
