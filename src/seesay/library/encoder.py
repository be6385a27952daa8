"""The model of a library's first stage: one vector for each photo and for each query."""

from typing import TYPE_CHECKING, Protocol

from seesay.library.indexing.encoding import PhotoEncoder, WeightsPhotoEncoder
from seesay.library.ranking.encoding import QueryEncoder, WeightsQueryEncoder, no_single_vector

if TYPE_CHECKING:
    from seesay.runtime.matching import Model


class Encoder(PhotoEncoder, QueryEncoder, Protocol):
    """What a library needs of a model: the half for indexing and the half for search."""

    @property
    def model(self) -> "Model":
        """The model itself, for what needs more than vectors."""


class WeightsEncoder(WeightsPhotoEncoder, WeightsQueryEncoder):
    """Trained weights by name or folder."""

    def require_first(self) -> None:
        """Refuse weights that cannot be the first stage of search.

        Raises:
            SeesayError: They do not keep a photo as one vector.
        """
        if self.role is None or self.role.stage != "first":
            raise no_single_vector(self.name)
