"""The archive, compared with brute force over all its designs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from emsco.designs.chromosomes import compress
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search import archive
from emsco.search.archive import Archive, thin

N_ROWS = 12


def scores_of(rows) -> Scores:
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Scores(N_ROWS, accepted[:, None], correct[:, None], spent)


def random_case(seed, n_designs=120):
    """Distinct designs of four features in random order, with many ties."""
    rng = np.random.default_rng(seed)
    every = np.unique(compress(np.array(list(product(range(4), repeat=4)))), axis=0)
    designs = rng.permutation(every)[:n_designs]
    ease = rng.integers(1, 6, size=len(designs))
    wrong, extra = rng.integers(0, 3, size=(2, len(designs)))
    scores = scores_of(np.column_stack([2 * ease, ease + 1 - wrong // 2, ease + extra]))
    for array in (designs, scores.exits, scores.correct_exits, scores.spent):
        array.setflags(write=False)
    return designs, scores


def filled(designs, scores, n_batches=3) -> Archive:
    archive = Archive(designs.shape[1], total_cost=1.0)
    for part in np.array_split(np.arange(len(designs)), n_batches):
        archive.add(designs[part], scores[part])
    return archive


def objectives(scores) -> list[tuple[int, Fraction, int]]:
    counts = zip(scores.accepted.tolist(), scores.correct.tolist(), scores.spent, strict=True)
    return [
        (accepted, Fraction(correct_exits, accepted or 1), -int(cost))
        for accepted, correct_exits, cost in counts
    ]


def plain_front(designs, scores) -> dict[tuple, list[tuple[int, ...]]]:
    """Designs by non-dominated objectives, the simplest of each first."""
    points, groups = objectives(scores), {}
    for design, point in zip(designs.tolist(), points, strict=True):
        better = (p for p in points if p != point)
        if not any(all(a >= b for a, b in zip(p, point, strict=True)) for p in better):
            groups.setdefault(point, []).append(tuple(design))
    return {
        point: sorted(tied, key=lambda design: (max(design), design))
        for point, tied in groups.items()
    }


def tuples(designs) -> list[tuple[int, ...]]:
    return [tuple(design) for design in designs.tolist()]


# Kept designs


@pytest.mark.parametrize("n_batches", [1, 3, 75])
@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_designs_that_nothing_seen_dominates_are_kept(seed, n_batches):
    designs, scores = random_case(seed)
    plain = [design for tied in plain_front(designs, scores).values() for design in tied]
    assert 1 < len(plain) < len(designs)
    assert sorted(tuples(filled(designs, scores, n_batches).designs)) == sorted(plain)


def test_scores_stay_beside_their_designs():
    designs, scores = random_case(0)
    known = dict(zip(tuples(designs), objectives(scores), strict=True))
    archive = filled(designs, scores)
    assert objectives(archive.scores) == [known[design] for design in tuples(archive.designs)]


def test_equal_accuracies_of_different_counts_do_not_save_a_design():
    archive = Archive(2, 1.0)
    archive.add(np.array([[0, 1], [1, 0]], dtype=np.int16), scores_of([(6, 4, 5), (3, 2, 5)]))
    assert archive.designs.tolist() == [[0, 1]]


# News


@pytest.mark.parametrize(
    ("row", "news"),
    [
        ((6, 6, 5), False),
        ((6, 5, 5), False),
        ((6, 6, 6), False),
        ((7, 7, 9), True),
        ((12, 12, 1), True),
        ((3, 3, 5), False),
    ],
    ids=[
        "tie",
        "worse",
        "more expensive",
        "another trade-off",
        "better than all",
        "less of the same",
    ],
)
def test_add_tells_whether_a_design_brings_new_objectives(row, news):
    archive = Archive(2, 1.0)
    assert archive.add(np.array([[0, 0]], dtype=np.int16), scores_of([(6, 6, 5)]))
    assert archive.add(np.array([[0, 1]], dtype=np.int16), scores_of([row])) is news


# Fronts and ties


@pytest.mark.parametrize("n_batches", [1, 10])
@pytest.mark.parametrize("seed", range(4))
def test_the_front_is_the_simplest_design_of_each_vector(seed, n_batches):
    designs, scores = random_case(seed)
    front, front_scores = filled(designs, scores, n_batches).front()
    design_of = dict(zip(objectives(front_scores), tuples(front), strict=True))
    plain = {point: tied[0] for point, tied in plain_front(designs, scores).items()}
    assert len(front) == len(design_of)
    assert design_of == plain


@pytest.mark.parametrize("seed", range(4))
def test_the_front_is_in_order_of_the_balanced_score(seed):
    designs, scores = random_case(seed)
    _, front = filled(designs, scores).front()
    saved = 1 - front.spent / N_ROWS
    balanced = np.sqrt(front.coverage**2 + front.accuracy**2 + saved**2)
    assert len(balanced) > 2
    assert all(a >= b - 1e-12 for a, b in pairwise(balanced))


def test_the_balanced_score_compares_with_the_cost_of_everything():
    designs = np.array([[0, 0], [0, 1]], dtype=np.int16)
    scores = scores_of([(12, 12, 60), (12, 9, 12)])  # a mean cost of 5, and of 1
    leaders = []
    for total_cost in (6.0, 60.0):
        archive = Archive(2, total_cost)
        archive.add(designs, scores)
        leaders.append(archive.front()[0][0].tolist())
    assert leaders == [[0, 1], [0, 0]]


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_all_designs_seen_with_the_objectives_of_each_point_itself_first(seed):
    designs, scores = random_case(seed)
    archive = filled(designs, scores)
    front, front_scores = archive.front()
    plain = plain_front(designs, scores)
    ties = archive.ties()
    assert [tuples(group)[0] for group in ties] == tuples(front)
    assert [tuples(group) for group in ties] == [plain[p] for p in objectives(front_scores)]
    assert max(map(len, ties)) > 1


def test_equal_balanced_scores_are_ordered_by_simplicity():
    designs = np.array([[0, 1], [1, 0]], dtype=np.int16)
    scores = scores_of([(12, 6, 5), (6, 6, 5)])
    fronts = [filled(designs[order], scores[order]).front()[0] for order in ([0, 1], [1, 0])]
    assert fronts[0].tolist() == fronts[1].tolist() == [[0, 1], [1, 0]]


def test_designs_past_the_limits_stay_until_one_within_is_seen():
    archive = Archive(2, 1.0)
    rows = [(9, 9, 5), (9, 9, 4), (2, 1, 9)]
    designs = np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int16)
    scores = replace(scores_of(rows), excess=np.array([0.5, 0.25, 0.0]))
    assert archive.add(designs[:1], scores[np.array([0])])
    assert archive.add(designs[1:2], scores[np.array([1])])
    assert archive.front()[0].tolist() == [[0, 1]]  # nearer to the limits
    assert archive.add(designs[2:], scores[np.array([2])])
    assert archive.front()[0].tolist() == [[1, 0]]
    assert archive.scores.feasible.all()
    assert not archive.add(designs[:1], scores[np.array([0])])


MANY_ROWS, TOTAL = 4000, 10.0


def random_front(n_vectors, seed=0, n_tied=1):
    """Non-dominated vectors, spread over coverage, accuracy and cost, each `n_tied` times."""
    rng = np.random.default_rng(seed)
    accepted = rng.integers(1000, MANY_ROWS, size=40 * n_vectors)
    correct = (accepted * rng.uniform(0.5, 1.0, size=len(accepted))).astype(np.int64)
    good = accepted / MANY_ROWS + correct / accepted
    spent = (
        MANY_ROWS * TOTAL * np.clip(good / 2 + rng.uniform(0, 0.1, len(good)) - 0.4, 0, 1)
    ).astype(np.int64)
    scores = Scores(MANY_ROWS, accepted[:, None], correct[:, None], spent)
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
    kept = thin(scores, TOTAL, max_vectors=20)
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


# Designs that come again


def test_designs_that_answer_everyone_are_thinned_among_themselves(monkeypatch):
    monkeypatch.setattr(archive, "_MOST_VECTORS", 3)
    every = np.unique(compress(np.array(list(product(range(4), repeat=4)))), axis=0)
    # Eight that answer all rows, the dearer the better; and as many that answer fewer.
    answering = [(N_ROWS, 3 + i, 10 + i) for i in range(8)]
    others = [(N_ROWS - 2, 4 + i // 2, 1 + i) for i in range(8)]
    kept = Archive(4, total_cost=30.0)
    kept.add(every[:16], scores_of(answering + others))
    coverage = kept.scores.coverage
    assert (coverage == 1).sum() == 8
    assert 0 < (coverage < 1).sum() < 8
