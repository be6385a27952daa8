"""The model of a library's first stage: one vector for each photo and for each query."""

from typing import TYPE_CHECKING, Protocol

from seesay.library.indexing.encoding import PhotoEncoder, WeightsPhotoEncoder
from seesay.library.ranking.encoding import QueryEncoder, WeightsQueryEncoder

if TYPE_CHECKING:
    from seesay.models.base import Matcher


class Encoder(PhotoEncoder, QueryEncoder, Protocol):
    """What a library needs of a model: the half for indexing and the half for search."""

    @property
    def matcher(self) -> "Matcher":
        """The model itself, for what needs more than vectors."""


class WeightsEncoder(WeightsPhotoEncoder, WeightsQueryEncoder):
    """Trained weights by name or folder."""
