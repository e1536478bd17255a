"""The same seed gives the same front, whatever else changes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from emsco import EMSCOClassifier
from emsco.models import logistic

SETTINGS = {"generations": 6, "population_size": 40, "max_stages": 4, "random_state": 11}
SETTINGS |= {
    "estimator": "logistic",
    "cv": 1 / 3,
    "refit": "first",
}  # a fresh process imports this module by itself


def fingerprint(**settings):
    X, y = load_breast_cancer(return_X_y=True)
    clf = EMSCOClassifier(**{**SETTINGS, **settings}).fit(X, y)
    designs = [(np.asarray(p.design).tolist(), p.exits, p.correct_exits) for p in clf.front_]
    return json.loads(json.dumps([designs, clf.cascade_.models.coefs.tolist()]))


@pytest.fixture(scope="module")
def reference():
    return fingerprint()


@pytest.mark.parametrize(
    "n_jobs", [3, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, -1))]
)
def test_the_number_of_jobs_changes_nothing(reference, monkeypatch, n_jobs):
    monkeypatch.setattr("emsco.scoring.walk._WORTH_THREADS", 0)
    assert fingerprint(n_jobs=n_jobs) == reference


@pytest.mark.parametrize(
    "most_models", [7, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 100_000))]
)
def test_the_size_of_batches_changes_nothing(reference, monkeypatch, most_models):
    monkeypatch.setattr(logistic, "_MOST_MODELS", most_models)
    assert fingerprint(n_jobs=2) == reference


def test_a_small_memory_limit_changes_nothing(reference):
    assert fingerprint(memory_limit="100KB") == reference


def test_a_fresh_process_finds_the_same(reference):
    code = "import json; from test_repeatable import fingerprint; print(json.dumps(fingerprint()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=__file__.rsplit("/", 1)[0],
    )
    assert json.loads(done.stdout) == reference
