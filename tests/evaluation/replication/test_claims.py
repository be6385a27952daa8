"""Every claim of the papers has an answer, and the answer follows from what is recorded."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from seesay.errors import SeesayError
from seesay.evaluation.replication import claims as claims_module
from seesay.evaluation.replication import records as records_module
from seesay.evaluation.replication.claims import PAPERS, Claim, answer, claims_at, evaluate_rule, find_claims
from seesay.evaluation.replication.measuring import measure_claims
from seesay.evaluation.replication.records import Records, require_results
from seesay.evaluation.replication.showing import markdown, text

VERDICTS = {"replicates", "does not replicate", "cannot be measured here", "not yet measured", "stale"}
TABLE_2 = ["Table 2", "iapr", "m-RNN"]


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """A result of one benchmark, and weights that ship, trained a day before and a day after it was measured."""
    results, weights = tmp_path / "results", tmp_path / "weights"
    results.mkdir()
    rows = {"older": {"sum": 300.0}, "newer": {"sum": 310.0}}
    sweep = [{"variant": "full", "sum": 5.0, "steps": [1.0, 2.0]}]
    (results / "game.json").write_text(json.dumps({"date": "2026-11-10T10:00:00", "rows": rows, "sweep": sweep}))
    for name, day in (("older", "09"), ("newer", "11")):
        figures = {"toy/test": {"date": "2026-11-10T12:00:00", "i2t": {"r1": 25.0, "r5": 44.0}, "sum": 100.0}}
        (weights / name).mkdir(parents=True)
        about = {"name": name, "trained": f"2026-11-{day}", "figures": figures}
        (weights / name / "config.json").write_text(json.dumps(about))
    records_module.forget()
    return Records(results, weights)


def ask(monkeypatch: pytest.MonkeyPatch, records: Records, claim: Claim) -> tuple[str, str]:
    monkeypatch.setattr(claims_module, "find_claims", lambda paper: (claim,))
    (found,) = answer("mrnn", records)
    return found.verdict, found.why


def claim(rule: str = "", **given: object) -> Claim:
    return Claim("Table 0", "it works", rule=rule, command="seesay measure", **given)  # type: ignore[arg-type]


class TestVerdicts:
    def test_a_rule_over_recorded_figures_decides(self, monkeypatch: pytest.MonkeyPatch, records: Records) -> None:
        values = {"own": ["game", "rows", "older", "sum"]}
        assert ask(monkeypatch, records, claim("own > 290", values=values)) == ("replicates", "")
        assert ask(monkeypatch, records, claim("own > 310", values=values))[0] == "does not replicate"

    def test_figures_at_least_those_of_the_papers_row_replicate(
        self, monkeypatch: pytest.MonkeyPatch, records: Records
    ) -> None:
        ours = {"paper": TABLE_2, "improved": ["weights", "older", "toy/test"]}
        assert ask(monkeypatch, records, claim("improved", keys=["i2t.r1", "i2t.r5"], **ours))[0] == "replicates"
        # Nothing is recorded of R@10, and what is not recorded does not pass.
        assert ask(monkeypatch, records, claim("improved", keys=["i2t.r1", "i2t.r10"], **ours))[0] == "not yet measured"

    def test_what_is_not_recorded_names_the_command(self, monkeypatch: pytest.MonkeyPatch, records: Records) -> None:
        found = ask(monkeypatch, records, claim("own > 0", values={"own": ["game", "rows", "absent", "sum"]}))
        assert found == ("not yet measured", "`seesay measure`")

    def test_what_newer_weights_have_made_stale_says_so_by_name(
        self, monkeypatch: pytest.MonkeyPatch, records: Records
    ) -> None:
        for path in (["game", "rows", "newer", "sum"], ["weights", "newer", "toy/test", "sum"]):
            verdict, why = ask(monkeypatch, records, claim("own > 0", values={"own": path}))
            assert verdict == "stale"
            assert why == "measured 2026-11-10, before newer was trained on 2026-11-11: `seesay measure`"

    def test_what_cannot_be_measured_says_why(self, monkeypatch: pytest.MonkeyPatch, records: Records) -> None:
        assert ask(monkeypatch, records, claim(because="no photos")) == ("cannot be measured here", "no photos")


def test_paths_go_through_lists_by_what_an_entry_says_and_by_number(records: Records) -> None:
    found = records.find(["game", "sweep", "variant=full", "steps", "1"])
    assert found is not None
    assert (found.value, found.date) == (2.0, "2026-11-10")
    assert records.find(["game", "sweep", "variant=half", "sum"]) is None
    assert records.find(["no-such-game", "sum"]) is None
    assert Records(None, records.weights).find(["game", "rows"]) is None


def test_a_damaged_record_is_named(records: Records) -> None:
    assert records.results is not None
    (records.results / "broken.json").write_text("{")
    with pytest.raises(SeesayError, match=r"cannot read the record .*broken\.json"):
        records.find(["broken", "sum"])
    with pytest.raises(SeesayError, match="holds no results"):
        require_results(records.weights)


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("a > b + 5", True),
        ("a < b or b >= 10", True),
        ("a - b > 20", False),
        ("a > b + SUM", True),
        ("a > b + 2 * SUM", False),
    ],
)
def test_rules_compare_figures(rule: str, holds: bool) -> None:
    assert evaluate_rule(rule, {"a": 20.0, "b": 10.0}) is holds


def test_rules_are_no_programs() -> None:
    with pytest.raises(ValueError, match="a rule compares figures"):
        evaluate_rule("__import__('os')", {})


@pytest.mark.parametrize("paper", PAPERS)
class TestPapers:
    def test_every_claim_is_answered(self, paper: str) -> None:
        answers = answer(paper, Records())
        assert len(answers) > 10
        assert {found.verdict for found in answers} <= VERDICTS
        assert all(found.paper for found in answers)
        for found in answers:
            if found.verdict in ("not yet measured", "cannot be measured here", "stale"):
                assert found.why, found.claim.what

    def test_no_figure_of_ours_is_typed_by_hand(self, paper: str) -> None:
        path = Path(claims_module.__file__).parent / "claims" / f"{paper}.toml"
        for table in tomllib.loads(path.read_text())["claim"]:
            for cell in (table.get("published", ""), table.get("improved", "")):
                outside = re.sub(r"\{[^}]*\}", "", cell) if isinstance(cell, str) else ""
                outside = re.sub(r"IoU ≥ \.\d|GloVe-50|beam 10|[Ff]lickr8[Kk]", "", outside)
                assert not re.search(r"\d", outside), cell

    def test_no_small_difference_is_called_an_order(self, paper: str) -> None:
        for found in find_claims(paper):
            if found.rule in ("", "published", "improved"):
                continue
            for node in ast.walk(ast.parse(found.rule, mode="eval")):
                if isinstance(node, ast.Compare):
                    named = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
                    ours = [name for name in named if name in found.values]
                    has_margin = len(named) > len(ours) or any(
                        isinstance(part, ast.Constant) for part in ast.walk(node)
                    )
                    assert len(ours) < 2 or has_margin, ast.unparse(node)

    def test_its_tables_name_the_same_claims(self, paper: str) -> None:
        answers = answer(paper, Records(results=None))
        page, lines = markdown(answers), text(answers)
        for found in find_claims(paper):
            assert found.what in page
            assert found.what in lines


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("table 2", ["Tables 1, 2"]),
        ("Section 5.3", ["Section 5.3.2, Figures 5 and 7"]),
        ("figure 7", ["Section 5.3.2, Figures 5 and 7"]),
        ("Eq. 5", ["Eqs. 2 to 8"]),
        ("title", ["Title, Section 3"]),
        ("Section 3", ["Title, Section 3"]),
    ],
)
def test_a_claim_is_found_by_each_place_that_it_names(place: str, found: list[str]) -> None:
    claims = [Claim(where, "it works") for where in ("Tables 1, 2", "Section 5.3.2, Figures 5 and 7", "Eqs. 2 to 8")]
    claims += [Claim("Title, Section 3", "it works"), Claim("Table 20", "it works")]
    assert [claim.where for claim in claims_at(claims, place)] == found
    with pytest.raises(SeesayError, match="no claim at 'Table 9'"):
        claims_at(claims, "Table 9")


def test_an_unknown_paper_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SeesayError, match="there is no paper 'gan'") as caught:
        find_claims("gan")
    assert caught.value.allowed == "mrnn, hmlstm, dvsa, smlstm, identifier"


class TestMeasuring:
    def test_each_command_runs_once_where_its_data_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SEESAY_DATA", str(tmp_path))
        (tmp_path / "farm").mkdir()
        (tmp_path / "benchmarks").mkdir()
        ran: list[list[str]] = []

        def run(words: object, folder: Path) -> int:
            ran.append([*words][1:])  # type: ignore[misc]
            return 3 if "bad" in ran[-1] else 0

        told: list[str] = []
        claims = [
            Claim("1", "one", command="seesay evaluate vse --data farm", data=["farm"]),
            Claim("2", "two", command="seesay evaluate vse --data farm", data=["farm"]),
            Claim("3", "three", command="python -m benchmarks.game bad"),
            Claim("4", "four", command="seesay evaluate vse --data moon", data=["moon"]),
            Claim("5", "five", command="seesay evaluate runs/mrnn-toy/weights --data farm", data=["farm"]),
            Claim("6", "six", command="seesay evaluate vse --data farm && seesay words dog", data=["farm"]),
        ]
        left = measure_claims(claims, told.append, run=run, source=tmp_path)
        measured = ["-m", "seesay", "evaluate", "vse", "--data", "farm"]
        assert ran == [measured, ["-m", "benchmarks.game", "bad"], ["-m", "seesay", "words", "dog"]]
        assert told == ["seesay evaluate vse --data farm", "python -m benchmarks.game bad", "seesay words dog"]
        assert [skipped.why.split(":")[0] for skipped in left] == [
            "it ended with 3",
            "the data moon is missing",
            "the weights runs/mrnn-toy/weights are not here",
        ]
