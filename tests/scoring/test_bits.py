"""Bits of scored rows: where each row lies, what is refused, and what memory may change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import Drawn

from emsco.designs.chromosomes import words_of_subsets
from emsco.designs.grid import ThresholdGrid
from emsco.errors import ParameterError
from emsco.scoring import bits as bits_of_rows
from emsco.scoring.bits import Layout, pack, unsteady

SEEDS = st.integers(0, 10**6)
FULL = (True,) * 4


def laid_out(units, labels, *, by_class=False):
    scored = Drawn.of(0).scored
    n_classes = int(max(labels, default=0)) + 1
    given = np.array(labels, dtype=np.uint8), np.array(units, dtype=np.int64)
    rows = replace(scored, labels=given[0], units=given[1], n_classes=n_classes)
    return rows, Layout.of(rows, by_class=by_class)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(1), st.integers(0, 5), st.integers(0, 2**20)), st.integers(0, 3)
        )
    ),
    st.booleans(),
)
def test_every_row_has_bits_of_its_weight_in_words_of_its_class(drawn, by_class):
    rows, layout = laid_out(*np.reshape(drawn, (-1, 2)).T, by_class=by_class)
    used, weights = layout.rows >= 0, np.repeat(layout.weights, 64)
    weighed = np.bincount(layout.rows[used], weights[used], len(rows))
    assert weighed.tolist() == rows.units.tolist()
    values = np.arange(2 * len(rows)).reshape(2, -1)
    assert layout.spread(values).sum(axis=1).tolist() == (values @ rows.units).tolist()
    if by_class:
        for label, (begin, end) in enumerate(zip(layout.ends[:-1], layout.ends[1:], strict=True)):
            of_class = layout.rows[64 * begin : 64 * end]
            assert (rows.labels[of_class[of_class >= 0]] == label).all()
        assert layout.ends[-1] == len(layout.weights)


@pytest.mark.parametrize(
    ("units", "n_words"),
    [([1] * 64, 1), ([1] * 65, 2), ([7] * 64 + [9] * 64, 2), ([*range(1, 64)], 6), ([0], 0)],
)
def test_rows_take_few_words(units, n_words):
    layout = laid_out(units, [0] * len(units))[1]
    assert len(layout.weights) == n_words
    if len({*units}) == 1 and units[0]:
        assert layout.rows[: len(units)].tolist() == list(range(len(units)))


# What stages refuse; all counts stand beside a loop over rows in `test_walk`


def test_shares_are_unsteady_that_differ_by_more_than_chance_and_enough_to_matter():
    rng = np.random.default_rng(0)
    by_chance = rng.binomial(200, 0.5, size=(5, 1000)) / 200
    assert unsteady(by_chance, np.full(5, 200.0)).mean() < 0.01
    small = np.array([[0.50], [0.53], [0.47], [0.52], [0.48]])
    assert not unsteady(small, np.full(5, 1e6)).any()
    all_or_nothing = np.array([[0.9], [0.0], [0.9], [0.9], [0.0]])
    assert unsteady(all_or_nothing, np.full(5, 100.0)).all()
    assert not unsteady(all_or_nothing, np.full(5, 1.0)).any()  # of so few rows
    assert not unsteady(all_or_nothing[:1], np.ones(1)).any()


@given(SEEDS)
def test_bits_of_a_subset_are_its_answers_at_the_threshold(seed):
    drawn = Drawn.of(seed)
    bits, scored, subsets = drawn.bits(), drawn.scored, [(True, False, False, True), FULL]
    words = words_of_subsets(np.array(subsets))
    layout, (places, n_rows) = Layout.of(scored), bits.sampled_words(2)
    assert len(places) == min(2, bits.n_words)
    sampled = np.isin(np.arange(bits.n_words).repeat(64), places) & (layout.rows >= 0)
    assert n_rows == layout.weights.repeat(64)[sampled].sum() <= bits.n_rows
    for level in range(drawn.grid.n_levels):
        found = bits.of_subsets(words, drawn.grid, level)
        some = bits.of_subsets(words, drawn.grid, level, places)
        assert some.tolist() == found[:, :, places].tolist()
        for k, subset in enumerate(subsets):
            (winner, sure), is_refused = (
                map(np.array, drawn.answer(subset)),
                drawn.refuses(subset, level),
            )
            accepts = is_refused | (sure >= drawn.grid.thresholds[level][winner])
            correct = accepts & (winner == scored.labels) & (not is_refused)
            for words_of_rows, plain in zip(found[:, k], (accepts, correct), strict=True):
                laid = plain[layout.rows] & (layout.rows >= 0)
                assert words_of_rows.tolist() == pack(laid).tolist()


# Memory and threads


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_little_memory_and_other_thresholds_change_nothing(n_jobs, monkeypatch):
    drawn, least = Drawn.of(5, n_splits=2, missing=None, sizes=[60]), None
    for one in ("_WORTH_COUNTING", "_WORTH_MARKING"):
        monkeypatch.setattr(bits_of_rows, one, 0)
    with pytest.raises(ParameterError, match="memory_limit must be at least") as raised:
        drawn.bits(memory_limit=1)
    least = int(str(raised.value).split()[5].replace(",", ""))
    tight, roomy = drawn.bits(memory_limit=least, n_jobs=n_jobs), drawn.bits()
    assert 4 <= tight.capacity < 10
    grids = drawn.grid, ThresholdGrid(drawn.grid.thresholds[:1] + 0.125), drawn.grid
    for grid in grids:
        designs = drawn.designs(100, grid=grid)
        alone = drawn.bits().count(designs, grid)
        assert tight.count(designs, grid).tolist() == alone.tolist()
        assert roomy.count(designs, grid).tolist() == alone.tolist()
        refused = roomy.refused(designs, grid)
        assert tight.refused(designs, grid).tolist() == refused.tolist()
    assert roomy.bank.n_fits == 15 < tight.bank.n_fits
