from __future__ import annotations

import pytest

from emsco.errors import EMSCOError, FileError, ParameterError
from emsco_lab._tools import Results, check_choice, check_whole, markdown_table, progress


def square(number, word):
    return {"square": number**2, "word": word}


JOBS = [(2, "a"), (3, "b"), (2, "a")]


def test_results_are_kept_one_by_one_and_found_again(tmp_path):
    path, reports = tmp_path / "new" / "results.jsonl", []
    first = Results(path, {"seed": 0})
    assert first.finish(JOBS, square, report=lambda *one: reports.append(one))
    assert reports == [(1, 2, "2 a"), (2, 2, "3 b")]
    again = Results(path, {"seed": 0})
    assert again.known == first.known == {(2, "a"): square(2, "a"), (3, "b"): square(3, "b")}
    assert again.finish(JOBS, None)


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    path = tmp_path / "results.jsonl"
    Results(path, {}).finish(JOBS, square)
    path.write_text(path.read_text()[:-3])
    again = Results(path, {})
    assert list(again.known) == [(2, "a")]
    again.finish(JOBS, square)
    assert Results(path, {}).known == again.known
    assert len(path.read_text().splitlines()) == 3


def test_results_do_not_depend_on_the_number_of_processes():
    one, two = Results(None, {}), Results(None, {})
    one.finish(JOBS, square)
    two.finish(JOBS, square, n_jobs=2)
    assert one.known == two.known


def test_results_of_something_else_are_refused_and_stay(tmp_path):
    path = tmp_path / "results.jsonl"
    Results(path, {"seed": 0, "rows": "x"}).finish(JOBS, square)
    kept = path.read_text()
    with pytest.raises(FileError, match=r"results of other seed; choose another folder\.$"):
        Results(path, {"seed": 1, "rows": "x"})
    assert path.read_text() == kept


@pytest.mark.parametrize("text", ["", "no JSON\n", '[]\n[1]\n"\n', "3\n"])
def test_a_foreign_file_is_refused(tmp_path, text):
    path = tmp_path / "results.jsonl"
    path.write_text(text)
    with pytest.raises(FileError, match="choose another folder"):
        Results(path, {"seed": 1})


def test_ctrl_c_keeps_what_is_there(tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    results = Results(tmp_path / "results.jsonl", {})
    assert not results.finish(JOBS, square, report=stop)
    assert list(Results(tmp_path / "results.jsonl", {}).known) == [(2, "a")]


def killed(*_):
    import os

    os._exit(1)


def test_a_worker_that_is_killed_is_one_sentence():
    with pytest.raises(EMSCOError, match=r"killed after 0 of 2 jobs.*the same command goes on"):
        Results(None, {}).finish(JOBS, killed, n_jobs=2)


def test_no_processes_at_all_are_refused():
    with pytest.raises(ParameterError, match=r"jobs must be processes, or below 0 .*, got 0"):
        Results(None, {}).finish(JOBS, square, n_jobs=0)


def test_progress_is_silent_without_a_terminal(capsys):
    with progress("jobs") as report:
        report(1, 2, "[a job]")
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_tables_are_aligned_and_bars_in_cells_escaped():
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines() == [
        "| a    |   b |",
        "| ---- | --: |",
        "| x\\|y |   1 |",
    ]


@pytest.mark.parametrize("value", [-1, 5, 1.0, True, "1", None])
def test_what_is_no_whole_number_in_range_is_refused(value):
    with pytest.raises(ParameterError, match=r"^splits must be a whole number from 0 to 4, got"):
        check_whole("splits", value, 0, 4)


def test_what_is_no_choice_is_refused():
    assert check_choice("name", "a", ["a", "b"]) == "a"
    with pytest.raises(ParameterError, match=r'^name must be one of "a", "b", got 3\.$'):
        check_choice("name", 3, ["a", "b"])
