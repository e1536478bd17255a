"""`emsco monitor`."""

import json

import pytest
from support.commands import refuses

from emsco import ParetoFront
from emsco._base.progress import RowProgress
from emsco.app.cli.endings import ALARM

# Here the rows of the search also stand for new ones.
pytestmark = pytest.mark.filterwarnings("default:.*took part in the search")

PROMISES = ("--min-accuracy", "0.6", "--max-cost", "50")


@pytest.fixture
def parts(data, tmp_path):
    """The rows of the data in four files, as they come in."""
    heading, *lines = (data / "data.csv").read_text().splitlines()
    paths = []
    for i in range(4):
        path = tmp_path / f"week{i}.csv"
        path.write_text("\n".join([heading, *lines[60 * i : 60 * i + 60], ""]))
        paths.append(path)
    return paths


def flipped(path, out):
    """The same rows with the other label."""
    heading, *lines = path.read_text().splitlines()
    out.write_text("\n".join([heading, *(f"{line[:-1]}{1 - int(line[-1])}" for line in lines), ""]))
    return out


@pytest.fixture
def begun(typed, run, parts):
    """A run whose monitor has counted two files."""
    for path in parts[:2]:
        assert typed("monitor", run, path, *PROMISES).code == 0
    return run


def test_the_first_call_sets_the_promises_and_says_what_was_seen(typed, run, parts):
    result = typed("monitor", run, parts[0], *PROMISES)
    assert result.code == 0
    assert "60 rows decided" in result.err
    said = " ".join(result.out.split())
    for words in (
        "Promises on 60 rows, 60 with a true label",
        "accuracy at least 0.6 ",
        "mean cost at most 50 ",
        "Evidence of 40 raises an alarm.",
    ):
        assert words in said


def test_later_calls_go_on_and_one_without_data_shows_how_things_stand(typed, begun, parts):
    output = json.loads(typed("monitor", begun, parts[2], "--json").out)
    assert (output["n_rows"], output["n_looks"], output["alarm"]) == (180, 3, False)
    assert output["state"] == str(begun / "monitor.json")
    assert json.loads(typed("monitor", begun, "--json").out) == {**output, "data": None}


def test_an_alarm_is_exit_code_4_and_stays_until_reset(typed, begun, parts, tmp_path):
    picture = tmp_path / "monitor.png"
    typed("monitor", begun, flipped(parts[2], tmp_path / "wrong.csv"))
    result = typed("monitor", begun, flipped(parts[3], tmp_path / "too.csv"), "--plot", picture)
    assert result.code == ALARM == 4
    assert "Alarm at row 240: accuracy at least 0.6, seen " in result.out
    assert picture.stat().st_size > 1000
    assert typed("monitor", begun, parts[0], "--again").code == ALARM
    assert typed("monitor", begun, "--json").code == ALARM
    assert typed("monitor", begun, "--reset").code == 0


def test_refusals_are_one_line_and_leave_the_state_as_it_was(typed, begun, parts, tmp_path):
    before, new = (begun / "monitor.json").read_bytes(), parts[2]
    for words, shown in [
        (("--min-coverage", "0.9"), "0.9"),
        (("--plot", tmp_path / "x.txt"), "x.txt"),
        (("--delta", "2"), "--delta"),
        (("--target", "ill"), "'ill'"),
    ]:
        refuses(typed("monitor", begun, new, *words), shown)
    assert (begun / "monitor.json").read_bytes() == before


def test_rows_given_twice_are_refused_unless_asked_for(typed, begun, parts):
    result = typed("monitor", begun, parts[0])
    words = f"{parts[0]} must have new rows, got the 60 rows of 'week0.csv' again; --again counts "
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith(f"emsco: {words}them once more.\n")
    again = typed("monitor", begun, parts[0], "--again", "--json")
    assert json.loads(again.out)["n_rows"] == 180


def test_ctrl_c_is_exit_code_130_and_leaves_the_state_as_it_was(typed, begun, parts, monkeypatch):
    def press(self, n_rows):
        raise KeyboardInterrupt

    before = (begun / "monitor.json").read_bytes()
    monkeypatch.setattr(RowProgress, "rows", press)
    result = typed("monitor", begun, parts[2])
    assert (result.code, result.out) == (130, "")
    assert result.err == f"emsco: interrupted; {begun}/monitor.json is as it was.\n"
    assert (begun / "monitor.json").read_bytes() == before


def test_a_design_that_buys_nothing_is_monitored(typed, run, parts):
    typed("choose", run, len(ParetoFront.load(run / "front.json")) - 1)  # rejects everyone
    assert typed("monitor", run, parts[0], "--max-cost", 1).code == 0
    (cost,) = json.loads(typed("monitor", run, "--json").out)["promises"]
    assert (cost["figure"], cost["n_rows"] > 0) == (0, True)


def test_labels_may_come_late_and_the_state_may_lie_elsewhere(typed, run, parts, tmp_path):
    state, bare = tmp_path / "state.json", tmp_path / "bare.csv"
    lines = parts[0].read_text().splitlines()
    bare.write_text("\n".join([*(line.rpartition(",")[0] for line in lines), ""]))
    outputs = []
    for path, more in ((bare, PROMISES), (parts[0], ("--late",))):
        result = typed("monitor", run, path, *more, "--state", state, "--json")
        outputs.append(json.loads(result.out))
    assert [one["n_labelled"] for one in outputs] == [0, 60]
    assert [one["n_rows"] for one in outputs] == [60, 60]
    assert not (run / "monitor.json").exists()
