from dataclasses import dataclass, field

import pytest

from seesay.errors import SeesayError
from seesay.system.tables import read_table


@dataclass(frozen=True)
class Config:
    dim: int = 8
    dropout: float = 0.2
    deep: bool = False

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise SeesayError(f"config.dim is {self.dim}", allowed="1 or more", hint="try 8")


class TestReadTable:
    def test_whole_numbers_are_numbers(self) -> None:
        assert read_table(Config, {"dropout": 0, "deep": True}, "x.json") == Config(8, 0, True)

    def test_an_unknown_key_is_answered_with_the_valid_ones(self) -> None:
        with pytest.raises(SeesayError, match=r"x\.json: there is no key 'dims'.*\n  allowed: dim, dropout, deep"):
            read_table(Config, {"dims": 8}, "x.json")

    @pytest.mark.parametrize(
        ("key", "value"), [("dim", "8"), ("dim", 8.5), ("dim", True), ("dropout", None), ("deep", 1)]
    )
    def test_a_wrong_type_is_refused_with_the_right_one(self, key: str, value: object) -> None:
        with pytest.raises(
            SeesayError,
            match=rf"x\.json: {key} cannot be {value!r}\n  allowed: (a .*number|true or false)",
        ):
            read_table(Config, {key: value}, "x.json")

    def test_what_the_configuration_itself_refuses_names_the_origin_too(self) -> None:
        with pytest.raises(SeesayError, match=r"x\.json: config\.dim is 0\n  allowed: 1 or more\n  try: try 8"):
            read_table(Config, {"dim": 0}, "x.json")

    def test_a_missing_key_is_named_with_what_it_may_be(self) -> None:
        with pytest.raises(SeesayError, match=r"x\.json: the key 'k' is missing\n  allowed: a whole number at least 1"):
            read_table(Stage, {"after": ["vse"]}, "x.json")

    def test_lists_of_text_and_tables_inside_are_read_and_none_stays_none(self) -> None:
        table = {"after": ["vse", "dvsa"], "k": 20, "own": {"dim": 4}, "chosen on": "flickr8k/dev"}
        assert read_table(Stage, table, "x.json", remarks=True) == Stage(("vse", "dvsa"), 20, Config(4))
        assert read_table(Stage, {**table, "own": None}, "x.json", remarks=True).own is None

    @pytest.mark.parametrize(("name", "value"), [("after", "vse"), ("after", [1]), ("k", 0), ("own", [8]), ("own", 8)])
    def test_what_does_not_fit_a_list_or_a_table_is_refused(self, name: str, value: object) -> None:
        with pytest.raises(SeesayError, match=rf"x\.json: {name}"):
            read_table(Stage, {"after": [], "k": 1, name: value}, "x.json")

    def test_a_remark_is_an_unknown_key_where_none_is_expected(self) -> None:
        with pytest.raises(SeesayError, match="there is no key 'chosen on'"):
            read_table(Stage, {"after": [], "k": 1, "chosen on": "dev"}, "x.json")


@dataclass(frozen=True)
class Stage:
    after: tuple[str, ...]
    k: int = field(metadata={"at_least": 1})
    own: Config | None = None
