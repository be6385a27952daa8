"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

from seesay.files import data_dir


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; tests that need it are skipped where it is not set."""
    root = data_dir()
    if root is None or not root.is_dir():
        reason = "needs real data: set SEESAY_DATA to a folder that holds flickr8k, flickr30k_entities and coco"
        if os.environ.get("SEESAY_EXPECT_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return root
