"""Fits that search thresholds and are interrupted: they end as if nothing had happened."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.errors import CheckpointError
from emsco.search.links import Linker
from emsco.search.progress import SearchProgress


@pytest.fixture(scope="module")
def rows():
    """200 rows × 7 features of two noisy classes."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, size=200)
    strength = np.array([1.2, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0])
    return rng.normal(size=(200, 7)) + y[:, None] * strength, y


SETTINGS = {**PLAIN, "search": "evolution", "generations": 10, "population_size": 30}


def fitted(rows, path=None, **settings):
    own = {**SETTINGS, "costs": [7, 6, 5, 4, 3, 2, 1], "random_state": 0, "max_stages": 3}
    return EMSCOClassifier(**{**own, "checkpoint": path, **settings}).fit(*rows)


def front(clf):
    return [
        (p.design.stages.tolist(), p.design.thresholds, p.exits, p.correct_exits, p.n_tied)
        for p in clf.front_
    ]


KINDS = {
    "auto": {},
    "all bought": {"allow_exclusion": False},
    "one threshold": {"min_confidence": 0.75, "allow_exclusion": False},
    "always": {"always_answer": True},
}
kinds = pytest.mark.parametrize("kind", ["auto", "one threshold"])


@pytest.fixture(scope="module")
def uninterrupted(rows):
    """Fronts by kind, each fitted once."""
    return cache(lambda kind: front(fitted(rows, **KINDS[kind])))


@pytest.mark.parametrize(
    ("kind", "last_generation"),
    [("auto", 4), ("all bought", 7), ("one threshold", 4), ("always", 2)],
)
def test_an_interrupted_search_goes_on_to_where_it_would_have_ended(
    rows, tmp_path, kind, last_generation, uninterrupted, monkeypatch
):
    def interrupted(self, record):
        if record.generation == last_generation:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match=f"interrupted after {last_generation} generations"):
            fitted(rows, tmp_path / "kept", **KINDS[kind])
    resumed = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert front(resumed) == uninterrupted(kind)


@kinds
def test_a_search_that_is_interrupted_while_it_makes_chains_ends_alike(
    rows, tmp_path, kind, uninterrupted, monkeypatch
):
    calls, link = [], Linker.link

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return link(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Linker, "link", interrupted)
        with pytest.warns(UserWarning, match="interrupted after"):
            fitted(rows, tmp_path / "kept", **KINDS[kind])
    resumed = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert front(resumed) == uninterrupted(kind)


@kinds
def test_a_fit_on_its_own_checkpoint_makes_no_chains_and_ends_alike(
    rows, tmp_path, kind, uninterrupted, monkeypatch
):
    made, link = [], Linker.link
    monkeypatch.setattr(Linker, "link", lambda *own: made.append(1) or link(*own))
    first = fitted(rows, tmp_path / "kept", **KINDS[kind])
    n_made = len(made)
    again = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert len(made) == n_made > 1
    assert front(again) == front(first) == uninterrupted(kind)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"always_answer": True}, r"always_answer \(False there, True here\);"),
        ({"reject_below": 0.6}, r"reject_below \(None there, 0\.6 here\);"),
        ({"min_confidence": 0.75}, "min_confidence "),
    ],
)
def test_a_checkpoint_of_other_thresholds_is_refused(rows, tmp_path, other, words):
    fitted(rows, tmp_path / "kept", generations=1)
    with pytest.raises(CheckpointError, match=f"which differs in {words}"):
        fitted(rows, tmp_path / "kept", generations=1, **other)
