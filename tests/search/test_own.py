"""The public searches: fronts, spaces and rules, beside plain counting."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification

from emsco import FeatureCosts
from emsco.errors import ParameterError
from emsco.scoring import Answers
from emsco.search import choose, count_designs, find_front, mutate, start_search

X, y = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=3)
TRAIN, SCORED = np.arange(180), np.arange(180, 300)
ANSWERS = Answers(X, y, [1, 2, 2, 9, 9], (TRAIN, SCORED))
EXACT = find_front("exact", ANSWERS, 0.8, max_stages=3)
GENES = np.array(list(product(range(3), repeat=5)))
EVERY = GENES[[len(set(one)) == max(one) + 1 for one in GENES.tolist()]]


def vectors(counts):
    return set(zip(counts.coverage, counts.accuracy, counts.cost.round(9), strict=True))


def test_a_landscape_counts_every_design():
    landscape, counts = count_designs(ANSWERS, 0.8, 3, n_jobs=2), ANSWERS.score(EVERY, 0.8)
    assert landscape.n_designs.sum() == len(EVERY)
    pairs = zip(landscape.accepted, landscape.correct, strict=True)
    for i, (accepted, correct) in enumerate(pairs):
        cost = counts.cost[(counts.accepted == accepted) & (counts.correct == correct)]
        figures = landscape.n_designs[i], landscape.lowest[i], landscape.mean[i]
        np.testing.assert_allclose((len(cost), cost.min(), cost.mean()), figures)
    best = landscape.best
    front = landscape.coverage[best], landscape.accuracy[best], landscape.lowest[best].round(9)
    assert vectors(EXACT.counts) == set(zip(*front, strict=True))
    assert EXACT.stop_reason.n_settled == len(EVERY)


@pytest.mark.parametrize("kind", ["paper", "evolution"])
def test_a_search_that_asks_and_tells_finds_part_of_the_front(kind):
    settings = {"max_stages": 3, "population_size": 30, "generations": 20, "patience": 20}
    search = start_search(kind, ANSWERS.costs, 0, **settings)
    while search.stop_reason is None:
        search.tell(ANSWERS.score(search.ask(), 0.8))
    whole = find_front(kind, ANSWERS, 0.8, np.random.default_rng(0), **settings)
    for found in (search.front[1], whole.counts, ANSWERS.score(whole.designs, 0.8)):
        assert vectors(found) & vectors(EXACT.counts)


def test_a_rule_chooses_the_best_by_its_own_figure():
    counts = EXACT.counts
    gained = counts.coverage**2 + counts.accuracy**2
    balanced = gained + (1 - counts.cost / 23) ** 2
    assert choose("balanced", EXACT, ANSWERS.costs) == balanced.argmax()
    fitness = gained + (counts.cost.min() / counts.cost) ** 2
    assert choose("fittest", EXACT, ANSWERS.costs) == fitness.argmax()


def test_only_whole_costs_without_fees_can_be_counted():
    fees = {"draw": (2, ["a", "b"])}
    for costs in (FeatureCosts.from_mapping(dict.fromkeys("abcde", 1), fees=fees), [1 / 3] * 5):
        with pytest.raises(ParameterError, match="costs must be whole numbers without fees"):
            count_designs(Answers(X, y, costs, (TRAIN, SCORED)), 0.8, 2)


@pytest.mark.parametrize(("rate", "bias"), [(-0.1, 2.0), (1.5, 2.0), (0.5, 0.0)])
def test_a_mutation_has_a_rate_and_a_preference(rate, bias):
    with pytest.raises(ParameterError, match=r"^(rate|stage_bias) must be "):
        mutate([[0, 0, 1]], rate, bias, 3, 0)
