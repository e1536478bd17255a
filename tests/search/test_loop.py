"""The loop around every search: its ends, its results and its records."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from emsco.designs.space import DesignSpace
from emsco.scoring.scores import Counts
from emsco.search import loop
from emsco.search.archive import Archive
from emsco.search.evolution import EvolutionSearch
from emsco.search.loop import Stop, StopReason, run_search
from emsco.search.paper import PaperLoop
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings

TOTAL = 100.0


class FakeEvaluator:
    """Fits a model for each design; may raise an error in its n-th call, and know limits."""

    costs, n_designs, n_subsets = SimpleNamespace(total=TOTAL), 0, 0

    def __init__(self, error=None, fails_in=-1, only=None):
        self.bits = self.bank = self  # all that they have is in one
        self.errors, self.only = {fails_in: error}, only
        self.on_fit, self.calls = lambda *_: None, itertools.count()

    @contextmanager
    def reporting(self, report):
        self.on_fit = report
        yield

    def score(self, designs):
        if error := self.errors.get(next(self.calls)):
            raise error
        for done in range(len(designs)):
            self.on_fit(done + 1, len(designs))
        keys = np.asarray(designs) @ 3 ** np.arange(5)
        accepted, spent = 1 + keys[:, None] * 7 % 50, 1 + keys * 11 % 97
        excess = np.zeros(len(designs)) if self.only is None else (keys != self.only) * 1.0
        return Counts(50, accepted, accepted * 2 // 3, spent, excess=excess)


def search_of(kind, generations=6):
    settings = SearchSettings(
        max_stages=3, mutation_rate=0.1, population_size=20, generations=generations
    )
    rng = np.random.default_rng(0)
    if kind == "paper":
        return PaperLoop(5, 1.0, settings, rng)
    return EvolutionSearch(np.ones(5), settings, rng, 5.0)


@pytest.fixture(params=["paper", "evolution"])
def kind(request, monkeypatch):
    """A kind of search, with a clock that advances by one second each time it is read."""
    seconds = itertools.count(100.0)
    monkeypatch.setattr(loop, "perf_counter", lambda: next(seconds))
    return request.param


def test_a_search_runs_until_it_says_why_it_stops(kind):
    search, reported = search_of(kind), []
    result = run_search(search, FakeEvaluator(), 1e4, reported.append, lambda: None)
    assert str(result.stop_reason) == "all 6 generations have run"
    designs, scores = search.front
    assert result.designs.stages.tolist() == designs.stages.tolist()
    assert result.scores.spent.tolist() == scores.spent.tolist()
    assert (result.n_tied is None) == (kind == "paper")
    assert [one.generation for one in result.records] == [*range(7)]
    last = result.records[-1]
    assert last is reported[-1]
    assert last.best.stages.tolist() == designs.stages[:1].tolist()
    assert (last.best_scores.spent, last.n_front) == (scores.spent[0], len(designs))


@pytest.mark.parametrize("limit", [70.0, 130.0])
def test_time_runs_out_between_two_fits_and_complete_generations_are_kept(kind, limit):
    result = run_search(search_of(kind, 99), FakeEvaluator(), limit)
    assert str(result.stop_reason) == f"the time limit of {limit:g} s was reached"
    whole = run_search(search_of(kind, len(result.records) - 1), FakeEvaluator())
    assert result.designs.stages.tolist() == whole.designs.stages.tolist()
    assert len(whole.records) == len(result.records) > 1
    assert result.records[-1].seconds - limit < 3


# Parts of 1, 2, 4 and so on; the first designs have two seconds whatever the limit. Time does not
# run out before a design is within the limits.
@pytest.mark.parametrize(
    ("limit", "within", "n_scored"), [(1e-9, None, 3), (5.5, None, 7), (1e-9, 5, 7)]
)
def test_if_time_is_up_among_the_first_designs_those_scored_so_far_are_kept(
    kind, limit, within, n_scored
):
    search, first, kept = search_of(kind), search_of(kind).ask()[:n_scored], Archive(TOTAL)
    only = None if within is None else first.stages[within] @ 3 ** np.arange(5)
    result = run_search(search, FakeEvaluator(only=only), limit)
    kept.add(first, FakeEvaluator(only=only).score(first))
    assert result.designs.stages.tolist() == kept.front()[0].stages.tolist()
    assert (result.records[0].generation, len(result.records)) == (0, 1)


def test_a_search_that_has_ended_keeps_its_reason_if_chains_take_too_long(kind):
    evaluator = FakeEvaluator()
    chains = (evaluator.on_fit(1, 2) for _ in range(1000))
    result = run_search(search_of(kind, 0), evaluator, 500.0, between=lambda: [*chains])
    assert result.stop_reason == StopReason(Stop.GENERATIONS, 0)
    assert len(result.records) == 1


def test_ctrl_c_keeps_complete_generations(kind):
    with pytest.warns(UserWarning, match="nterrupted"):
        result = run_search(search_of(kind), FakeEvaluator(KeyboardInterrupt, fails_in=4))
    assert str(result.stop_reason) == "interrupted after 3 generations"
    whole = run_search(search_of(kind, 3), FakeEvaluator())
    assert result.designs.stages.tolist() == whole.designs.stages.tolist()


@pytest.mark.parametrize(("error", "fails_in"), [(KeyboardInterrupt, 0), (ValueError, 3)])
def test_other_errors_and_ctrl_c_at_the_start_go_on_to_the_caller(kind, error, fails_in):
    with pytest.raises(error):
        run_search(search_of(kind), FakeEvaluator(error, fails_in))


@pytest.mark.parametrize("cause", Stop)
def test_every_cause_has_a_sentence_that_may_tell_what_is_settled(cause):
    words = str(StopReason(cause, 1, 2.0, 1000, 3000, note="so"))
    settled = "so the front is not proven (1,000 of 3,000 designs are settled) (so)"
    is_early = cause in (Stop.TIME_LIMIT, Stop.MEMORY_LIMIT, Stop.INTERRUPTED)
    assert words.endswith(settled if is_early else " (so)")
    assert "{" not in words


def test_a_bar_says_how_far_generations_are_and_what_they_have_found(capsys):
    with SearchProgress(shown=True) as progress:
        progress.begin("evolution", 12)
        progress.generation(SimpleNamespace(generation=7, n_front=3, n_designs=2100, n_subsets=40))
    text = " ".join(capsys.readouterr().err.split())
    assert "front 3, 2,100 designs, 40 subsets" in text
    assert "7/12" in text.replace(" ", "")


def test_a_space_without_thresholds_has_one_level_at_each_stage():
    assert SearchSettings(max_stages=3).space(5) == DesignSpace(5, 3)
