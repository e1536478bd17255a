"""The public searches: fronts, spaces and rules, beside the estimator and plain counting."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import PredefinedSplit

from emsco import EMSCOClassifier, FeatureCosts
from emsco.errors import ParameterError
from emsco.scoring import Answers
from emsco.search import choose, count_designs, find_front, mutate, start_search

X, y = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=3)
TRAIN, SCORED = np.arange(180), np.arange(180, 300)
ANSWERS = Answers(X, y, [1, 2, 2, 9, 9], (TRAIN, SCORED))
EXACT = find_front("exact", ANSWERS, 0.8, max_stages=3)


def vectors(counts):
    return set(zip(counts.accepted, counts.correct, counts.spent, strict=True))


def every_design(n_stages):
    """All designs of five features that buy everything, without gaps between stages."""
    genes = np.array(list(product(range(n_stages), repeat=5)))
    return genes[[len(set(one)) == max(one) + 1 for one in genes.tolist()]]


def test_the_exact_front_is_that_of_the_estimator():
    clf = EMSCOClassifier(
        ANSWERS.costs,
        min_confidence=0.8,
        max_stages=3,
        search="exact",
        estimator="logistic",
        branches=1,
        allow_exclusion=False,
        cv=PredefinedSplit(np.where(np.arange(300) < 180, -1, 0)),
    )
    front = clf.fit(X, y).front_
    theirs = {
        (p.coverage, p.accuracy, round(p.cost, 9)) for p in front if not p.design.buys_nothing
    }
    counts = EXACT.counts
    ours = set(zip(counts.coverage, counts.accuracy, counts.cost.round(9), strict=True))
    assert ours >= theirs  # the estimator also knows the design that buys nothing
    assert len(ours) <= len(front)
    assert EXACT.stop_reason.n_settled == len(every_design(3))


def test_a_landscape_counts_every_design():
    landscape = count_designs(ANSWERS, 0.8, 3, n_jobs=2)
    counts = ANSWERS.score(every_design(3), 0.8)
    assert landscape.n_designs.sum() == len(every_design(3))
    pairs = zip(landscape.accepted, landscape.correct, strict=True)
    for i, (accepted, correct) in enumerate(pairs):
        cost = counts.cost[(counts.accepted == accepted) & (counts.correct == correct)]
        assert len(cost) == landscape.n_designs[i]
        np.testing.assert_allclose(
            (cost.min(), cost.mean()), (landscape.lowest[i], landscape.mean[i])
        )
    assert landscape.best.sum() == len(EXACT.designs)


@pytest.mark.parametrize("kind", ["paper", "evolution"])
def test_a_search_that_asks_and_tells_finds_part_of_the_front(kind):
    settings = {"population_size": 30, "generations": 20, "patience": 20}
    rng = np.random.default_rng(0)
    search = start_search(kind, ANSWERS.costs, rng, max_stages=3, **settings)
    while search.stop_reason is None:
        search.tell(ANSWERS.score(search.ask(), 0.8))
    assert vectors(search.front[1]) & vectors(EXACT.counts)
    whole = find_front(kind, ANSWERS, 0.8, np.random.default_rng(0), max_stages=3, **settings)
    assert vectors(whole.counts) & vectors(EXACT.counts)
    assert (ANSWERS.score(whole.designs, 0.8).spent == whole.counts.spent).all()


def test_a_rule_chooses_the_best_by_its_own_figure():
    counts = EXACT.counts
    score = counts.coverage**2 + counts.accuracy**2 + (1 - counts.cost / 23) ** 2
    assert choose("balanced", EXACT, ANSWERS.costs) == score.argmax()
    fitness = counts.coverage**2 + counts.accuracy**2 + (counts.cost.min() / counts.cost) ** 2
    assert choose("fittest", EXACT, ANSWERS.costs) == fitness.argmax()


def test_mutants_stay_within_the_stages():
    mutants = mutate(np.zeros((200, 5), dtype=int), 0.5, 2.0, 2, np.random.default_rng(0))
    assert set(mutants.max(axis=1).tolist()) == {0, 1}


def test_fees_and_unknown_searches_are_refused():
    with pytest.raises(ParameterError, match="kind"):
        start_search("exact", ANSWERS.costs, np.random.default_rng(0))
    names = [f"x{i}" for i in range(5)]
    fees = FeatureCosts.from_mapping(dict.fromkeys(names, 1), fees={"draw": (2, names[:2])})
    for costs in (fees, [0.5000001, 2, 2, 9, 1 / 3]):
        with pytest.raises(ParameterError, match="costs must be whole numbers without fees"):
            count_designs(Answers(X, y, costs, (TRAIN, SCORED)), 0.8, 2)
