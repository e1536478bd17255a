from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import dataclass, replace
from http.client import IncompleteRead
from pathlib import Path

import numpy as np
import pytest

from emsco.errors import DataError, ParameterError
from emsco_lab.datasets import NAMES, load, paper_split, public, threshold_of

needs_data = pytest.mark.skipif("EMSCO_DATA" not in os.environ, reason="EMSCO_DATA names no folder")


@needs_data
@pytest.mark.parametrize(
    ("name", "shape", "sizes", "total"),
    [
        ("heart", (299, 12), [203, 96], 750),
        ("pima", (768, 8), [500, 268], 1400),
        ("credit", (690, 14), [383, 307], 1490),
        ("thyroid", (7200, 20), [166, 368, 6666], 69.81),
        ("cleveland", (303, 13), [164, 139], 323.97),
        ("pima_turney", (768, 8), [500, 268], 44.29),
        ("spam", (4601, 57), [2788, 1813], 57),
    ],
)
def test_public_sets_have_their_rows_classes_and_costs(name, shape, sizes, total):
    data = load(name)
    assert data.X.shape == shape
    assert np.bincount(data.y).tolist() == sizes
    assert data.costs.total == pytest.approx(total)


@needs_data
@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("thyroid", [(["TSH"], 22.78), (["T3", "T4U"], 20.72), (["TT4", "psych"], 15.51)]),
        (
            "cleveland",
            [
                (["chol", "fbs"], 10.37),
                (["thalach"], 102.9),
                (["thal", "thalach"], 103.9),
                (["exang", "oldpeak", "slope"], 89.3),
            ],
        ),
        ("pima_turney", [(["plas"], 17.61), (["insu", "plas"], 38.29)]),
    ],
)
def test_turneys_tests_cost_what_he_prints_and_share_their_fees(name, shared):
    costs = load(name).costs
    assert [costs.cost_of(some) for some, _ in shared] == [cost for _, cost in shared]
    blood = next(fee for fee in costs.fees if fee.name == "blood draw")
    late = {test for test, delay in zip(costs.names, costs.delays, strict=True) if delay == 1}
    assert late == set(blood.features)


def test_digits_are_bought_in_blocks_of_four_pixels():
    data = load("digits")
    assert (data.X.shape, data.y.max()) == ((1797, 64), 9)
    assert data.costs.costs.tolist() == [1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1]
    assert data.costs.groups["block_0_3"] == ("pixel_0_6", "pixel_0_7", "pixel_1_6", "pixel_1_7")


def test_measures_of_the_outline_take_twice_as_long():
    costs = load("breast_cancer").costs
    assert costs.cost_of(["mean radius"]) == 1
    assert costs.cost_of(["concavity error"]) == 6
    assert costs.cost_of(["worst fractal dimension"]) == 10


def test_a_set_without_a_threshold_is_refused_where_one_is_needed():
    assert threshold_of(load("breast_cancer")) == 0.95
    with pytest.raises(DataError, match=r"must have a threshold \(heart, .*, got 'regions'"):
        threshold_of(load("regions"))


def test_unknown_names_and_seeds_are_refused():
    with pytest.raises(ParameterError, match=f"name must be one of \"{NAMES[0]}\".*got 'iris'"):
        load("iris")
    with pytest.raises(ParameterError, match=r"seed must be .* to 4294967295, got 4294967296"):
        load("synthetic15", seed=2**32)


@pytest.mark.parametrize("named", [True, False])
def test_offline_one_sentence_names_the_address_the_reason_and_the_way_out(
    monkeypatch, tmp_path, named
):
    monkeypatch.setenv("EMSCO_DATA", str(tmp_path) if named else "")
    sentence = (
        r"^EMSCO_DATA must name a folder with credit.csv, since https://archive.ics.uci.edu/.* "
        r"cannot be read: no network in tests\.$"
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
        url="https://archive.example/tiny.zip",
        sha256=public.digest(table),
        source="a test",
        licence="none",
        members=["tiny.dat"],
        labels={"yes": "1", "no": "0"},
    )
    return served


def test_a_table_is_downloaded_once_and_then_comes_from_the_cache(tiny):
    first = public.table_of(tiny.table)
    assert first.tolist() == [[1.0, 2.5, 1.0], [3.0, 4.0, 0.0]]
    assert np.array_equal(public.table_of(tiny.table), first)
    assert tiny.asked == 1


def test_the_rows_of_several_files_follow_each_other(tiny):
    tiny.content = zipped(late="3 4 no", early="1 2.5 yes  \n")
    assert len(public.table_of(replace(tiny.table, members=["early", "late"]))) == 2
    with pytest.raises(DataError, match="got others"):
        public.table_of(replace(tiny.table, name="turned", members=["late", "early"]))


@pytest.mark.parametrize("rows", ["1,,yes\n?,4,no", "1, ? ,yes\n,4,no", "1 ? yes\n? 4 no"])
def test_a_gap_is_a_question_mark_or_an_empty_cell_and_stays_one_in_the_cache(tiny, rows):
    with_gaps = np.array([[1.0, np.nan, 1.0], [-np.nan, 4.0, 0.0]])
    table = replace(tiny.table, sha256=public.digest(with_gaps))
    tiny.content = zipped(**{"tiny.dat": rows})
    for _ in range(2):
        assert np.array_equal(public.table_of(table), with_gaps, equal_nan=True)
    assert tiny.asked == 1


def test_a_damaged_cache_is_downloaded_anew(tiny):
    public.table_of(tiny.table)
    (tiny.folder / "cache" / "tiny.csv").write_text("a,b,label\n1,2.5,1\n3,9,0\n")
    assert public.table_of(tiny.table)[1, 1] == 4.0
    assert tiny.asked == 2


def test_a_download_with_other_values_is_refused_and_not_kept(tiny):
    with pytest.raises(DataError, match=r"tiny.zip must hold the values of a test, got others\.$"):
        public.table_of(replace(tiny.table, sha256="0" * 64))
    assert not (tiny.folder / "cache").exists()


@pytest.mark.parametrize("content", [b"a,b,label\n1,2.5,1\n", b"\xff\xfe1,2.5,1"])
def test_a_folder_comes_before_the_cache_and_is_checked_too(tiny, monkeypatch, content):
    monkeypatch.setenv("EMSCO_DATA", str(tiny.folder))
    (tiny.folder / "tiny.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"tiny.csv must hold"):
        public.table_of(tiny.table)
    assert tiny.asked == 0


@pytest.mark.parametrize("content", [b"<html>not here</html>", b"PK", IncompleteRead(b"PK", 100)])
def test_an_answer_that_is_no_archive_is_one_sentence(tiny, monkeypatch, content):
    def answered(_url, timeout):
        if isinstance(content, Exception):
            raise content
        return io.BytesIO(content)

    monkeypatch.setattr(public, "urlopen", answered)
    with pytest.raises(DataError, match=r"archive.example/tiny.zip cannot be read: .*\.$"):
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


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("synthetic50", "89846442"),
        ("interactions", "88b342e9"),
        ("regions", "c82db001"),
        ("families", "7b5e92e5"),
        ("cube", "3c5bda77"),
        ("cube_nm3", "d6566ddd"),
        ("breast_cancer", "4061445d"),
    ],
)
def test_rows_labels_and_costs_of_a_seed_stay_the_same(name, digest):
    data = load(name, seed=3)
    assert data.source
    assert data.licence
    assert data.about_costs
    # Rounded, since the last digits depend on the machine.
    values = data.X.round(6).tobytes() + data.y.tobytes() + data.costs.costs.tobytes()
    assert hashlib.sha256(values).hexdigest()[:8] == digest


@pytest.mark.parametrize(("n_rows", "sizes"), [(299, (149, 75, 75)), (768, (384, 192, 192))])
def test_the_papers_split_is_a_half_a_quarter_and_the_rest(n_rows, sizes):
    parts = paper_split(n_rows, seed=1)
    assert tuple(map(len, parts)) == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
