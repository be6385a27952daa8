"""README and docs say what the code does and what was measured."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from seesay.images.features import FeatureSpec
from seesay.training.recipe import (
    BatchRecipe,
    DataRecipe,
    DevRecipe,
    LossRecipe,
    OptimiserRecipe,
    Recipe,
    SourceRecipe,
    StopRecipe,
)

ROOT = Path(__file__).parents[2]
SECTIONS = (OptimiserRecipe, BatchRecipe, LossRecipe, StopRecipe)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_tables_are_those_that_were_measured() -> None:
    result = subprocess.run([sys.executable, ROOT / "tools/docs/render.py", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_kind_of_fault_has_the_tests_that_are_named() -> None:
    rows = re.findall(r"^\| \d+ \| .* \|$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 40
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, name in named:
            assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE), row


def test_every_key_of_a_recipe_is_in_the_docs() -> None:
    page = (ROOT / "docs/how-to/own-captions.md").read_text(encoding="utf-8")
    table = page.split("| section | keys |")[1].split("\n\n")[0]
    data = (SourceRecipe, DevRecipe, DataRecipe, FeatureSpec)
    keys = {field.name for kind in (Recipe, *data, *SECTIONS) for field in fields(kind)}
    assert {key for key in keys if not re.search(rf"\b{key}\b", table)} == {"expected_digest"}  # which weights fill in


def test_ci_runs_the_line_that_the_readme_shows() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("<!-- test line -->") == 1
    line = readme.split("<!-- test line -->\n```bash\n")[1].split("\n```")[0]
    assert "./check" in line
    assert "README.md" in (ROOT / ".ci/run").read_text()


def test_no_recorded_result_names_a_folder_of_the_machine() -> None:
    patterns = ("benchmarks/results/*.json", "src/seesay/weights/*/*.json", "recipes/*")
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert files
    assert [path.name for path in files if re.search(r'"/\w|"~/', path.read_text())] == []
