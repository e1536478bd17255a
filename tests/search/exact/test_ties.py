"""Ties: all designs of a point, each exactly once."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from support.brute import ALIKE, BROKEN, FREE_AND_EXPENSIVE, Instance, RealInstance, varied

from emsco.scoring.pareto import TiedDesigns
from emsco.search.exact.chains import MemoryLimitError
from emsco.search.exact.front import find_front
from emsco.search.exact.ties import LandscapeTies

LIMIT = 2**22


def ties_of(instance, memory_limit=LIMIT):
    """Ties of a random instance's front, and the twin's ties by point."""
    found = find_front(instance.landscape())
    front, designs = instance.front(), found.designs.tolist()
    scores = instance.scores(designs) if designs else None
    source = LandscapeTies(instance.landscape(), found.designs, scores, found.n_tied, memory_limit)
    return source, [front[instance.score(design)] for design in designs]


def assert_all_ties(source, expected):
    for point, designs in enumerate(expected):
        ties = [tuple(design.tolist()) for design in source(point)]
        assert ties[0] == designs[0]
        assert sorted(ties) == sorted(designs)


class TestLandscapeTies:
    @pytest.mark.parametrize(
        "costs", [FREE_AND_EXPENSIVE, ALIKE], ids=["free and expensive", "alike"]
    )
    @pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize(
        ("n_rows", "density"), [(1, 0.3), (4, 0.05), (40, 0.0), (40, 0.3), (70, 0.02), (9, 1.0)]
    )
    def test_are_what_scoring_every_design_finds(self, n_features, n_rows, density, costs):
        for max_stages in range(1, n_features + 1):
            instance = Instance.random(n_features, max_stages, n_rows, density, costs)
            assert_all_ties(*ties_of(instance))

    @pytest.mark.parametrize("n_features", [2, 3, 4, 5])
    @pytest.mark.parametrize(("n_rows", "density"), [(4, 0.05), (40, 0.0), (40, 0.05), (130, 0.1)])
    def test_do_not_depend_on_rounding(self, n_features, n_rows, density):
        for max_stages in range(1, n_features + 1):
            instance = Instance.random(n_features, max_stages, n_rows, density, BROKEN)
            assert_all_ties(*ties_of(instance))

    @pytest.mark.parametrize("max_stages", [3, 5])
    def test_are_found_where_a_feature_changes_nothing(self, max_stages):
        for seed in range(6):
            instance = Instance.random(5, max_stages, 60, 0.1, (2, 0, 3, 1, 1), seed)
            source, expected = ties_of(instance.with_idle(seed % 5))
            assert_all_ties(source, expected)

    @pytest.mark.parametrize("n_lines", [1, 8])
    @pytest.mark.parametrize("max_stages", [3, 5])
    def test_do_not_depend_on_the_table_of_allowances(self, monkeypatch, max_stages, n_lines):
        monkeypatch.setattr("emsco.search.allowances._LINES", n_lines)
        instance = Instance.random(5, max_stages, 60, 0.1, (2, 0, 3, 1, 1)).with_idle(1)
        assert_all_ties(*ties_of(instance))

    @pytest.mark.parametrize("block", range(5))
    def test_are_found_for_any_combination(self, block):
        for seed in range(18 * block, 18 * (block + 1)):
            assert_all_ties(*ties_of(varied(seed)))

    def test_come_one_by_one(self):
        source, _ = ties_of(Instance.random(5, 5, 9, 0.0))
        assert source.n_tied.tolist() == [541]
        assert len({tuple(design) for design in islice(source(0), 7)}) == 7

    def test_can_be_asked_for_again(self):
        source, expected = ties_of(Instance.random(4, 4, 9, 0.0))
        assert_all_ties(source, expected)
        assert_all_ties(source, expected)

    def test_a_point_without_ties_is_its_design_and_needs_no_search(self):
        source, expected = ties_of(Instance.random(3, 3, 200, 0.2, (1, 2, 5)), memory_limit=1)
        alone = [i for i, designs in enumerate(expected) if len(designs) == 1]
        assert alone
        for point in alone:
            assert [design.tolist() for design in source(point)] == [list(expected[point][0])]

    def test_a_search_for_ties_keeps_to_its_memory(self):
        source, _ = ties_of(Instance.random(4, 4, 9, 0.0), memory_limit=200)
        ties = source(0)
        assert next(ties).tolist() == [0, 0, 0, 0]
        with pytest.raises(MemoryLimitError, match="memory_limit was reached"):
            next(ties)


class TestPaperSets:
    @pytest.mark.parametrize("max_stages", [3, 4])
    def test_the_ties_of_pima_are_what_scoring_every_design_finds(self, paper_set, max_stages):
        pima = RealInstance.from_set(paper_set("pima"), 0.65, 4)
        found = find_front(pima.landscape(max_stages))
        scores = pima.evaluator.score(found.designs)
        source = LandscapeTies(
            pima.landscape(max_stages), found.designs, scores, found.n_tied, LIMIT
        )
        expected = {designs[0]: designs for designs in pima.front(max_stages).values()}
        assert_all_ties(source, [expected[tuple(design)] for design in found.designs.tolist()])

    def test_as_many_designs_of_all_pima_tie_as_are_counted(self, paper_set):
        pima = RealInstance.from_set(paper_set("pima"), 0.65, 8)
        found = find_front(pima.landscape(8))
        scores = pima.evaluator.score(found.designs)
        source = LandscapeTies(pima.landscape(8), found.designs, scores, found.n_tied, LIMIT)
        for point in np.argsort(found.n_tied)[-3:]:
            ties = np.array(list(source(point)))
            again = pima.evaluator.score(ties)
            assert len({design.tobytes() for design in ties}) == len(ties) == found.n_tied[point]
            assert set(again.accepted.tolist()) == {scores.accepted[point]}
            assert set(again.correct.tolist()) == {scores.correct[point]}
            assert set(again.spent.tolist()) == {scores.spent[point]}


def test_seen_ties_are_those_of_the_point_in_their_order():
    groups = [np.array([[0, 1]]), np.array([[0, 0], [1, 0]])]
    assert [design.tolist() for design in TiedDesigns(groups)(1)] == [[0, 0], [1, 0]]
    assert [design.tolist() for design in TiedDesigns(groups)(0)] == [[0, 1]]
