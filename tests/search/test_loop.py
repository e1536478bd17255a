"""The loop around every search: its ends, its results and its records."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from emsco.scoring.pareto import Ranking
from emsco.scoring.scores import Scores
from emsco.search import loop
from emsco.search.archive import Archive
from emsco.search.evolution import EvolutionSearch
from emsco.search.loop import Stop, StopReason, run_search
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings

ENOUGH = StopReason(Stop.EXHAUSTED, n_designs=7)


class CountingSearch:
    """Proposes one more design each generation, and all of them are its front."""

    archive = None

    def __init__(self, n_generations: int = 1000) -> None:
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self.told: list[int] = []
        self._n_generations = n_generations

    @property
    def front(self):
        designs = np.full((self.generation + 1, 2), self.generation, dtype=np.int16)
        return designs, scores_of(designs)

    def ask(self):
        return np.zeros((self.generation + 2, 2), dtype=np.int16)

    def tell(self, scores):
        self.told.append(len(scores))
        self.generation += 1
        if self.generation == self._n_generations:
            self.stop_reason = ENOUGH


class FakeBank:
    """Remembers who is told of fits."""

    def __init__(self):
        self.on_fit = None

    @contextmanager
    def reporting(self, report):
        self.on_fit = report
        try:
            yield
        finally:
            self.on_fit = None


class FakeEvaluator:
    """Counts the designs that it scores, and may raise Ctrl-C in its n-th call."""

    def __init__(self, interrupted_in: int | None = None) -> None:
        self.n_designs = 0
        self.n_subsets = 0
        self.bank = FakeBank()
        self._calls = itertools.count()
        self._interrupted_in = interrupted_in

    def score(self, designs):
        if next(self._calls) == self._interrupted_in:
            raise KeyboardInterrupt
        self.n_designs += len(designs)
        self.n_subsets += 2 * len(designs)
        return scores_of(designs)


def scores_of(designs) -> Scores:
    """Made-up scores that depend on the design only."""
    keys = designs @ 3 ** np.arange(designs.shape[1])
    accepted, spent = 1 + keys * 7 % 50, 1 + keys * 11 % 97
    return Scores(50, accepted[:, None], accepted[:, None] * 2 // 3, spent, 1.0)


def paper_search(generations: int = 6) -> PaperLoop:
    settings = SearchSettings(
        max_stages=3, mutation_rate=0.1, population_size=20, generations=generations
    )
    return PaperLoop(5, 1.0, settings, np.random.default_rng(0))


def evolution(generations: int = 6) -> EvolutionSearch:
    settings = SearchSettings(max_stages=3, population_size=20, generations=generations)
    return EvolutionSearch(np.ones(5), settings, np.random.default_rng(0))


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by one second each time it is read."""
    seconds = itertools.count(100.0)
    monkeypatch.setattr(loop, "perf_counter", lambda: next(seconds))


# The end


def test_a_search_runs_until_it_says_why_it_stops():
    search = CountingSearch(n_generations=3)
    result = run_search(search, FakeEvaluator())
    assert result.stop_reason is ENOUGH
    assert search.told == [1, 2, 3, 4]
    assert np.array_equal(result.designs, search.front[0])


def test_a_search_ends_after_the_generation_in_which_its_time_is_up(clock):
    result = run_search(CountingSearch(), FakeEvaluator(), time_limit=5.5)
    # Started at 100 s; each generation reads the clock twice, so the third check reads 106 s.
    assert str(result.stop_reason) == "the time limit of 5.5 s was reached"
    assert [record.generation for record in result.records] == [0, 1, 2]


def test_one_generation_is_always_scored(clock):
    result = run_search(CountingSearch(), FakeEvaluator(), time_limit=0.0)
    assert str(result.stop_reason) == "the time limit of 0 s was reached"
    assert len(result.records) == 1


class FittingEvaluator(FakeEvaluator):
    """Fits a model for each design, and says so."""

    costs = SimpleNamespace(total=100.0)

    def score(self, designs):
        for done in range(1, len(designs) + 1):
            if self.bank.on_fit:
                self.bank.on_fit(done, len(designs))
        return super().score(designs)


def test_a_generation_is_cut_short_when_time_is_up_and_the_one_before_is_kept(clock):
    search, evaluator = CountingSearch(), FittingEvaluator()
    result = run_search(search, evaluator, time_limit=12.5)
    # The clock is read between fits, too: generation 4 would have five of them.
    assert str(result.stop_reason) == "the time limit of 12.5 s was reached"
    assert search.told == [1, 2, 3, 4]
    assert np.array_equal(result.designs, search.front[0])
    assert evaluator.bank.on_fit is None


# Parts of 1, 2, 4 and so on; the first designs have two seconds whatever the limit.
@pytest.mark.parametrize(("time_limit", "n_scored"), [(1e-9, 3), (5.5, 7)])
def test_if_time_is_up_among_the_first_designs_those_scored_so_far_are_kept(
    clock, time_limit, n_scored
):
    search = evolution()
    result = run_search(search, FittingEvaluator(), time_limit)
    scored = evolution().ask()[:n_scored]
    archive = Archive(5, 100.0)
    archive.add(scored, scores_of(scored))
    assert np.array_equal(result.designs, archive.front()[0])
    assert search.generation == -1
    assert len(result.records) == 1


def test_a_paper_search_is_cut_in_its_first_generation_too(clock):
    search = paper_search()
    result = run_search(search, FittingEvaluator(), time_limit=1e-9)
    scored = paper_search().ask()[:3]
    assert {one.tobytes() for one in result.designs} <= {one.tobytes() for one in scored}
    assert search.generation == -1


def test_time_does_not_run_out_before_a_design_is_within_the_limits(clock):
    class Strict(FittingEvaluator):
        def score(self, designs):
            scores = super().score(designs)
            allowed = [one.tobytes() == last for one in designs]
            return replace(scores, excess=np.where(allowed, 0.0, 1.0))

    designs = evolution().ask()
    last = designs[-1].tobytes()
    result = run_search(evolution(), Strict(), time_limit=1e-9)
    assert [one.tobytes() for one in result.designs] == [last]


def test_a_search_that_has_ended_keeps_its_reason_if_chains_take_too_long(clock):
    evaluator = FittingEvaluator()

    def chains():
        for done in range(1, 100):
            evaluator.bank.on_fit(done, 100)

    result = run_search(CountingSearch(0), evaluator, time_limit=20, between=chains)
    assert result.stop_reason is ENOUGH
    assert len(result.records) == 1


def test_a_time_limit_that_is_not_reached_changes_nothing():
    limited = run_search(evolution(), FittingEvaluator(), time_limit=1000)
    free = run_search(evolution(), FittingEvaluator())
    assert np.array_equal(limited.designs, free.designs)
    assert limited.stop_reason == free.stop_reason


# Interrupts


def test_an_interrupt_while_scoring_keeps_what_was_found():
    search = CountingSearch()
    with pytest.warns(
        UserWarning,
        match="nterrupted",
    ):
        result = run_search(search, FakeEvaluator(interrupted_in=3))
    assert str(result.stop_reason) == "interrupted after 2 generations"
    assert len(result.records) == 3
    assert np.array_equal(result.designs, np.full((3, 2), 2))


def test_an_interrupt_before_the_first_generation_goes_on_to_the_caller():
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        run_search(CountingSearch(), FakeEvaluator(interrupted_in=0))


def test_an_interrupt_while_reporting_keeps_what_was_found():
    def report(record):
        if record.generation == 1:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="nterrupted"):
        result = run_search(CountingSearch(), FakeEvaluator(), report=report)
    assert len(result.records) == 2


def test_an_interrupted_paper_search_hands_out_the_front_of_its_last_generation():
    search = paper_search()
    with pytest.warns(UserWarning, match="nterrupted"):
        interrupted = run_search(search, FakeEvaluator(interrupted_in=4))
    whole = run_search(paper_search(generations=3), FakeEvaluator())
    assert np.array_equal(interrupted.designs, whole.designs)
    assert np.array_equal(interrupted.scores.spent, whole.scores.spent)


def test_an_interrupt_while_ranking_keeps_the_front_of_the_generation_before(monkeypatch):
    calls, rank = itertools.count(), Ranking.from_scores

    def interrupted_rank(*arguments, **options):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return rank(*arguments, **options)

    monkeypatch.setattr(Ranking, "from_scores", interrupted_rank)
    with pytest.warns(UserWarning, match="nterrupted"):
        result = run_search(paper_search(), FakeEvaluator())
    whole = run_search(paper_search(generations=3), FakeEvaluator())
    assert np.array_equal(result.designs, whole.designs)
    assert np.array_equal(result.scores.spent, whole.scores.spent)


def test_other_errors_of_an_evaluator_are_not_swallowed():
    class Broken(FakeEvaluator):
        def score(self, designs):
            if self.n_designs:
                raise ValueError("out of memory")
            return super().score(designs)

    with pytest.raises(ValueError, match="out of memory"):
        run_search(CountingSearch(), Broken())


# Archives


def test_a_search_with_an_archive_ends_with_all_designs_that_tie():
    class Nearsighted(FakeEvaluator):
        def score(self, designs):
            return super().score(designs[:, :2])

    search = evolution()
    result = run_search(search, Nearsighted())
    groups = search.archive.ties()
    assert result.n_tied.tolist() == [len(group) for group in groups]
    assert max(result.n_tied) > 1
    for point, group in enumerate(groups):
        assert np.array_equal(list(result.ties(point)), group)
        assert np.array_equal(group[0], result.designs[point])


def test_an_interrupted_search_hands_out_its_archive():
    with pytest.warns(UserWarning, match="nterrupted"):
        interrupted = run_search(evolution(), FakeEvaluator(interrupted_in=4))
    whole = run_search(evolution(generations=3), FakeEvaluator())
    assert np.array_equal(interrupted.designs, whole.designs)
    assert interrupted.n_tied.tolist() == whole.n_tied.tolist()


# Records


def test_a_record_holds_the_state_after_its_generation(clock):
    record = run_search(CountingSearch(n_generations=4), FakeEvaluator()).records[2]
    assert record.generation == 2
    assert record.best.tolist() == [2, 2]
    assert record.best_scores.spent.tolist() == scores_of(np.array([[2, 2]])).spent.tolist()
    assert len(record.best_scores) == 1
    assert record.n_front == 3
    assert (record.n_designs, record.n_subsets) == (1 + 2 + 3, 2 * (1 + 2 + 3))
    assert record.seconds == 3.0


def test_the_records_of_a_paper_search_end_with_what_it_found():
    search = paper_search()
    result = run_search(search, FakeEvaluator())
    last = result.records[-1]
    assert last.generation == search.generation == 6
    assert last.n_front == len(result.designs) == len(result.scores)
    assert np.array_equal(last.best, result.designs[0])
    assert last.best_scores.cost == result.scores.cost[0]
