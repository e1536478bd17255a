from __future__ import annotations

import io
import sys
import zipfile
from dataclasses import dataclass, replace
from http.client import IncompleteRead
from pathlib import Path

import numpy as np
import pytest
from emsco_lab.datasets import NAMES, load, paper_split, public, threshold_of

from emsco.errors import DataError, ParameterError


@pytest.mark.parametrize(
    ("name", "shape", "total"),
    [("heart", (299, 12), 750), ("pima", (768, 8), 1400), ("credit", (690, 14), 1490)],
)
def test_the_sets_of_the_paper_have_its_rows_features_and_costs(paper_set, name, shape, total):
    paper_set(name)  # skips where there is no data
    data = load(name)
    assert data.X.shape == shape
    assert data.costs.total == total
    assert set(np.unique(data.y)) == {0, 1}
    assert len(data.costs.names) == shape[1]


@pytest.mark.parametrize(
    ("name", "shape", "sizes", "total"),
    [
        ("thyroid", (7200, 20), [166, 368, 6666], 69.81),
        ("cleveland", (303, 13), [164, 139], 323.97),
        ("pima_turney", (768, 8), [500, 268], 44.29),
    ],
)
def test_sets_with_turneys_costs_have_their_rows_classes_and_costs(
    data_folder, name, shape, sizes, total
):
    data = load(name)
    assert data.X.shape == shape
    assert np.bincount(data.y).tolist() == sizes
    assert data.costs.total == pytest.approx(total)
    assert data.min_confidence is None


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("thyroid", [(["TSH"], 22.78), (["T3", "T4U"], 20.72), (["TT4", "psych"], 15.51)]),
        (
            "cleveland",
            [
                (["chol"], 7.27),
                (["fbs"], 5.2),
                (["chol", "fbs"], 10.37),
                (["thalach"], 102.9),
                (["thal", "thalach"], 103.9),
                (["slope"], 87.3),
                (["exang", "oldpeak", "slope"], 89.3),
            ],
        ),
        ("pima_turney", [(["plas"], 17.61), (["insu"], 22.78), (["insu", "plas"], 38.29)]),
    ],
)
def test_turneys_tests_cost_what_he_prints_and_share_their_fees(data_folder, name, shared):
    costs = load(name).costs
    assert [costs.cost_of(some) for some, _ in shared] == [cost for _, cost in shared]
    blood = next(fee for fee in costs.fees if fee.name == "blood draw")
    late = {test for test, delay in zip(costs.names, costs.delays, strict=True) if delay == 1}
    assert late == set(blood.features)
    assert costs.delays.sum() == len(late)


def test_thyroid_leaves_out_the_index_that_follows_from_two_tests(data_folder):
    costs = load("thyroid").costs
    assert costs.names[-4:] == ("TSH", "T3", "TT4", "T4U")
    assert costs.cost_of(["TSH", "psych"]) == pytest.approx(23.78)


def test_the_gaps_of_cleveland_stay_gaps(data_folder):
    data = load("cleveland")
    gaps = dict(zip(data.names, np.isnan(data.X).sum(axis=0).tolist(), strict=True))
    assert {name: n for name, n in gaps.items() if n} == {"ca": 4, "thal": 2}


def test_spam_has_unit_costs_and_its_second_class_is_spam(data_folder):
    data = load("spam")
    assert data.X.shape == (4601, 57)
    assert np.bincount(data.y).tolist() == [2788, 1813]
    assert set(data.costs.costs) == {1}
    assert data.names[0] == "make"
    # As UCI has the first row: 0.64 % of the words are "address", and it is spam.
    assert (data.X[0, 1], data.y[0]) == (0.64, 1)


def test_pima_has_the_same_rows_with_either_costs(data_folder):
    assert np.array_equal(load("pima_turney").X, load("pima").X)


def test_digits_are_bought_in_blocks_of_four_pixels():
    data = load("digits")
    assert data.X.shape == (1797, 64)
    assert data.y.max() == 9
    assert data.costs.costs.reshape(4, 4).tolist() == [
        [1, 2, 2, 1],
        [2, 4, 4, 2],
        [2, 4, 4, 2],
        [1, 2, 2, 1],
    ]
    assert data.costs.groups["block_0_3"] == ("pixel_0_6", "pixel_0_7", "pixel_1_6", "pixel_1_7")
    assert data.costs.table[8] == "pixel_1_0"


def test_a_set_without_a_threshold_is_refused_where_one_is_needed():
    assert threshold_of(load("breast_cancer")) == 0.95
    with pytest.raises(DataError, match=r"must have a threshold \(heart, .*, got 'regions'"):
        threshold_of(load("regions"))


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ParameterError, match=f"name must be one of \"{NAMES[0]}\".*got 'iris'"):
        load("iris")


def test_without_a_folder_the_sentence_names_the_variable_and_the_file(monkeypatch):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    with pytest.raises(DataError, match="EMSCO_DATA must name the folder that holds heart"):
        load("heart")


def test_a_folder_without_the_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("EMSCO_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"holds pima.csv where .*, got '{tmp_path}'"):
        load("pima")


def test_offline_one_sentence_names_the_host_the_reason_and_the_way_out(monkeypatch):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    sentence = (
        r"^EMSCO_DATA must name the folder that holds credit.csv where archive.ics.uci.edu cannot "
        r"be reached \(no network in tests\), got none\.$"
    )
    with pytest.raises(DataError, match=sentence):
        load("credit")


def zipped(**files):
    """A ZIP file of texts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Serve a table of two rows in a ZIP file, as the archive does."""
    table = np.array([[1.0, 2.5, 1.0], [3.0, 4.0, 0.0]])
    rows = "% a comment\n@attribute a real\n1,2.5,yes\n3,4,no\n"
    served = Served(zipped(**{"tiny.dat": rows}), tmp_path)
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    monkeypatch.setenv("EMSCO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(public, "urlopen", served.open)
    served.table = public.PublicTable(
        "tiny",
        "a b",
        2,
        url="https://archive.example/tiny.zip",
        sha256=public.digest(table),
        source="a test",
        licence="none",
        members=["tiny.dat"],
        labels={"yes": "1", "no": "0"},
    )
    return served


@dataclass
class Served:
    """A server's answer, and the number of requests."""

    content: bytes
    folder: Path
    asked: int = 0
    table: public.PublicTable | None = None

    def open(self, _url, timeout):
        assert 0 < timeout < 120
        self.asked += 1
        return io.BytesIO(self.content)


def test_a_table_is_downloaded_once_and_then_comes_from_the_cache(tiny):
    first = public.table_of(tiny.table)
    assert first.tolist() == [[1.0, 2.5, 1.0], [3.0, 4.0, 0.0]]
    assert (tiny.folder / "cache" / "tiny.csv").read_text() == "a,b,label\n1,2.5,1\n3,4,0\n"
    assert np.array_equal(public.table_of(tiny.table), first)
    assert tiny.asked == 1


def test_the_rows_of_several_files_follow_each_other(tiny):
    tiny.content = zipped(late="3 4 no", early="1 2.5 yes  \n")
    assert len(public.table_of(replace(tiny.table, members=["early", "late"]))) == 2
    with pytest.raises(DataError, match="got other values"):
        public.table_of(replace(tiny.table, name="turned", members=["late", "early"]))


@pytest.mark.parametrize("rows", ["1,,yes\n?,4,no", "1, ? ,yes\n,4,no", "1 ? yes\n? 4 no"])
def test_a_gap_is_a_question_mark_or_an_empty_cell_and_stays_one_in_the_cache(tiny, rows):
    with_gaps = np.array([[1.0, np.nan, 1.0], [-np.nan, 4.0, 0.0]])
    table = replace(tiny.table, sha256=public.digest(with_gaps))
    tiny.content = zipped(**{"tiny.dat": rows})
    assert np.isnan(public.table_of(table)).tolist() == np.isnan(with_gaps).tolist()
    assert (tiny.folder / "cache" / "tiny.csv").read_text() == "a,b,label\n1,,1\n,4,0\n"
    assert np.array_equal(public.table_of(table), with_gaps, equal_nan=True)
    assert tiny.asked == 1


def test_only_the_last_cell_is_a_label(tiny):
    table = replace(tiny.table, labels={"4": "1"})
    assert table.parse("4,2,4\n1,4,0").tolist() == [[4, 2, 1], [1, 4, 0]]


def test_a_damaged_cache_is_downloaded_anew(tiny):
    public.table_of(tiny.table)
    (tiny.folder / "cache" / "tiny.csv").write_text("a,b,label\n1,2.5,1\n3,9,0\n")
    assert public.table_of(tiny.table)[1, 1] == 4.0
    assert tiny.asked == 2


def test_a_download_with_other_values_is_refused_and_not_kept(tiny):
    other = replace(tiny.table, sha256="0" * 64)
    with pytest.raises(DataError, match="must hold the 2 rows × 3 columns of a test, got other va"):
        public.table_of(other)
    assert not (tiny.folder / "cache").exists()


def test_a_folder_comes_before_the_cache_and_is_checked_too(tiny, monkeypatch):
    monkeypatch.setenv("EMSCO_DATA", str(tiny.folder))
    (tiny.folder / "tiny.csv").write_text("a,b,label\n1,2.5,1\n")
    with pytest.raises(DataError, match=r"tiny.csv must hold .*got a table of shape \(1, 3\)"):
        public.table_of(tiny.table)
    assert tiny.asked == 0


@pytest.mark.parametrize("content", [b"<html>not here</html>", b"PK"])
def test_an_answer_that_is_no_archive_is_one_sentence(tiny, content):
    tiny.content = content
    with pytest.raises(DataError, match=r"archive.example cannot be reached \(.*\), got none"):
        public.table_of(tiny.table)


def test_an_answer_that_breaks_off_is_one_sentence(tiny, monkeypatch):
    def broken(_url, timeout):
        raise IncompleteRead(b"PK", 100)

    monkeypatch.setattr(public, "urlopen", broken)
    with pytest.raises(DataError, match=r"archive.example cannot be reached \(IncompleteRead"):
        public.table_of(tiny.table)


def test_a_file_that_is_no_text_is_refused_as_one_with_other_values(tiny, monkeypatch):
    monkeypatch.setenv("EMSCO_DATA", str(tiny.folder))
    (tiny.folder / "tiny.csv").write_bytes(b"\xff\xfe1,2.5,1")
    with pytest.raises(DataError, match=r"tiny.csv must hold the 2 rows"):
        public.table_of(tiny.table)


def test_a_cache_that_cannot_be_written_does_no_harm(tiny, monkeypatch):
    (tiny.folder / "file").write_text("")
    monkeypatch.setenv("EMSCO_CACHE", str(tiny.folder / "file"))
    assert len(public.table_of(tiny.table)) == 2


def test_the_cache_is_where_the_system_keeps_caches_or_where_a_variable_says(monkeypatch):
    monkeypatch.setenv("EMSCO_CACHE", "/mine")
    assert public.cache_folder().as_posix() == "/mine"
    monkeypatch.delenv("EMSCO_CACHE")
    assert "emsco" in public.cache_folder().parts
    assert public.cache_folder().is_absolute()


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="these have other variables")
@pytest.mark.parametrize(("variable", "ending"), [("/xdg", "/xdg/emsco"), ("", "/.cache/emsco")])
def test_the_cache_keeps_to_the_freedesktop_standard(monkeypatch, variable, ending):
    monkeypatch.delenv("EMSCO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert public.cache_folder().as_posix().endswith(ending)


@pytest.mark.parametrize(
    "name", ["synthetic50", "breast_cancer", "digits", "interactions", "regions", "families"]
)
def test_every_data_set_has_a_source_and_a_licence(name):
    data = load(name)
    assert data.source
    assert data.licence
    assert data.about_costs
    assert len(data.costs.table) == data.X.shape[1]


@pytest.mark.parametrize(("n_rows", "sizes"), [(299, (149, 75, 75)), (768, (384, 192, 192))])
def test_the_papers_split_is_a_half_a_quarter_and_the_rest(n_rows, sizes):
    parts = paper_split(n_rows, seed=1)
    assert tuple(map(len, parts)) == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
