"""Splits: every valid way to choose the scored rows, and refusals of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
)

from emsco.data import splits as splits_module
from emsco.data.splits import make_splits
from emsco.errors import DataError

Y = (np.arange(60) % 3 == 0).astype(np.uint8)  # 20 of 60 rows are "yes"
X = np.zeros((60, 2))
CLASSES = ["no", "yes"]
FIRST, LAST = np.arange(40), np.arange(40, 60)


def split(cv, y=Y, groups=None, seed=0):
    return make_splits(cv, X[: len(y)], y, CLASSES, groups, seed)


def as_lists(splits):
    return [(train.tolist(), held_out.tolist()) for train, held_out in splits]


class TestFraction:
    @pytest.mark.parametrize("cv", [1 / 3, 0.25, np.float32(0.5)])
    def test_that_share_of_every_class_is_held_out(self, cv):
        ((train, held_out),) = split(cv)
        assert len(held_out) == round(60 * cv)
        assert abs(Y[held_out].sum() - 20 * cv) < 1
        assert sorted([*train, *held_out]) == list(range(60))

    def test_only_the_seed_decides_the_rows(self):
        assert as_lists(split(1 / 3, seed=4)) == as_lists(split(1 / 3, seed=4))
        assert as_lists(split(1 / 3, seed=4)) != as_lists(split(1 / 3, seed=5))


class TestFolds:
    @pytest.mark.parametrize("cv", [2, 5, np.int64(20)])
    def test_each_row_is_held_out_once_and_every_fold_has_its_share_of_each_class(self, cv):
        splits = split(cv)
        assert len(splits) == cv
        assert sorted(np.concatenate([held_out for _, held_out in splits])) == list(range(60))
        for train, held_out in splits:
            assert sorted([*train, *held_out]) == list(range(60))
            assert abs(Y[held_out].sum() - 20 / cv) < 1

    def test_the_seed_alone_decides_the_folds(self):
        assert as_lists(split(5, seed=4)) == as_lists(split(5, seed=4))
        assert as_lists(split(5, seed=4)) != as_lists(split(5, seed=5))


class TestAuto:
    def test_few_rows_make_five_folds_four_times_over(self):
        splits = split("auto")
        scored = np.concatenate([scored for _, scored in splits])
        assert len(splits) == 20
        assert np.bincount(scored).tolist() == [4] * 60
        assert as_lists(splits[:5]) == as_lists(split(5))
        assert len({str(pair) for pair in as_lists(splits)}) == 20

    def test_a_middling_number_of_rows_makes_five_folds(self, monkeypatch):
        monkeypatch.setattr(splits_module, "FEW_VALUES", X.size)
        assert as_lists(split("auto", seed=3)) == as_lists(split(5, seed=3))

    def test_many_rows_hold_out_a_third(self, monkeypatch):
        monkeypatch.setattr(splits_module, "MANY_ROWS", 60)
        assert as_lists(split("auto", seed=3)) == as_lists(split(1 / 3, seed=3))

    def test_folds_are_not_repeated_where_fits_are_slow(self):
        splits = make_splits("auto", X, Y, CLASSES, None, 0, repeat=False)
        assert as_lists(splits) == as_lists(split(5))

    @pytest.mark.parametrize("n_rare", [2, 3, 4])
    def test_a_rare_class_makes_fewer_folds(self, n_rare):
        splits = split("auto", y=(np.arange(60) < n_rare).astype(np.uint8))
        assert len(splits) == 4 * n_rare

    def test_a_class_of_one_row_holds_out_a_third_with_a_warning(self):
        y = (np.arange(60) % 2).astype(np.uint8)
        y[7] = 2
        with pytest.warns(UserWarning, match="'maybe'"):
            ((train, scored),) = make_splits("auto", X, y, [*CLASSES, "maybe"], None, 0)
        assert len(scored) == 20
        assert 7 in train

    def test_rows_of_weight_0_are_no_rows(self):
        weights = (np.arange(60) % 4 > 0).astype(float)
        kept = np.flatnonzero(weights)
        splits = make_splits("auto", X, Y, CLASSES, None, 0, weights)
        without = make_splits("auto", X[kept], Y[kept], CLASSES, None, 0)
        assert as_lists(splits) == as_lists((kept[a], kept[b]) for a, b in without)

    def test_groups_stay_together_in_every_fold(self):
        groups = np.array([f"patient {i // 4}" for i in range(60)])
        splits = split("auto", groups=groups)
        assert len(splits) == 20
        for train, scored in splits:
            assert not set(groups[train]) & set(groups[scored])
        scored = np.concatenate([scored for _, scored in splits])
        assert np.bincount(scored).tolist() == [4] * 60

    def test_few_groups_make_fewer_folds(self):
        assert len(split("auto", groups=np.arange(60) // 20)) == 12

    def test_many_rows_hold_out_some_groups(self, monkeypatch):
        monkeypatch.setattr(splits_module, "MANY_ROWS", 60)
        groups = np.arange(60) // 4
        ((train, scored),) = split("auto", groups=groups)
        assert not set(groups[train]) & set(groups[scored])
        assert sorted([*train, *scored]) == list(range(60))
        assert 12 <= len(scored) <= 28


class TestSplitters:
    def test_a_predefined_split_is_taken_as_it_is(self):
        fold = np.where(np.arange(60) < 40, -1, 0)
        assert as_lists(split(PredefinedSplit(fold))) == [(FIRST.tolist(), LAST.tolist())]

    @pytest.mark.parametrize(
        ("cv", "n_splits"),
        [(KFold(3), 3), (ShuffleSplit(4, random_state=0), 4), (LeaveOneOut(), 60)],
    )
    def test_a_splitter_of_scikit_learn_is_asked(self, cv, n_splits):
        splits = split(cv)
        assert len(splits) == n_splits
        assert as_lists(splits) == [(a.tolist(), b.tolist()) for a, b in cv.split(X, Y)]

    def test_groups_are_kept_together(self):
        groups = np.arange(60) // 6
        splits = split(GroupKFold(5), groups=groups)
        assert len(splits) == 5
        for train, held_out in splits:
            assert not set(groups[train]) & set(groups[held_out])


class TestLists:
    def test_pairs_of_row_numbers_are_taken_in_their_order(self):
        given = [(FIRST[::-1], LAST), (LAST.tolist(), (3, 1, 2))]
        assert as_lists(split(given)) == [
            (FIRST[::-1].tolist(), LAST.tolist()),
            (LAST.tolist(), [3, 1, 2]),
        ]

    def test_pairs_may_come_from_a_generator(self):
        assert (
            as_lists(split((FIRST, LAST) for _ in range(2)))
            == [(FIRST.tolist(), LAST.tolist())] * 2
        )

    def test_masks_mean_the_rows_where_they_are_true(self):
        mask = np.arange(60) < 40
        assert as_lists(split([(mask, ~mask)])) == [(FIRST.tolist(), LAST.tolist())]
        assert as_lists(split([(mask.tolist(), LAST)])) == [(FIRST.tolist(), LAST.tolist())]

    def test_negative_numbers_count_from_the_end(self):
        ((_, held_out),) = split([(FIRST, [-1, -20])])
        assert held_out.tolist() == [59, 40]


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(2, 60), min_size=2, max_size=6),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_scored_fraction_is_that_of_scikit_learn(sizes, share, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    expected = StratifiedShuffleSplit(1, test_size=share, random_state=seed).split(labels, labels)
    try:
        parts = next(expected)
    except ValueError:
        with pytest.raises(DataError, match="cv must suit"):
            make_splits(share, X, labels, range(len(sizes)), None, seed)
        return
    ((train, scored),) = make_splits(share, X, labels, range(len(sizes)), None, seed)
    np.testing.assert_array_equal(train, parts[0])
    np.testing.assert_array_equal(scored, parts[1])
