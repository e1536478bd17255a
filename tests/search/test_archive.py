"""The archive, compared with brute force over all its designs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import every_design, front_of, simplicity

from emsco.designs.population import Designs
from emsco.scoring.scores import Counts
from emsco.search import archive
from emsco.search.archive import Archive

EVERY = np.array(every_design(5, 4), dtype=np.int16)


def scores_of(rows, n_rows=12):
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Counts(n_rows, accepted[:, None], correct[:, None], spent)


def vectors(scores):
    return [*map(tuple, np.column_stack([scores.accepted, scores.correct, scores.spent]).tolist())]


def tuples(designs):
    return [*map(tuple, designs.stages.tolist())]


@pytest.mark.parametrize("n_batches", [1, 3, 75])
@pytest.mark.parametrize("seed", range(4))
def test_an_archive_is_the_front_of_all_designs_with_their_ties(seed, n_batches):
    rng = np.random.default_rng(seed)
    designs, ease = Designs.of(rng.permutation(EVERY)), rng.integers(1, 6, len(EVERY))
    wrong, extra = rng.integers(0, 3, size=(2, len(EVERY)))
    scores = scores_of(np.column_stack([2 * ease, ease + 1 - wrong // 2, ease + extra]))
    kept, known = Archive(1.0), {}
    for part in np.array_split(np.arange(len(EVERY)), n_batches):
        news, before = kept.add(designs[part], scores[part]), {*known}
        seen = part[-1] + 1
        found = zip(vectors(scores)[:seen], tuples(designs)[:seen], strict=True)
        known = {vector: sorted(tied, key=simplicity) for vector, tied in front_of(found).items()}
        assert news == bool({*known} - before)
        assert not kept.add(designs[part[:1]], scores[part[:1]])  # again
    assert sorted(tuples(kept.designs)) == sorted(one for tied in known.values() for one in tied)
    front, counts = kept.front()
    assert dict(zip(vectors(counts), tuples(front), strict=True)) == {
        vector: tied[0] for vector, tied in known.items()
    }
    assert kept.n_tied().tolist() == [len(known[vector]) for vector in vectors(counts)]


def test_designs_past_the_limits_stay_until_one_within_is_seen():
    kept, designs = Archive(1.0), Designs.of(EVERY[:3])
    scores = scores_of([(9, 9, 5), (9, 9, 4), (2, 1, 9)])
    scores = replace(scores, excess=np.array([0.5, 0.25, 0.0]))
    for i in range(3):
        assert kept.add(designs[[i]], scores[[i]])
        assert tuples(kept.designs) == tuples(designs[[i]])
    assert not kept.add(designs[[0]], scores[[0]])


@pytest.mark.parametrize("most", [3, 20])
def test_many_vectors_become_few_with_their_ties_and_none_is_much_worse(most, monkeypatch):
    # The cheaper the worse: 60 designs that answer everyone, 63 that do not, each three times.
    i, (u, v) = np.arange(60), np.random.default_rng(most).random((2, 63))
    accepted = np.append(4000 + 0 * i, 1000 + 2800 * u)
    correct = np.append(4000 - 30 * i, accepted[60:] * (0.5 + 0.4 * v))
    spent = np.append(11900 - 30 * i, 4800 * (u + v))
    scores = scores_of(np.tile(np.column_stack([accepted, correct, spent]), (3, 1)), 4000)
    designs = Designs.of(EVERY[:369])
    whole, few = Archive(3.0), Archive(3.0)
    whole.add(designs, scores)
    monkeypatch.setattr(archive, "_MOST_VECTORS", most)
    monkeypatch.setattr(archive, "_MOST_ANSWERING", 5)
    few.add(designs, scores)
    assert (few.n_tied() == 3).all()
    every, kept = (one.points(one.front()[1]) for one in (whole, few))
    for answers_all, limit in ((True, 5), (False, most)):
        old, new = (some[(some[:, 0] == 1) == answers_all] for some in (every, kept))
        assert len(new) <= limit + 3 < len(old)
        assert (new.max(axis=0) == old.max(axis=0)).all()
        assert (old[:, None] - new).max(axis=2).min(axis=1).max() < 1 / limit**0.5
