"""`emsco decide`."""

import json

from support.commands import refuses

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
        '"sick","age","label","accepted","confidence","stage","cost"\n'
    )


def test_decide_writes_to_decisions_csv_unless_told(typed, run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert typed("decide", run, data / "data.csv").code == 0
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 241


def test_decide_refuses_files_by_name_and_writes_nothing(typed, run, data, tmp_path):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("age,pulse,panel,scan\n1,2,3,4\n1,,3,4\n")
    words = (
        f"{new} must have no missing value (empty cell or NaN), got one in column "
        "'pulse', line 3; emsco fit --gaps impute or --gaps skip allows missing values."
    )
    refuses(typed("decide", run, new, "--out", out, "--json"), words)
    words = "must end in .csv, .csv.gz, .parquet, .pq, got '.xls'."
    refuses(
        typed("decide", run, new, "--out", out.with_suffix(".xls")), f"{tmp_path}/out.xls {words}"
    )
    words = (
        f"{tmp_path}/none/out.csv must be a file that can be written (No such file or directory)."
    )
    refuses(typed("decide", run, new, "--out", tmp_path / "none" / "out.csv"), words)
    words = f"--out must be another file than NEW, got '{new}' for both."
    refuses(typed("decide", run, new, "--out", new), words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "run"]


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
