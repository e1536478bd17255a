"""Splits: every valid way to choose the scored rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit, ShuffleSplit

from emsco.data import splits as splits_module
from emsco.data.splits import make_splits

Y = (np.arange(60) % 3 == 0).astype(np.uint8)  # 20 of 60 rows are "yes"
X = np.zeros((60, 2))
CLASSES = ["no", "yes"]
FIRST, LAST = np.arange(40), np.arange(40, 60)


def split(cv, y=Y, groups=None, seed=0, **settings):
    return make_splits(cv, X[: len(y)], y, CLASSES, groups, seed, **settings)


def as_lists(splits):
    return [(train.tolist(), scored.tolist()) for train, scored in splits]


@settings(max_examples=60)
@given(
    cv=st.sampled_from([1 / 3, 0.25, np.float32(0.5), 2, 5, np.int64(20), "auto"]),
    seed=st.integers(0, 2**31 - 2),
)
def test_scored_rows_have_their_share_of_each_class_and_only_the_seed_decides(cv, seed):
    splits = split(cv, seed=seed)
    for train, scored in splits:
        assert sorted([*train, *scored]) == list(range(60))
        assert abs(Y[scored].sum() - len(scored) / 3) < 1
    n_times = np.bincount(np.concatenate([scored for _, scored in splits]), minlength=60)
    if isinstance(cv, (float, np.floating)):
        assert n_times.sum() == round(60 * float(cv))
    else:
        assert n_times.tolist() == [4 if cv == "auto" else 1] * 60
        assert len(splits) == (20 if cv == "auto" else cv)
    assert as_lists(splits) == as_lists(split(cv, seed=seed))
    assert as_lists(splits) != as_lists(split(cv, seed=seed + 1))


class TestAuto:
    def test_few_rows_are_folded_four_times_over_the_first_time_as_by_a_number(self):
        splits = split("auto")
        assert as_lists(splits[:5]) == as_lists(split(5)) == as_lists(split("auto", repeat=False))
        assert len({str(pair) for pair in as_lists(splits)}) == 20

    def test_more_rows_make_five_folds_and_many_hold_out_a_third(self, monkeypatch):
        monkeypatch.setattr(splits_module, "FEW_VALUES", X.size)
        assert as_lists(split("auto", seed=3)) == as_lists(split(5, seed=3))
        monkeypatch.setattr(splits_module, "MANY_ROWS", 60)
        assert as_lists(split("auto", seed=3)) == as_lists(split(1 / 3, seed=3))

    @pytest.mark.parametrize("n_rare", [2, 3, 4])
    def test_a_rare_class_makes_fewer_folds(self, n_rare):
        assert len(split("auto", y=(np.arange(60) < n_rare).astype(np.uint8))) == 4 * n_rare

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
        without = make_splits("auto", X[kept], Y[kept], CLASSES, None, 0)
        assert as_lists(split("auto", weights=weights)) == as_lists(
            (kept[a], kept[b]) for a, b in without
        )

    @pytest.mark.parametrize(("size", "n_splits"), [(4, 20), (20, 12)])
    def test_groups_stay_together_and_few_of_them_make_fewer_folds(self, size, n_splits):
        groups = np.array([f"patient {i // size}" for i in range(60)])
        splits = split("auto", groups=groups)
        assert len(splits) == n_splits
        assert not any(set(groups[train]) & set(groups[scored]) for train, scored in splits)

    def test_many_rows_hold_out_some_groups(self, monkeypatch):
        monkeypatch.setattr(splits_module, "MANY_ROWS", 60)
        groups = np.arange(60) // 4
        ((train, scored),) = split("auto", groups=groups)
        assert not set(groups[train]) & set(groups[scored])
        assert sorted([*train, *scored]) == list(range(60))
        assert 12 <= len(scored) <= 28


@pytest.mark.parametrize(
    "cv",
    [
        PredefinedSplit(np.where(np.arange(60) < 40, -1, 0)),
        KFold(3),
        ShuffleSplit(4, random_state=0),
        LeaveOneOut(),
        GroupKFold(5),
    ],
)
def test_a_splitter_of_scikit_learn_is_asked(cv):
    groups = np.arange(60) // 6 if isinstance(cv, GroupKFold) else None
    assert as_lists(split(cv, groups=groups)) == as_lists(cv.split(X, Y, groups))


@pytest.mark.parametrize(
    "train", [FIRST, FIRST.tolist(), np.arange(60) < 40, FIRST - 60, (np.arange(60) < 40).tolist()]
)
def test_rows_are_numbers_in_their_order_or_a_mask(train):
    given_splits = [(train, LAST), (LAST[::-1], (3, 1, 2))]
    wanted = [(FIRST.tolist(), LAST.tolist()), (LAST[::-1].tolist(), [3, 1, 2])]
    assert as_lists(split(given_splits)) == as_lists(split(iter(given_splits))) == wanted
