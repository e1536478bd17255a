"""Rows that stay with workers: the same fits, bit for bit, whoever holds which leaf."""

from dataclasses import replace

import numpy as np
import pytest
from support.keepers import remote

from emsco import EMSCOClassifier
from emsco._base import leaves
from emsco._base.digests import fingerprint_of_rows
from emsco.costs import FeatureCosts
from emsco.data.row_prints import RowPrints
from emsco.data.training import TrainingData, _extremes
from emsco.errors import ParameterError
from emsco.fitting import FitSettings, fit_rows
from emsco.models.engine import LogisticEngine, SplitRows
from emsco.models.shard import SplitData, Sums, merged
from emsco.scale.disk import on_disk
from emsco.scale.remote import Keeper, LeafTask
from emsco.scale.remote_models import RemoteEngine, RemoteSplit

N_INPUTS = 4
SUBSETS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)
LOGISTIC = {"estimator": "logistic", "search": "evolution", "random_state": 3, "cv": 2}
LOGISTIC |= {"generations": 2, "population_size": 12}


@pytest.fixture
def small_leaves(monkeypatch):
    monkeypatch.setattr(leaves, "LEAF", 256)


def problem(n_classes=2, n_rows=1500, gaps=True):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=n_rows).astype(np.uint8)
    X = rng.normal(size=(n_rows, N_INPUTS)) + y[:, None] * [0.2, 0.5, 0.9, 0.0]
    X[rng.random(X.shape) < 0.05 * gaps] = np.nan
    rows = rng.permutation(n_rows)
    return X, y, leaves.by_leaf(rows[:1000]), leaves.by_leaf(rows[1000:])


def everything(engine, X, scored):
    """What an engine finds, as bytes."""
    numbers, slots = engine.fit(SUBSETS), np.arange(len(SUBSETS))
    for bits in engine.bits:
        bits.reserve(len(SUBSETS))
    engine.judge(SUBSETS, numbers, slots, np.linspace(0.4, 0.6, engine.n_classes))
    answers = engine.answers(SUBSETS, numbers, X, [scored])
    facts = [numbers, *(bits.get(slots) for bits in engine.bits), *engine.margins(numbers)]
    facts += [*engine.truth, *(values.astype(float) for pair in answers for values in pair)]
    return [one.tobytes() for one in facts]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_number_of_workers_finds_the_same_bits_as_one_process(
    small_leaves, n_classes, weighted
):
    X, y, train, scored = problem(n_classes)
    options = {"n_classes": n_classes}
    if weighted:
        counts = np.random.default_rng(0).integers(0, 3, size=len(y))
        options |= {"weights": 1.5 * counts, "counts": counts, "missing": np.isnan(X)}
        options |= {"by_class": True, "class_weights": np.arange(1.0, n_classes + 1)}
    split = SplitRows.cut(SplitData(X, y, train, scored, **options))
    wanted = everything(LogisticEngine([split], N_INPUTS, n_classes), X, scored)
    for n_workers in (1, 2, 3, 8):
        rows, _ = remote(X, n_workers)
        split = RemoteSplit.cut(SplitData(rows, y, train, scored, **options))
        assert everything(RemoteEngine([split], N_INPUTS, n_classes), X, scored) == wanted


def test_leaves_change_a_fit_by_no_more_than_rounding(small_leaves, monkeypatch):
    X, y, train, scored = problem()
    cut = LogisticEngine([SplitRows.cut(SplitData(X, y, train, scored))], N_INPUTS).fit(SUBSETS)
    monkeypatch.setattr(leaves, "LEAF", 2**16)
    whole = LogisticEngine([SplitRows.cut(SplitData(X, y, train, scored))], N_INPUTS).fit(SUBSETS)
    np.testing.assert_allclose(cut, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 7, 8, 13])
def test_sums_of_leaves_do_not_depend_on_who_adds_them_up(n_leaves):
    rng = np.random.default_rng(n_leaves)
    values = rng.normal(size=n_leaves) * 10.0 ** rng.integers(-8, 8, size=n_leaves)

    def nodes(of):
        return {(0, i): Sums(np.array([values[i]]), np.zeros(1)) for i in of}

    sums = set()
    for n_workers in (1, 2, 3, 5):
        holder = rng.integers(n_workers, size=n_leaves)
        together = {}
        for worker in range(n_workers):
            together |= merged(nodes(np.flatnonzero(holder == worker).tolist()), n_leaves)
        (total,) = merged(together, n_leaves).values()
        sums.add(float(total.gradient[0]))
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(values.sum(), rel=1e-9)


def test_rows_of_a_lost_worker_are_loaded_again_and_the_fit_goes_on(small_leaves):
    X, y, train, scored = problem()
    split = SplitRows.cut(SplitData(X, y, train, scored))
    wanted = everything(LogisticEngine([split], N_INPUTS), X, scored)
    rows, site = remote(X, 3)
    engine = RemoteEngine([RemoteSplit.cut(SplitData(rows, y, train, scored))], N_INPUTS)
    site.held[1].keeper = None
    assert everything(engine, X, scored) == wanted
    site.held[0].keeper = site.held[-1].keeper = None
    assert everything(engine, X, scored) == wanted


def test_rows_on_disk_give_the_same_bits(small_leaves):
    X, y, train, scored = problem(3)
    options = {"n_classes": 3, "weights": np.arange(len(y)) % 3 * 1.0, "missing": np.isnan(X)}
    split = SplitRows.cut(SplitData(X, y, train, scored, **options))
    wanted = everything(LogisticEngine([split], N_INPUTS, 3), X, scored)
    rows = on_disk([X[:700], X[700:]], *X.shape)
    split = RemoteSplit.cut(SplitData(rows, y, train, scored, **options))
    assert everything(RemoteEngine([split], N_INPUTS, 3), X, scored) == wanted


@pytest.mark.parametrize("n_rows", [200, 1500])
def test_rows_have_the_same_digests_with_workers_as_in_memory(small_leaves, n_rows):
    X = problem(n_rows=n_rows)[0]
    rows, _ = remote(X, 3)
    assert rows.fingerprint() == fingerprint_of_rows(X)
    assert fingerprint_of_rows(X[::-1]) != fingerprint_of_rows(X)
    data = TrainingData.from_table(
        X, np.arange(n_rows) % 2, None, FeatureCosts.resolve(None, "abcd"), "impute"
    )
    assert replace(data, rows=remote(data.rows, 3)[0]).fingerprints() == data.fingerprints()
    assert RowPrints.from_rows(rows).digest == RowPrints.from_rows(X).digest


def test_answers_that_are_combined_are_not_kept_by_leaf(small_leaves):
    rows, order = np.ones((1500, 1)), []
    keeper = Keeper(range(6), *(rows[leaves.rows_of_leaf(i)] for i in range(6)))

    def combine(kept, leaf, answer):
        kept["all"] = kept.get("all", 0) + answer
        order.append(leaf)

    task = LeafTask(lambda leaf: int(leaf.rows.sum()), combine=combine)
    assert keeper.answer(task) == {"all": 1500}
    assert order == [0, 1, 2, 3, 4, 5]


def test_rows_of_workers_can_be_chosen_and_fetched(small_leaves):
    X, *_ = problem()
    rows, _ = remote(X, 3)
    numbers = np.random.default_rng(0).permutation(len(X))[:700]
    few = rows[numbers]
    assert few.shape == (700, N_INPUTS)
    np.testing.assert_array_equal(np.asarray(few), X[numbers])
    np.testing.assert_array_equal(np.asarray(few[::-1][:5]), X[numbers][::-1][:5])
    np.testing.assert_array_equal(few[:, 2], X[numbers, 2])
    np.testing.assert_array_equal(rows[:, 1:3], X[:, 1:3])


def test_ranges_of_remote_rows_are_those_of_all_leaves(small_leaves):
    X, *_ = problem(gaps=True)
    rows, _ = remote(X, 3)
    np.testing.assert_array_equal(_extremes(rows), [np.nanmin(X, axis=0), np.nanmax(X, axis=0)])
    weights = np.repeat([0.0, 1.0], [len(X) - 50, 50])  # whole leaves do not count
    last_leaf = X[-50:]
    expected = [np.nanmin(last_leaf, axis=0), np.nanmax(last_leaf, axis=0)]
    np.testing.assert_array_equal(_extremes(rows, weights), expected)
    np.testing.assert_array_equal(_extremes(X, weights), expected)


def training_data(gaps="refuse", **options):
    X, y, *_ = problem(gaps=gaps != "refuse")
    price = 1.0 + np.arange(len(y)) % 5 if gaps == "impute" else 2
    costs = FeatureCosts.from_mapping({"a": 1, "b": price, "c": 4, "d": 1})
    return TrainingData.from_table(X, y, options.get("weights"), costs, gaps)


def with_workers(data, n_workers=3):
    return replace(data, rows=remote(data.rows, n_workers)[0])


def facts(fitted):
    some, (X, *_) = fitted.front.models.of_points[:20], problem()
    rows = np.zeros((50, fitted.front.models.encoding.n_inputs))
    rows[:, :N_INPUTS] = np.nan_to_num(X[:50])
    models = [one.probabilities(one.filled(rows), 0).tobytes() for one in some]
    return [repr(point) for point in fitted.front], models


def fitted(data, given):
    return fit_rows(data, FitSettings.from_parameters(given, data))


@pytest.mark.parametrize(
    ("gaps", "more"),
    [
        ("refuse", {}),
        ("impute", {"min_confidence": 0.7, "refit": "all", "cv": 1 / 3}),
        ("skip", {"metric": "balanced_accuracy", "class_weight": "balanced"}),
    ],
)
def test_whole_fits_are_the_same_with_workers(small_leaves, gaps, more):
    given = EMSCOClassifier(**LOGISTIC | {"gaps": gaps} | more).get_params(deep=False)
    data = training_data(gaps, weights=np.random.default_rng(1).integers(0, 4, 1500).astype(float))
    assert facts(fitted(with_workers(data), given)) == facts(fitted(data, given))


def test_a_sample_is_searched_in_memory_and_finished_by_workers(small_leaves):
    given = EMSCOClassifier(**LOGISTIC | {"screen_rows": 400}).get_params(deep=False)
    data = training_data()
    by_workers, other = fitted(with_workers(data), given), fitted(data, given)
    assert by_workers.refinement == other.refinement
    assert facts(by_workers) == facts(other)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"estimator": "boosting"}, 'estimator must be "auto" or "logistic" where rows stay with'),
        ({"search_with": "spline"}, 'search_with must be None or "logistic" where rows stay with'),
        (
            {"calibration": "sigmoid"},
            "calibration must be None where rows stay with workers or on disk, got",
        ),
        (
            {"branches": 2},
            'branches must be "auto" or 1 where rows stay with workers or on disk, got 2',
        ),
    ],
)
def test_what_only_rows_in_memory_can_have_is_refused(more, said):
    given = EMSCOClassifier(**{**LOGISTIC, **more}).get_params(deep=False)
    with pytest.raises(ParameterError, match=said):
        fitted(with_workers(training_data(), 1), given)
