"""What archives drop: designs that come twice, and vectors that differ little from others."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.designs.chromosomes import compress
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search import archive
from emsco.search.archive import Archive, thin

N_ROWS, TOTAL = 4000, 10.0


def random_front(n_vectors, seed=0, n_tied=1):
    """Non-dominated vectors, spread over coverage, accuracy and cost, each `n_tied` times."""
    rng = np.random.default_rng(seed)
    accepted = rng.integers(1000, N_ROWS, size=40 * n_vectors)
    correct = (accepted * rng.uniform(0.5, 1.0, size=len(accepted))).astype(np.int64)
    good = accepted / N_ROWS + correct / accepted
    spent = (
        N_ROWS * TOTAL * np.clip(good / 2 + rng.uniform(0, 0.1, len(good)) - 0.4, 0, 1)
    ).astype(np.int64)
    scores = Scores(N_ROWS, accepted[:, None], correct[:, None], spent)
    front = np.flatnonzero(front_mask(scores))
    front = front[np.unique(tie_groups(scores[front]), return_index=True)[1]][:n_vectors]
    assert len(front) == n_vectors
    return scores[np.repeat(front, n_tied)]


def points_of(scores):
    return np.column_stack([scores.coverage, scores.accuracy, 1 - scores.cost / TOTAL])


def designs_for(scores):
    """Distinct designs, one for each score."""
    every = np.unique(compress(np.indices((5,) * 5).reshape(5, -1).T), axis=0)
    assert len(every) >= len(scores)
    return every[: len(scores)]


# Thinning


def test_few_vectors_are_all_kept():
    scores = random_front(60, n_tied=2)
    assert thin(scores, TOTAL, most=60).tolist() == list(range(120))


@pytest.mark.parametrize("most", [5, 20, 59])
@pytest.mark.parametrize("seed", range(3))
def test_many_vectors_become_few_and_the_best_of_each_objective_stays(seed, most):
    scores = random_front(60, seed)
    kept = thin(scores, TOTAL, most)
    assert 0 < len(kept) <= most + 3
    points = points_of(scores)
    assert (points[kept].max(axis=0) == points.max(axis=0)).all()


@pytest.mark.parametrize("seed", range(3))
def test_ties_of_a_kept_vector_are_kept_and_those_of_a_dropped_one_are_not(seed):
    scores = random_front(60, seed, n_tied=3)
    kept = thin(scores, TOTAL, most=20)
    group = tie_groups(scores)
    chosen = set(group[kept].tolist())
    assert kept.tolist() == [i for i in range(180) if group[i] in chosen]
    assert len(kept) == 3 * len(chosen) < 180


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("most", [20, 40])
def test_a_dropped_vector_has_a_kept_one_that_is_hardly_worse(seed, most):
    scores = random_front(60, seed)
    kept, points = thin(scores, TOTAL, most), points_of(scores)
    behind = (points[:, None] - points[None, kept]).max(axis=2).min(axis=1)
    # Boxes grow by a tenth until there are few enough: the next smaller ones are too many.
    width = 1 / most
    while len(_best_boxes(points, width)) > most:
        width *= 1.1
    assert behind.max() <= width + 1e-12
    assert width < 0.5


def _best_boxes(points, width):
    """Boxes with a vector that no other box is at least as good as, in everything."""
    boxes = set(map(tuple, np.floor(points / width).astype(int).tolist()))
    return [
        box
        for box in boxes
        if not any(
            other != box and all(a >= b for a, b in zip(other, box, strict=True)) for other in boxes
        )
    ]


def test_an_archive_stays_small(monkeypatch):
    monkeypatch.setattr(archive, "_MOST_VECTORS", 25)
    scores, kept = random_front(120), Archive(5, TOTAL)
    designs = designs_for(scores)
    for part in np.array_split(np.arange(120), 6):
        kept.add(designs[part], scores[part])
        assert len(kept.designs) <= 28
    assert front_mask(kept.scores).all()
    best = points_of(kept.scores).max(axis=0)
    assert best.tolist() == points_of(scores).max(axis=0).tolist()


def test_what_is_dropped_again_is_no_news(monkeypatch):
    monkeypatch.setattr(archive, "_MOST_VECTORS", 25)
    scores, kept = random_front(120), Archive(5, TOTAL)
    designs = designs_for(scores)
    kept.add(designs, scores)
    had = {design.tobytes() for design in kept.designs}
    out = np.array([i for i in range(120) if designs[i].tobytes() not in had])
    before = kept.designs.tolist()
    assert not kept.add(designs[out], scores[out])
    assert kept.designs.tolist() == before


# Designs that come again


def test_a_design_that_is_added_again_is_kept_once():
    scores, kept = random_front(30), Archive(5, TOTAL)
    designs = designs_for(scores)
    kept.add(designs[:20], scores[np.arange(20)])
    assert kept.add(designs[10:], scores[np.arange(10, 30)])
    assert sorted(kept.designs.tolist()) == sorted(designs.tolist())
    assert [len(tied) for tied in kept.ties()] == [1] * 30
    assert not kept.add(designs, scores)
    assert len(kept.designs) == 30
