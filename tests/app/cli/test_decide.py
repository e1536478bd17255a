"""`emsco decide`."""

import csv
import json

from emsco._base.progress import RowProgress
from emsco.cascade import Cascade


def test_decide_takes_a_run_or_a_cascade_file(typed, run, data, rows, tmp_path):
    expected = Cascade.load(run / "cascade.json").decide(rows[0])
    for source, name in ((run, "one.csv"), (run / "cascade.json", "two.csv")):
        result = typed("decide", source, data / "data.csv", "--out", tmp_path / name, "--json")
        counts = json.loads(result.out)
        assert counts["out"] == str(tmp_path / name)
        assert (counts["n_rows"], counts["n_accepted"]) == (240, int(expected.accepted.sum()))
        assert "240 rows decided" in result.err
    text = (tmp_path / "one.csv").read_text()
    assert text == (tmp_path / "two.csv").read_text()
    labels = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert labels == ["" if label is None else str(label) for label in expected.labels.tolist()]


def test_decide_shows_where_rows_left_and_keeps_columns(typed, run, data, tmp_path):
    out = tmp_path / "out.csv"
    words = ("--out", out, "--keep", "sick", "--keep", "age")
    result = typed("decide", run, data / "data.csv", *words)
    assert "240 rows: " in result.out
    assert "less than buying everything" in result.out
    assert result.out.endswith(f"Written to {out}.\n")
    assert out.read_text().startswith(
        '"sick","age","label","accepted","confidence","stage","cost","needs","warnings"\n'
    )


def test_decide_writes_to_decisions_csv_unless_told(typed, run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert typed("decide", run, data / "data.csv").code == 0
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 241


def test_ctrl_c_while_deciding_is_exit_code_130_and_leaves_the_earlier_file(
    typed, run, data, tmp_path, monkeypatch
):
    def press(self, n_rows):
        raise KeyboardInterrupt

    out = tmp_path / "out.csv"
    out.write_text("earlier")
    monkeypatch.setattr(RowProgress, "rows", press)
    result = typed("decide", run, data / "data.csv", "--out", out)
    assert (result.code, result.out) == (130, "")
    assert result.err == f"emsco: interrupted; {out} is as it was.\n"
    assert out.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "run"]


def test_decide_says_what_to_buy_next_and_what_is_unlike_the_training_rows(typed, run, tmp_path):
    cascade = Cascade.load(run / "cascade.json")
    first, later = cascade.columns[0], cascade.columns[-1]
    row = dict.fromkeys(cascade.columns, "0.5")
    rows = [row, {**row, first: ""}, {**row, first: "900"}]
    lines = [",".join(row), *(",".join(cells.values()) for cells in rows)]
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("\n".join([*lines, ""]))
    result = typed("decide", run, new, "--out", out)
    assert result.code == 0
    assert "33.3% waiting" in result.out
    assert "waiting for stage 1" in result.out
    assert f"1 row waiting for {first} (1 row); column needs says which." in result.out
    assert f"Unlike the training rows: {first} outside " in result.out
    assert " (1 row); see column warnings." in result.out
    decided = list(csv.DictReader(out.read_text().splitlines()))
    assert [one["needs"] for one in decided] == ["", first, ""]
    assert decided[2]["warnings"].startswith(f"{first} outside ")
    assert (decided[1]["label"], decided[1]["confidence"], decided[1]["cost"]) == ("", "", "0")
    new.write_text("\n".join([*lines[:2], ""]))
    assert "1 row decided" in typed("decide", run, new, "--out", out).err
    new.write_text(f"{first}\n1\n")
    result = typed("decide", run, new, "--out", out, "--json")
    counts = json.loads(result.out)
    assert (counts["n_rows"], counts["n_waiting"], later in counts["absent"]) == (1, 1, True)
    assert sum(counts["waiting"]) == 1
    result = typed("decide", run, new, "--out", out)
    assert "Not bought yet, because the file has no such column: " in result.out
