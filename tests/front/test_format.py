"""Files of fronts: these come back bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.documents import (
    LABELS,
    ODD_NAMES,
    ROWS,
    TRUTH,
    assert_same_cascade,
    body_of,
    changed,
    load_body,
    saved,
)
from support.handmade import (
    assert_same_bits,
    make_assessed_front,
    make_balanced_front,
    make_branching_front,
    make_front,
    make_rows,
)

from emsco import FileError, ParameterError, ParetoFront

S, Q = ("points", 1, "scored"), ("points", 1, "seen")

pytestmark = pytest.mark.usefixtures("without_fsync")


class TestFronts:
    @pytest.mark.parametrize("label", LABELS)
    @pytest.mark.parametrize("tested", [False, True])
    def test_come_back_with_points_cascades_and_tests(self, tmp_path, label, tested):
        front = make_front(LABELS[label])
        if tested and label != "object of many":  # which cannot be sorted
            front = front.with_seen(ROWS, LABELS[label][TRUTH])
        loaded = saved(front, tmp_path)
        assert loaded.points == front.points
        assert loaded.seen == front.seen
        assert (loaded.proven, loaded.min_confidence, loaded.by_fitness) == (True, 0.8, False)
        for i in range(2):
            assert_same_cascade(loaded.cascade(i), front.cascade(i))
            assert_same_bits(loaded.cascade(i).decide(ROWS), front.cascade(i).decide(ROWS))

    @pytest.mark.parametrize("n_models", [1, 3])
    def test_with_designs_that_branch_come_back(self, tmp_path, n_models):
        front = make_branching_front(n_models).with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.seen) == (front.points, front.seen)
        for i in range(2):
            assert_same_cascade(loaded.cascade(i), front.cascade(i))
            assert_same_bits(loaded.cascade(i).decide(ROWS), front.cascade(i).decide(ROWS))
        assert repr(loaded) == repr(front)
        assert loaded.to_dicts() == front.to_dicts()
        deployed = saved(loaded.cascade(1), tmp_path)  # whose banks are counted anew
        assert_same_cascade(deployed, front.cascade(1))

    def test_with_test_rows_that_only_the_last_stage_rejects_come_back(self, tmp_path):
        front = make_branching_front()
        thresholds = [*[0.6] * 7, 1.0]
        point = replace(front[1], design=front[1].design.with_thresholds(thresholds))
        front = replace(front, points=(front[0], point)).with_seen(ROWS, TRUTH)
        assert front.seen[1].coverage < 1
        assert not front.seen[1].rejected_exits
        assert saved(front, tmp_path).seen == front.seen

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ((*S, "cost"), 12),
            ((*S, "rejected_exits", 0), 1),
            ((*S, "rejected_exits", 2), 400),
            ((*S, "rejected_exits"), []),
            ((*Q, "rejected_exits", 7), 2),
            ((*Q, "rejected_exits"), [4, *[0] * 7]),
            (("points", 1, "seen", "exits", 8, "cost"), 1),
            (("points", 1, "seen", "exits", 6, "cost"), 1),
        ],
    )
    def test_with_branches_and_figures_that_contradict_them_are_refused(
        self, tmp_path, path, value
    ):
        body = body_of(make_branching_front().with_seen(ROWS, TRUTH))
        with pytest.raises(FileError):
            load_body(tmp_path, ParetoFront, changed(body, path, value))

    def test_come_back_with_their_metric(self, tmp_path):
        front = make_balanced_front()
        loaded = saved(front, tmp_path)
        assert loaded.points == front.points
        assert loaded.metric == "balanced_accuracy"
        assert saved(make_front(), tmp_path).metric == "accuracy"

    @pytest.mark.parametrize("names", ODD_NAMES.values(), ids=ODD_NAMES)
    def test_come_back_with_features_of_every_name(self, tmp_path, names):
        front = make_front(names=names).with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.seen) == (front.points, front.seen)

    def test_come_back_with_what_was_found_row_by_row(self, tmp_path):
        front = make_assessed_front().with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.metric) == (front.points, "accuracy")
        assert (loaded.references, loaded.seen_references) == (
            front.references,
            front.seen_references,
        )
        assert len(loaded.seen_references) == 3
        assert_same_cascade(loaded.everything(), front.everything())
        assert (loaded.shortlist(), loaded.economical()) == ([1], front.economical())

    def test_are_tested_by_the_cascade_of_each_point(self):
        front = make_front().with_seen(ROWS, TRUTH)
        assert front.seen == tuple(front.cascade(i).evaluate(ROWS, TRUTH) for i in range(2))
        assert front.seen[0] != front.seen[1]
        assert make_front().seen is None

    @pytest.mark.parametrize("scale", [1, 1000])  # so far out that every stage is certain
    def test_come_back_with_tests_of_weighted_rows(self, tmp_path, scale):
        for seed in range(20):
            rows, front = scale * make_rows(60, seed=seed), make_front()
            weights = np.random.default_rng(seed).random(60) ** 8
            front = front.with_seen(rows, front.cascade(0).decide(rows).guesses, weights)
            assert saved(front, tmp_path).seen == front.seen

    def test_choose_and_select_after_loading_as_before(self, tmp_path):
        front = make_front()
        loaded = saved(front, tmp_path)
        assert loaded.balanced() == front.balanced()
        assert loaded.select(max_cost=30) == front.select(max_cost=30) == front[0]
        assert repr(loaded) == repr(front)

    def test_without_fitted_stages_are_neither_saved_nor_deployed(self, tmp_path):
        full = make_front()
        bare = ParetoFront(full.points, full.costs, 0.8)
        with pytest.raises(FileError):
            bare.save(tmp_path / "front.json")
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(ParameterError):
            bare.cascade(0)
        with pytest.raises(ParameterError):
            bare.with_seen(ROWS, TRUTH)
