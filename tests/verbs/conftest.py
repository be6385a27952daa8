"""The sample photos, for verbs that run with the weights that ship."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import seesay


@pytest.fixture(scope="session")
def samples() -> Path:
    return Path(seesay.__file__).parent / "samples"


@pytest.fixture(scope="session")
def cat(samples: Path) -> Path:
    return samples / "cat.jpg"


@pytest.fixture(scope="session")
def coffee(samples: Path) -> Path:
    return samples / "coffee.jpg"


@pytest.fixture(scope="session")
def man(samples: Path) -> Path:
    return samples / "photographer.jpg"


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEESAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
