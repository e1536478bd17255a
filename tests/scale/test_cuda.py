"""Logistic stages on a device of PyTorch: here its CPU, which runs the same code as a GPU."""

import warnings

import numpy as np
import pytest

from emsco import EMSCOClassifier
from emsco.data.single_rows import SingleRows
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import EMSCOError, EMSCOWarning, ParameterError
from emsco.models.backends import check_device
from emsco.models.bank import SubsetBank
from emsco.models.engine import LogisticEngine, SplitRows
from emsco.models.shard import SplitData

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'emsco[cuda]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from emsco.scale.cuda import engine as shard
    from emsco.scale.cuda import fitter, library
    from emsco.scale.cuda.engine import backend
    from emsco.scale.cuda.library import count_bits

N_FEATURES = 5
SUBSETS = np.arange(1, 2**N_FEATURES)[:, None] >> np.arange(N_FEATURES) & 1 == 1
WORDS = np.arange(1, 2**N_FEATURES, dtype=np.uint64)[:, None]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")


@pytest.fixture(autouse=True)
def few_places(monkeypatch):
    """Small batches, so that models leave their places to others; small blocks of rows."""
    monkeypatch.setattr(fitter, "_MODELS", 16)
    monkeypatch.setattr(shard, "_ROWS", 64)


def make_rows(n_classes=2, n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    X[:, 3] = X[:, 1] + X[:, 2]  # collinear
    X[:, 4] = X[:, 4] > 0
    logits = X @ rng.normal(size=(N_FEATURES, n_classes))
    return X, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1).astype(np.uint8)


def engines(X, y, n_classes=2, folds=1, **options):
    """The same splits on the CPU and on the device."""
    places = np.arange(len(X))
    pairs = [(places[places % 3 != k], places[places % 3 == k]) for k in range(folds)]
    device = backend("torch")
    splits = [
        SplitRows.cut(SplitData(X, y, *pair, n_classes=n_classes, **options)) for pair in pairs
    ]
    sent = [device.cut(SplitData(X, y, *pair, n_classes=n_classes, **options)) for pair in pairs]
    return (
        LogisticEngine(splits, N_FEATURES, n_classes),
        device.engine(sent, N_FEATURES, n_classes),
        pairs,
    )


# Classes, and whether there are weights, gaps, folds and counts by class.
KINDS = {
    "plain": (2, False, False, 1, False),
    "weights, gaps and folds": (2, True, True, 2, False),
    "three classes, by class": (3, False, False, 1, True),
    "all of it": (4, True, True, 1, True),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def problem(request):
    n_classes, weighted, gaps, folds, by_class = request.param
    X, y = make_rows(n_classes)
    rng, options = np.random.default_rng(1), {"by_class": by_class}
    if weighted:
        counts = rng.integers(0, 4, len(X))
        options |= {"weights": counts.astype(float), "counts": counts}
        options["class_weights"] = np.linspace(1, 2, n_classes)
    if gaps:
        options["missing"] = rng.random(X.shape) < 0.1
        X[options["missing"]] = np.nan
    return X, *engines(X, y, n_classes, folds, **options)


def test_probabilities_are_those_of_the_cpu_to_the_ninth_decimal(problem):
    X, here, sent, pairs = problem
    rows = X, [scored for _, scored in pairs]
    expected = here.answers(SUBSETS, here.fit(SUBSETS), *rows)
    answers = sent.answers(SUBSETS, sent.fit(SUBSETS), *rows)
    for (winner, confidence), (same, sure) in zip(expected, answers, strict=True):
        assert np.array_equal(winner, same)
        assert np.abs(confidence - sure).max() < 1e-9


def test_rows_in_single_precision_are_sent_as_they_are():
    X, y = make_rows()
    single = X.astype(np.float32)
    single.setflags(write=False)
    held, double = SingleRows(single), single.astype(np.float64)
    _, sent, pairs = engines(held, y)
    _, other, _ = engines(double, y)
    scored = [part for _, part in pairs]
    numbers = sent.fit(SUBSETS)
    assert np.array_equal(numbers, other.fit(SUBSETS))
    for table in (held, SingleRows(single[::-1])):  # the same numbers of other rows are other rows
        answers = sent.answers(SUBSETS, numbers, table, scored)
        expected = other.answers(SUBSETS, numbers, np.asarray(table), scored)
        assert all(map(np.array_equal, answers[0], expected[0]))


def test_bits_counts_and_margins_are_those_of_the_cpu(problem):
    _, here, sent, _ = problem
    least = np.full(here.n_classes, 0.6)
    banks = [SubsetBank(engine, np.eye(N_FEATURES, dtype=bool)) for engine in (here, sent)]
    bits, others = (bank.bits_of(WORDS, ThresholdGrid.single(least)) for bank in banks)
    assert np.array_equal(bits, others)
    rng = np.random.default_rng(0)
    designs = rng.integers(0, 3, (40, N_FEATURES)).astype(np.int16)
    designs[:, :3] = [0, 1, 2]
    levels, n_stages = rng.integers(0, 2, (40, 3)), np.full(40, 3)
    given = designs, n_stages, ThresholdGrid(np.array([least, least + 0.2])), levels
    assert np.array_equal(banks[0].count(*given), banks[1].count(*given))
    margins = [bank.margins(WORDS[:5]) for bank in banks]
    assert np.allclose(*margins, atol=1e-6)


def test_prices_by_row_are_paid_as_on_the_cpu():
    X, y = make_rows()
    here, sent, ((_, scored),) = engines(X, y)
    prices = np.random.default_rng(0).integers(0, 9, (2, len(scored)))
    designs = np.array([[0, 1, 1, 0, 1], [0, 0, 1, 2, -1]], dtype=np.int16)
    spent = []
    for engine in (here, sent):
        bank = SubsetBank(engine, np.eye(N_FEATURES, dtype=bool))
        bank.price(np.array([1, 3]), prices)
        spent.append(bank.count(designs, np.array([2, 3]), ThresholdGrid.single(np.full(2, 0.7))))
    assert np.array_equal(*spent)


def test_a_fit_does_not_depend_on_what_shares_its_batch(problem):
    _, _, sent, _ = problem
    every = sent.fit(SUBSETS)
    assert np.array_equal(sent.fit(SUBSETS[::-1])[::-1], every)
    assert np.array_equal(sent.fit(SUBSETS[7:8]), every[7:8])


def test_hessians_of_a_sample_lead_to_the_same_optimum(monkeypatch):
    X, y = make_rows(n_rows=900)
    monkeypatch.setattr("emsco.scale.cuda.engine._SAMPLED", 10)
    here, sent, _ = engines(X, y)
    assert sent.splits[0].fitter._sample is not None
    assert np.abs(here.fit(SUBSETS) - sent.fit(SUBSETS)).max() < 1e-9


def test_rounded_hessians_give_way_to_exact_ones(monkeypatch):
    X, y = make_rows()
    monkeypatch.setattr(fitter, "_EXACT_AFTER", 1)
    here, sent, _ = engines(X, y)
    assert np.abs(here.fit(SUBSETS) - sent.fit(SUBSETS)).max() < 1e-9


def test_outliers_and_separable_classes_are_fitted_too():
    X, y = make_rows()
    X[:, 0] = np.where(y == 1, 1.0, -1.0) * (1 + np.abs(X[:, 0]))
    X[0, 1], X[:, 2] = 1e6, 0.0
    here, sent, ((_, scored),) = engines(X, y)
    rows = X, [scored]
    ((_, sure),), ((_, same),) = (
        engine.answers(SUBSETS, engine.fit(SUBSETS), *rows) for engine in (here, sent)
    )
    assert np.abs(sure - same).max() < 1e-9


def test_popcounts_are_those_of_numpy():
    words = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, (3, 50))
    counts = count_bits(torch.as_tensor(words[:2]), torch.as_tensor(words[1:]))
    assert np.array_equal(counts.numpy(), np.bitwise_count((words[:2] & words[1:]).view(np.uint64)))


def fitted(device, **settings):
    X, y = make_rows(n_rows=300)
    options = {"search": "evolution", "generations": 4, "population_size": 30, "cv": 1 / 3}
    options |= {"estimator": "logistic", "random_state": 0, "device": device}
    return EMSCOClassifier([3, 1, 2, 5, 1], **{**options, **settings}).fit(X, y)


@pytest.mark.parametrize("settings", [{}, {"estimator": "spline", "cv": 2, "refit": "all"}])
def test_the_front_is_that_of_the_cpu(settings):
    here, sent = fitted("cpu", **settings), fitted("torch", **settings)
    assert [point.design for point in here.front_] == [point.design for point in sent.front_]
    assert [point.cost for point in here.front_] == [point.cost for point in sent.front_]
    X, _ = make_rows(n_rows=50, seed=9)
    assert np.abs(here.predict_proba(X) - sent.predict_proba(X)).max() < 1e-9


def test_a_checkpoint_of_another_device_is_refused(tmp_path):
    fitted("cpu", checkpoint=tmp_path / "a")
    with pytest.raises(EMSCOError, match="differs in device"):
        fitted("torch", checkpoint=tmp_path / "a")


def test_models_that_stay_on_the_cpu_are_told():
    with pytest.warns(EMSCOWarning, match="calibrated models are fitted on the CPU"):
        fitted("torch", calibration="sigmoid")


@pytest.mark.parametrize("device", ["gpu", "cuda:", 0, "mps"])
def test_a_device_that_is_none_is_refused(device):
    with pytest.raises(ParameterError, match='device must be "cpu", "cuda" or a GPU by number'):
        check_device(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA GPU")
def test_without_a_gpu_a_sentence_says_so():
    with pytest.raises(ParameterError, match='device must be "cpu" where PyTorch finds no CUDA'):
        check_device("cuda")


def test_a_gpu_beyond_the_last_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ParameterError, match="at most \"cuda:1\", got 'cuda:5'"):
        check_device("cuda:5")


def test_without_pytorch_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(library, "torch", None)
    with pytest.raises(EMSCOError, match=r"pip install 'emsco\[cuda\]'"):
        check_device("cuda")


def test_models_that_start_at_the_optimum_of_a_sample_end_where_the_others_do(monkeypatch):
    X, y = make_rows(n_rows=3000)
    rows = np.arange(2000), np.arange(2000, 3000)
    here = LogisticEngine([SplitRows.cut(SplitData(X, y, *rows))], N_FEATURES)
    monkeypatch.setattr("emsco.scale.cuda.engine._SAMPLED", 10)
    device = backend("torch")
    split = device.cut(SplitData(X, y, *rows))
    assert split.fitter._starter is not None
    numbers = device.engine([split], N_FEATURES).fit(SUBSETS)
    assert np.abs(here.fit(SUBSETS) - numbers).max() < 1e-9


@needs_gpu
def test_a_gpu_fits_as_the_cpu_does():
    X, y = make_rows(n_rows=3000)
    device = backend("cuda")
    rows = np.arange(2000), np.arange(2000, 3000)
    sent = device.engine([device.cut(SplitData(X, y, *rows))], N_FEATURES)
    here = LogisticEngine([SplitRows.cut(SplitData(X, y, *rows))], N_FEATURES)
    every = sent.fit(SUBSETS)
    assert np.abs(here.fit(SUBSETS) - every).max() < 1e-9
    assert np.array_equal(sent.fit(SUBSETS[3:4]), every[3:4])
