"""The bank: it fits every subset once, keeps its memory limit, and survives interruptions."""

from __future__ import annotations

import tracemalloc
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from support.banks import bank_of, coefs_of
from support.drawn import Drawn

from emsco.designs.chromosomes import words_of_subsets
from emsco.models.bank import ModelBank
from emsco.models.engine import Engine
from emsco.models.logistic import LogisticFitter

N_FEATURES = 6
ROWS = np.arange(120)
FOLDS = [(np.delete(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]
EVERY = (np.arange(1, 64)[:, None] >> np.arange(N_FEATURES) & 1).astype(bool)


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    """Fit even small problems in several batches, in threads if there are any."""
    monkeypatch.setattr("emsco.models.logistic._WORTH_FITTING", 0)


def told(bank, X, subsets, splits=FOLDS):
    """Labels and confidences of all scored rows, to the bit."""
    given = bank.answers(subsets, X, [scored for _, scored in splits])
    return [[one.tobytes() for one in both] for both in given]


def test_a_subset_is_fitted_once_and_answers_as_scikit_learn(small_problem):
    X, y = small_problem
    bank = bank_of(X, y, *FOLDS)
    first = told(bank, X, EVERY[:20])
    assert bank.n_fits == 20
    assert told(bank, X, EVERY[:20]) == first
    told(bank, X, EVERY[10:30])
    assert bank.n_fits == 30
    every = bank.answers(EVERY, X, [scored for _, scored in FOLDS])
    together = bank.engine.scored_answers(EVERY, bank.kept(EVERY))
    for (train, scored), (winner, sure) in zip(FOLDS, every, strict=True):
        Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        for subset, label, confidence in list(zip(EVERY, winner, sure, strict=True))[::7]:
            peer = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            p = peer.fit(Z[train][:, subset], y[train]).predict_proba(Z[scored][:, subset])
            np.testing.assert_allclose(confidence, p.max(axis=1), atol=1e-8)
            assert label.tolist() == p.argmax(axis=1).tolist()
    for parts, whole in zip(zip(*every, strict=True), together, strict=True):
        assert np.concatenate(parts, axis=1).tobytes() == whole.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_and_little_memory_change_no_bit(small_problem, n_jobs):
    X, y = small_problem
    roomy = bank_of(X, y, *FOLDS)
    tight = bank_of(X, y, *FOLDS, n_bytes=10 * roomy.bytes_per_subset, n_jobs=n_jobs)
    order = np.random.default_rng(0).permutation(np.arange(200) % 63)
    assert told(tight, X, EVERY[order]) == told(roomy, X, EVERY[order])
    assert tight.capacity == 10
    assert tight.n_fits > roomy.n_fits == 63


def test_what_it_holds_is_what_the_limit_allows():
    rng, limit = np.random.default_rng(0), 2**21
    subsets = rng.random((1500, 60)) < 0.5
    fitters = [Drawn.of(0, sizes=[64], n_splits=1).fitters[0]] * 2
    tracemalloc.start()
    bank = ModelBank(Engine(fitters, 2), np.eye(60, dtype=bool), limit)
    for some in np.array_split(subsets, 20):
        bank.kept(some)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bank.n_fits == 1500 > bank.capacity  # so it is full
    assert 0.7 * limit < held < 1.1 * limit


@given(st.integers(0, 10**6))
def test_models_of_any_inputs_are_those_of_the_features_that_own_them(seed):
    rng, drawn = np.random.default_rng(seed), Drawn.of(seed)
    members = rng.random((3, 4)) < 0.6  # of blocks, which may share inputs or have none
    bank = ModelBank(drawn.bank().engine, members)
    reads = rng.random((9, 4)) < 0.5
    reads[:, 0] |= ~reads.any(axis=1)
    plain = [np.concatenate([np.ravel(one.answer_one(r)) for one in drawn.fitters]) for r in reads]
    assert bank.kept_of_inputs(reads).tolist() == np.array(plain).tolist()
    subsets = (np.arange(1, 8)[:, None] >> np.arange(3) & 1).astype(bool)
    unions = [[any(s & m) for m in members.T] for s in subsets]
    assert bank.inputs(subsets).tolist() == unions


def test_models_that_are_taken_out_answer_alike(small_problem):
    X, y = small_problem
    bank = bank_of(X, y, *FOLDS)
    words, n_bytes = words_of_subsets(EVERY[[3, 7, 3]]), 2 * 8 * bank.engine.kept
    assert bank.some_models(words, n_bytes - 1) is None
    few = bank.some_models(words, n_bytes)
    assert told(few, X, EVERY[[7, 3]]) == told(bank, X, EVERY[[7, 3]])
    assert not any(hasattr(one, "_rows") for one in few.engine.fitters)
    assert few.n_features == N_FEATURES


def test_all_reports_are_called_while_models_are_fitted(small_problem):
    bank, calls = bank_of(*small_problem, *FOLDS), []
    with bank.reporting(lambda *_: calls.append("outer")), bank.reporting(None):
        with bank.reporting(lambda done, total: calls.append((done, total))):
            bank.kept(EVERY[:20])
        bank.kept(EVERY[20:21])
    bank.kept(EVERY[21:22])
    inner = [call for call in calls if call != "outer"]
    assert inner[-1][0] == inner[-1][1] == len(inner) / 3  # of each split
    assert calls[0] == "outer"
    assert calls.count("outer") > len(inner)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_fails_midway_ends_all_and_leaves_the_bank_usable(
    monkeypatch, small_problem, error, n_jobs
):
    X, y = small_problem
    bank, started, ended = bank_of(X, y, *FOLDS, n_jobs=n_jobs), [], []
    bank.kept(EVERY[:3])  # so that the tables hold something already
    fit = LogisticFitter._minimised

    def failing(self, *given):
        started.append(1)
        if len(started) == 3:
            raise error("midway")
        sleep(0.02)
        ended.append(1)
        return fit(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(LogisticFitter, "_minimised", failing)
        with pytest.raises(error):
            bank.kept(EVERY)
        n_started = len(started)
        sleep(0.1)
        assert len(started) == n_started == len(ended) + 1 < 8
    sound = bank_of(X, y, *FOLDS)
    assert coefs_of(bank, EVERY).tobytes() == coefs_of(sound, EVERY).tobytes()
    assert bank.n_fits == 63
