"""Cascades: a decision depends on its row alone and agrees with the scored figures; delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from support.banks import bank_of
from support.brute import bench_of_split
from support.handmade import make_cascade, make_rich_cascade, make_rich_rows, plain_encoding

from emsco.cascade import Cascade, Decisions, ExitReport
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress
from emsco.designs.design import Design
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.errors import DataError

NAMES = ("a", "b", "c", "d", "e", "f")
STAGES = (0, 1, 0, 2, 1, 2)
COSTS = (1, 2, 3, 4, 5, 6)
TRAIN, NEW = np.arange(60), np.arange(60, 120)


def fit_cascade(X, y, train, stages, names, costs, min_confidence, classes=(0, 1)):
    design = Design(stages, names)
    bank = bank_of(X, y, (train, train[:0]))
    (models,) = bank.engine.fitters[0].stage_models([design.subsets()])
    return Cascade(
        design=design,
        costs=FeatureCosts.from_array(costs, names),
        classes=np.array(classes),
        min_confidence=min_confidence,
        encoding=plain_encoding(names),
        models=models,
    )


def scored(X, y, split, costs, min_confidence, designs):
    """What a search counts."""
    data = TrainingData.from_table(X, y, None, costs, "refuse")
    grid = ThresholdGrid.single(np.full(len(data.classes), min_confidence))
    return bench_of_split(data, split).evaluator(4, grid).score(designs)


@pytest.fixture
def cascade(small_problem):
    return fit_cascade(*small_problem, TRAIN, STAGES, NAMES, COSTS, 0.8)


@pytest.fixture
def rows(small_problem):
    return small_problem[0][NEW]


@pytest.fixture
def truth(small_problem):
    return small_problem[1][NEW]


def assert_same_bits(some, other):
    for name in ("guesses", "accepted", "confidence", "stage", "cost"):
        assert getattr(some, name).tobytes() == getattr(other, name).tobytes()


def picked(decisions, which):
    fields = ("guesses", "accepted", "confidence", "stage", "cost")
    return Decisions(*(getattr(decisions, name)[which] for name in fields))


class TestDecide:
    def test_a_row_leaves_at_the_first_stage_where_scikit_learn_is_sure(
        self, cascade, small_problem
    ):
        X, y = small_problem
        Z = (X - X[TRAIN].mean(axis=0)) / X[TRAIN].std(axis=0)
        undecided, decisions = np.ones(60, dtype=bool), cascade.decide(X[NEW])
        for j, known in enumerate(cascade.design.subsets(), start=1):
            peer = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            p = peer.fit(Z[TRAIN][:, known], y[TRAIN]).predict_proba(Z[NEW][:, known])
            here = undecided & (p.max(axis=1) >= 0.8)
            assert (decisions.accepted & (decisions.stage == j)).tolist() == here.tolist()
            assert decisions.guesses[here].tolist() == p.argmax(axis=1)[here].tolist()
            np.testing.assert_allclose(decisions.confidence[here], p.max(axis=1)[here], atol=1e-8)
            undecided &= ~here
        assert decisions.accepted.tolist() == (~undecided).tolist()

    def test_a_row_pays_for_the_stages_it_reached_and_a_rejected_one_for_all(self, cascade, rows):
        decisions = cascade.decide(rows)
        assert cascade.stage_costs.tolist() == [4.0, 11.0, 21.0]
        assert decisions.cost.tolist() == cascade.stage_costs[decisions.stage - 1].tolist()
        assert {*decisions.stage} == {1, 2, 3}
        assert 0 < (~decisions.accepted).sum() < 60
        assert (decisions.stage[~decisions.accepted] == 3).all()
        assert (decisions.cost[~decisions.accepted] == 21).all()

    def test_accepted_rows_are_those_that_are_sure_enough(self, cascade, rows):
        decisions = cascade.decide(rows)
        assert decisions.accepted.tolist() == (decisions.confidence >= 0.8).tolist()
        assert (decisions.confidence >= 0.5).all()

    def test_labels_are_masked_where_a_row_is_rejected(self, cascade, rows):
        decisions = cascade.decide(rows)
        assert decisions.labels.mask.tolist() == (~decisions.accepted).tolist()
        assert decisions.labels.compressed().tolist() == (
            decisions.guesses[decisions.accepted].tolist()
        )

    def test_classes_may_be_words(self, small_problem, rows, cascade):
        words = fit_cascade(
            *small_problem, TRAIN, STAGES, NAMES, COSTS, 0.8, classes=("benign", "malign")
        )
        numbers = cascade.decide(rows).guesses
        assert words.decide(rows).guesses.tolist() == [("benign", "malign")[i] for i in numbers]

    def test_no_rows_give_no_decisions(self, cascade):
        decisions = cascade.decide(np.zeros((0, 6)))
        assert len(decisions) == 0
        assert repr(decisions) == "Decisions(0 rows)"


class TestEachRowAlone:
    def test_a_row_is_decided_alike_alone_and_in_company(self, cascade, rows):
        together = cascade.decide(rows)
        for i in range(60):
            assert_same_bits(cascade.decide(rows[i : i + 1]), picked(together, [i]))

    def test_the_order_of_rows_changes_no_bit(self, cascade, rows):
        order = np.random.default_rng(0).permutation(60)
        together = cascade.decide(rows)
        assert_same_bits(cascade.decide(rows[::-1]), picked(together, slice(None, None, -1)))
        assert_same_bits(cascade.decide(rows[order]), picked(together, order))

    @pytest.mark.parametrize("place", [0, 1, 63, 70_001])
    def test_a_big_table_around_them_changes_no_bit(self, cascade, rows, place):
        big = np.random.default_rng(1).normal(size=(70_100, 6))
        here = slice(place, place + 7)
        big[here] = rows[:7]
        assert_same_bits(picked(cascade.decide(big), here), picked(cascade.decide(rows), slice(7)))

    def test_the_layout_of_the_table_changes_no_bit(self, cascade, rows):
        wide = np.repeat(rows, 3, axis=1)[:, 1::3]
        for table in (np.asfortranarray(rows), wide, rows.tolist(), rows.astype(object)):
            assert_same_bits(cascade.decide(table), cascade.decide(rows))

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_columns_are_found_by_name(self, cascade, rows, library):
        table = library.DataFrame({name: rows[:, NAMES.index(name)] for name in "fbdace"})
        assert_same_bits(cascade.decide(table), cascade.decide(rows))

    def test_the_table_is_not_changed(self, cascade, rows):
        locked = rows.copy()
        locked.setflags(write=False)
        assert_same_bits(cascade.decide(locked), cascade.decide(rows))
        assert locked.tolist() == rows.tolist()


class TestAgreesWithTheSearch:
    @pytest.mark.parametrize("name", ["heart", "pima", "credit"])
    def test_scored_rows_are_decided_as_the_search_counted_them(self, paper_set, name):
        data = paper_set(name)
        n_features, new, truth = data.X.shape[1], data.X[data.held_out], data.y[data.held_out]
        draws = np.random.default_rng(2).integers(0, 4, size=(60, n_features))
        costs = FeatureCosts.from_array(data.costs, data.names)
        designs = Designs.of(compress(draws))
        scores = scored(data.X, data.y, (data.train, data.held_out), costs, 0.75, designs)
        for i, stages in enumerate(designs.stages):
            cascade = fit_cascade(data.X, data.y, data.train, stages, data.names, data.costs, 0.75)
            decided = cascade.evaluate(new, truth)
            n_stages = cascade.n_stages
            assert [e.n_rows for e in decided.exits[:-1]] == scores.exits[i, :n_stages].tolist()
            assert [e.n_correct for e in decided.exits[:-1]] == scores.correct_exits[
                i, :n_stages
            ].tolist()
            assert decided.cost == pytest.approx(scores.cost[i], rel=1e-12)

    def test_a_confidence_equal_to_the_threshold_is_accepted_by_both(self, small_problem, rows):
        """Use confidences as thresholds, so that a difference in rounding would show."""
        X, y = small_problem
        design, costs = Designs.of(compress([STAGES])), FeatureCosts.from_array(COSTS, NAMES)
        everything = fit_cascade(X, y, TRAIN, (0,) * 6, NAMES, COSTS, 0.5).decide(rows)
        for tie in everything.confidence[everything.confidence < 1]:
            cascade = fit_cascade(X, y, TRAIN, STAGES, NAMES, COSTS, tie)
            exits = scored(X, y, (TRAIN, NEW), costs, tie, design).exits[0, :3]
            decisions = cascade.decide(rows)
            left = [(decisions.accepted & (decisions.stage == j)).sum() for j in (1, 2, 3)]
            assert left == exits.tolist()


class TestProbabilities:
    def test_they_sum_to_one_and_their_largest_is_the_confidence(self, cascade, rows):
        decisions, p = cascade.decide(rows), cascade.predict_proba(rows)
        assert p.shape == (60, 2)
        assert (p.sum(axis=1) == 1).all()
        assert p.max(axis=1).tolist() == decisions.confidence.tolist()
        assert p.argmax(axis=1).tolist() == decisions.guesses.tolist()

    def test_columns_follow_the_order_of_the_classes(self, small_problem, cascade, rows):
        words = fit_cascade(
            *small_problem, TRAIN, STAGES, NAMES, COSTS, 0.8, classes=("benign", "malign")
        )
        assert words.predict_proba(rows).tolist() == cascade.predict_proba(rows).tolist()

    def test_an_undecidable_row_is_one_half_each_and_the_first_class(self, cascade, rows):
        zeros = replace(cascade.models, coefs=np.zeros((3, 1, 7)))
        blank = replace(cascade, models=zeros, min_confidence=0.5)
        assert blank.predict_proba(rows[:3]).tolist() == [[0.5, 0.5]] * 3
        decisions = blank.decide(rows[:3])
        assert decisions.guesses.tolist() == [0, 0, 0]
        assert decisions.stage.tolist() == [1, 1, 1]
        assert decisions.accepted.all()


class TestEvaluate:
    def test_the_objectives_are_those_of_the_decisions(self, cascade, rows, truth):
        decisions, evaluation = cascade.decide(rows), cascade.evaluate(rows, truth)
        right = decisions.guesses == truth
        assert evaluation.n_rows == 60
        assert evaluation.coverage == decisions.accepted.mean()
        assert evaluation.accuracy == right[decisions.accepted].mean()
        assert evaluation.cost == decisions.cost.mean()

    def test_exits_add_up(self, cascade, rows, truth):
        evaluation = cascade.evaluate(rows, truth)
        exits = evaluation.exits
        assert [leave.stage for leave in exits] == [1, 2, 3, None]
        assert [leave.features for leave in exits] == [("a", "c"), ("b", "e"), ("d", "f"), ()]
        assert [leave.cost for leave in exits] == [4.0, 11.0, 21.0, 21.0]
        assert sum(leave.n_rows for leave in exits) == 60
        accepted = sum(leave.n_rows for leave in exits[:-1])
        assert accepted == evaluation.coverage * 60
        assert sum(leave.n_correct for leave in exits) == round(evaluation.accuracy * accepted)
        spent = sum(leave.n_rows * leave.cost for leave in exits)
        assert spent == pytest.approx(evaluation.cost * 60)

    def test_each_exit_has_the_accuracy_of_its_own_rows(self, cascade, rows, truth):
        decisions = cascade.decide(rows)
        for leave in cascade.evaluate(rows, truth).exits[:-1]:
            here = decisions.accepted & (decisions.stage == leave.stage)
            assert leave.n_correct == (decisions.guesses == truth)[here].sum()
            assert leave.accuracy == leave.n_correct / max(here.sum(), 1)

    def test_each_exit_has_the_mean_confidence_of_its_own_rows(self, cascade, rows, truth):
        decisions = cascade.decide(rows)
        for leave in cascade.evaluate(rows, truth).exits:
            here = decisions.accepted & (decisions.stage == leave.stage)
            here = ~decisions.accepted if leave.stage is None else here
            assert leave.confidence == pytest.approx(decisions.confidence[here].mean(), rel=1e-14)

    def test_no_rejected_row_counts_as_correct(self, cascade, rows, truth):
        strict = replace(cascade, min_confidence=1.0)
        evaluation = strict.evaluate(rows, truth)
        assert evaluation.coverage == evaluation.accuracy == 0
        assert evaluation.cost == 21
        mean = pytest.approx(strict.decide(rows).confidence.mean(), rel=1e-14)
        assert evaluation.exits[-1] == ExitReport(None, (), 21.0, 60, 0, mean)

    def test_no_rows_are_no_division_by_zero(self, cascade):
        evaluation = cascade.evaluate(np.zeros((0, 6)), [])
        assert (evaluation.n_rows, evaluation.coverage, evaluation.accuracy) == (0, 0, 0)
        assert evaluation.cost == 0
        assert "Always answering" not in repr(evaluation) + evaluation._repr_html_()


class TestTables:
    def test_a_pandas_table_has_a_row_per_decision_and_no_label_where_rejected(self, cascade, rows):
        decisions = cascade.decide(rows)
        table = decisions.to_pandas()
        assert isinstance(table, pd.DataFrame)
        assert list(table.columns) == ["label", "accepted", "confidence", "stage", "cost"]
        assert table["label"].isna().tolist() == (~decisions.accepted).tolist()
        assert table["label"].dropna().tolist() == decisions.guesses[decisions.accepted].tolist()
        assert table["confidence"].tolist() == decisions.confidence.tolist()
        assert table["stage"].tolist() == decisions.stage.tolist()
        assert table["cost"].tolist() == decisions.cost.tolist()

    def test_a_polars_table_is_the_same_table(self, cascade, rows):
        decisions = cascade.decide(rows)
        table = decisions.to_polars()
        assert isinstance(table, pl.DataFrame)
        assert table["label"].to_list() == decisions.labels.tolist()
        assert table["accepted"].to_list() == decisions.accepted.tolist()
        assert table.drop("label").equals(
            pl.from_pandas(decisions.to_pandas().drop(columns="label"))
        )


@pytest.mark.parametrize("gaps", ["impute", "skip"])
def test_a_table_needs_only_the_columns_that_the_design_buys(gaps):
    cascade, table = make_rich_cascade(gaps=gaps), make_rich_rows(60)
    whole = cascade.decide_rows(cascade.encoding.rows(table))
    assert cascade.columns == ("age", "ward", "sodium", "potassium")
    few = cascade.decide(table[list(cascade.columns)])
    assert few.confidence.tolist() == whole.confidence.tolist()
    assert few.labels.tolist() == whole.labels.tolist()
    with pytest.raises(DataError, match="'ward'"):
        cascade.decide(table.drop(columns="ward"))


def test_a_column_that_is_not_bought_may_hold_anything():
    cascade, table = make_rich_cascade(), make_rich_rows(10)
    odd = cascade.decide(table.assign(smokes="sometimes"))
    assert odd.confidence.tolist() == cascade.decide(table).confidence.tolist()


DELAYS = {"pulse": 0.5, "scan": 2, "biopsy": 7}
ROWS = np.random.default_rng(5).normal(size=(40, 4))
LABELS = np.arange(40) % 2


def with_delays(cascade, delays):
    return replace(cascade, costs=cascade.costs.with_delays(delays))


@pytest.fixture
def slow():
    return with_delays(make_cascade(), DELAYS)


def test_a_cascade_says_how_long_a_row_has_waited_after_each_stage(slow):
    assert slow.stage_delays.tolist() == [0.5, 2.5, 9.5]
    assert make_cascade().stage_delays.tolist() == [0, 0, 0]


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.sampled_from([0, 0.25, 1, 3]), min_size=4, max_size=4),
    st.integers(0, 99),
)
def test_the_mean_delay_is_that_of_a_walk_over_rows(stages, delays, seed):
    stages = np.unique(stages, return_inverse=True)[1]
    cascade = with_delays(make_cascade(stages, seed=seed, min_confidence=0.7), delays)
    waited = []
    for row in ROWS:
        case, time = cascade.open(), 0.0
        while case.needs:
            time += max(delays[cascade.costs.names.index(name)] for name in case.needs)
            case.give({name: row[cascade.costs.names.index(name)] for name in case.needs})
        waited.append(time)
        assert case.decision.delay == time
    evaluation = cascade.evaluate(ROWS, LABELS)
    assert evaluation.mean_delay == pytest.approx(np.mean(waited))
    assert evaluation.worst_delay == cascade.stage_delays[-1]
    assert evaluation.flow().mean_delay == pytest.approx(np.mean(waited))
    decided = cascade.decide(ROWS).delay
    assert any(delays) == (decided is not None)
    assert decided is None or decided.tolist() == waited


def test_decisions_have_delays_only_where_values_come_later(slow):
    def acquire(names, ids):
        return ROWS[np.ix_(ids, [slow.costs.names.index(name) for name in names])]

    ids = range(len(ROWS))
    assert slow.run(ids, acquire).delay.tolist() == slow.decide(ROWS).delay.tolist()
    assert list(slow.decide(ROWS).columns())[-2:] == ["cost", "delay"]
    plain = make_cascade()
    assert plain.run(ids, acquire).delay is None
    assert "delay" not in plain.decide(ROWS).columns()


def test_delays_are_in_the_file_of_a_cascade(slow, tmp_path):
    slow.save(tmp_path / "slow.json")
    assert Cascade.load(tmp_path / "slow.json").stage_delays.tolist() == [0.5, 2.5, 9.5]


def test_the_cheapest_labels_wait_no_longer(slow):
    careful = slow.with_error_costs({0: 9, 1: 1})
    decisions, before = careful.decide(ROWS), slow.decide(ROWS)
    assert decisions.delay.tolist() == before.delay.tolist()
    assert decisions.guesses.tolist() != before.guesses.tolist()
    told = repr(careful.evaluate(ROWS, LABELS, error_cost=5, reject_cost=2)).splitlines()
    assert [line.split()[0] for line in told[1:6]] == [
        "coverage",
        "accuracy",
        "cost",
        "delay",
        "total",
    ]
