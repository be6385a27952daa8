import json

import pytest

from seesay.errors import SeesayError
from seesay.training.run_log import RunLog


def lines(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_line_is_on_disk_as_soon_as_it_is_written(tmp_path):
    with RunLog(tmp_path / "run") as log:
        log.write({"step": 1})
        assert lines(tmp_path / "run") == [{"step": 1}]


def test_a_cut_log_goes_on_behind_the_cut(tmp_path):
    with RunLog(tmp_path) as log:
        log.write({"step": 1})
        n_bytes = log.n_bytes
        log.write({"step": 2})
    with RunLog(tmp_path) as log:
        log.cut(n_bytes)
        log.write({"step": 3})
    assert lines(tmp_path) == [{"step": 1}, {"step": 3}]


def test_cutting_behind_the_end_adds_nothing(tmp_path):
    with RunLog(tmp_path) as log:
        log.write({"step": 1})
        log.cut(10_000)
    assert lines(tmp_path) == [{"step": 1}]


def test_two_runs_cannot_share_a_folder(tmp_path):
    pytest.importorskip("fcntl")
    with RunLog(tmp_path), pytest.raises(SeesayError, match="another process is training in"):
        RunLog(tmp_path)
    with RunLog(tmp_path) as log:  # free again
        assert log.n_bytes == 0


def test_the_log_of_another_process_than_the_first_writes_nothing(tmp_path):
    with RunLog(tmp_path, is_open=False) as log:
        log.write({"step": 1})
        log.cut(0)
        assert log.n_bytes == 0
    assert not (tmp_path / "log.jsonl").exists()


def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SeesayError, match=r"cannot write .*log\.jsonl"):
        RunLog(tmp_path / "file" / "run")
