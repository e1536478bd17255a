"""Fingerprints of single rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

from emsco import FileError
from emsco._base.documents import Fields
from emsco.data.row_prints import Lookup, RowPrints, digest_of_rows, prints_of


def rows_of(n, seed=0, width=4):
    return np.random.default_rng(seed).normal(size=(n, width))


def test_a_single_row_that_was_seen_is_found():
    seen, fresh = rows_of(300), rows_of(100, seed=1)
    fresh[17] = seen[250]
    assert RowPrints.from_rows(seen).seen_again(fresh).rows.tolist() == [17]


def test_fresh_rows_are_not_found():
    assert RowPrints.from_rows(rows_of(500)).seen_again(rows_of(500, seed=1)).rows.size == 0


def test_single_precision_and_signs_of_nought_do_not_matter():
    rows = np.array([[0.1, 0.0, np.nan], [1e300, 2.5, 3.0]])
    same = np.array([[np.float32(0.1), -0.0, -np.nan], [1e300, 2.5, 3.0]], dtype=np.float64)
    assert prints_of(rows).tolist() == prints_of(same).tolist()
    assert digest_of_rows(rows) == digest_of_rows(same[::-1])


@pytest.mark.parametrize(("n_values", "width"), [(2, 8), (4, 6), (10, 4)])
def test_rows_of_few_categories_are_not_taken_for_seen_ones(n_values, width):
    rng, refused = np.random.default_rng(2), 0
    for _ in range(60):
        seen, fresh = (rng.integers(0, n_values, (n, width)) * 1.0 for n in (500, 300))
        refused += RowPrints.from_rows(seen).seen_again(fresh).rows.size > 0
    assert refused <= 1


def test_many_rows_of_few_decimals_are_found_beyond_chance():
    rng = np.random.default_rng(3)
    seen, fresh = (rng.integers(0, 10, (n, 4)) * 1.0 for n in (500, 300))
    fresh[:60] = seen[:60]
    assert RowPrints.from_rows(seen).seen_again(fresh).rows.size >= 55


def test_the_same_table_is_found_in_any_order_even_if_all_rows_look_alike():
    rows = np.random.default_rng(4).integers(0, 2, (200, 3)) * 1.0
    assert RowPrints.from_rows(rows).seen_again(rows[::-1]).rows.size == 200
    assert RowPrints.from_rows(rows).seen_again(rows[:150]).rows.size == 0


def test_rows_that_come_some_at_a_time_are_judged_together():
    rng = np.random.default_rng(3)
    seen, fresh = (rng.integers(0, 10, (n, 4)) * 1.0 for n in (500, 300))
    fresh[::5] = seen[:60]
    for rows in (fresh, seen[::-1]):
        prints = RowPrints.from_rows(seen)
        lookup = Lookup(prints)
        for part in np.array_split(rows, 30):
            lookup.add(part)
        assert lookup.seen().rows.tolist() == prints.seen_again(rows).rows.tolist()
        assert lookup.seen().rows.size >= 55


def test_of_many_rows_a_sample_is_kept_that_still_finds_some():
    seen = rows_of(1000)
    prints = replace(RowPrints.from_rows(seen, max_prints=100), near=())
    assert len(prints.exact.known) == 100
    assert 10 < prints.seen_again(seen[:300]).rows.size < 60
    assert prints.seen_again(rows_of(300, seed=1)).rows.size == 0


def test_rows_that_repeat_others_are_found():
    rows = rows_of(60)
    prints = RowPrints.from_rows(rows_of(200, seed=1))
    assert prints.repeated(rows).rows.size == 0
    assert prints.repeated(np.vstack([rows, rows[:5]])).rows.tolist() == [60, 61, 62, 63, 64]


def test_coarse_rows_that_repeat_others_are_found_where_twins_are_rare():
    rng = np.random.default_rng(0)
    prints = RowPrints.from_rows(rng.integers(0, 100, (500, 4)).astype(float))
    rows = rng.integers(0, 100, (300, 4)).astype(float)
    assert prints.repeated(rows).rows.size == 0
    assert prints.repeated(np.vstack([rows, rows])).rows.size == 300


def test_rows_of_few_categories_may_repeat_others():
    rng = np.random.default_rng(0)
    seen, rows = rng.integers(0, 3, (2, 300, 4)).astype(float)
    assert RowPrints.from_rows(seen).repeated(rows).rows.size == 0


def test_equal_rows_of_few_values_are_chance_though_the_values_have_many_digits():
    rng = np.random.default_rng(6)
    values = np.array([-1.22474487, 0.0, 0.70710678, 1.41421356])
    seen, fresh = (values[rng.integers(0, 4, (n, 7))] for n in (600, 400))
    prints = RowPrints.from_rows(seen)
    assert np.isin(prints_of(fresh), prints.exact.known).sum() > 3
    assert prints.seen_again(fresh).rows.size == prints.repeated(fresh).rows.size == 0


def test_a_common_row_that_was_seen_once_is_chance_however_often_it_comes():
    seen = np.vstack([rows_of(99), np.zeros(4)]).round(3)
    fresh = np.vstack([rows_of(900, seed=1), np.zeros((100, 4))]).round(3)
    assert RowPrints.from_rows(seen).seen_again(fresh).rows.size == 0


def test_of_many_rows_near_copies_are_found_in_a_sample():
    seen = rows_of(30_000, width=3)
    prints = RowPrints.from_rows(seen)
    found = prints.seen_again(seen[:3000].round(3))
    assert found.is_near
    assert found.rows.size > 50
    assert prints.seen_again(rows_of(3000, seed=1, width=3)).rows.size == 0


def test_a_file_brings_them_back():
    prints = RowPrints.from_rows(rows_of(50))
    read = RowPrints.from_dict(Fields(json.loads(json.dumps(prints.to_dict())), "front"), 4)
    assert read.exact.known.tolist() == prints.exact.known.tolist()
    assert read.to_dict() == prints.to_dict()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("known", "no base 64"),
        ("known", "AAAA"),
        ("known", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ("largest", "-1"),
        ("largest", str(2**64)),
        ("digest", "md5:0"),
        ("n_rows", 0),
        ("n_shared", -1),
        ("own_values", [4]),
    ],
)
def test_false_values_are_refused(name, value):
    body = {**RowPrints.from_rows(rows_of(50)).to_dict(), name: value}
    with pytest.raises(FileError):
        RowPrints.from_dict(Fields(body, "front"), 4)
