from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from emsco_lab.paper import tuning
from emsco_lab.paper.tuning import (
    GRID,
    TuningExtent,
    draw_tuning,
    papers_setting,
    reproduce_tuning,
)
from support.comparisons import small_set

from emsco.errors import ParameterError

SMALL = TuningExtent(("pima", "heart"), splits=2, runs=2, generations=3, thin=300)


@pytest.fixture(autouse=True)
def _small_sets(monkeypatch):
    tuning._banks.cache_clear()
    monkeypatch.setattr(tuning, "load", small_set)
    yield
    tuning._banks.cache_clear()


@pytest.fixture
def small(tmp_path):
    return reproduce_tuning(tmp_path, SMALL, n_jobs=1)


def test_the_grid_holds_960_settings_and_the_papers_choices():
    assert len(TuningExtent().grid("heart")) == 960
    for name in tuning.SETS:
        assert papers_setting(name) in TuningExtent(thin=400).grid(name)
    assert papers_setting("credit") == (300, 0.075, 0.8, 2.5, 0.2)


def test_every_setting_of_the_sweep_is_in_one_job_of_each_split():
    settings = [one for job in SMALL.jobs(0) if job.name == "pima" for one in job.settings]
    assert sorted(map(str, settings)) == sorted(map(str, 2 * SMALL.grid("pima")))


def test_scores_are_by_setting_rule_and_repeat(small):
    first = small.sets[0]
    assert first.name == "pima"
    assert first.scores.shape == (len(SMALL.grid("pima")), 2, 4)
    assert ((first.scores > 0) & (first.scores <= np.sqrt(3))).all()
    assert (first.means("balanced") >= first.means("fittest") - 1e-12).all()


def test_the_best_setting_has_the_highest_mean_and_the_papers_is_found(small):
    for one in small.sets:
        assert one.means()[one.best()] == one.means().max()
        assert one.papers is not None
        assert one.settings[one.papers] == papers_setting(one.name)


def test_effects_are_means_over_all_other_parameters(small):
    one = small.sets[0]
    value, score = one.effects()["population_size"][0]
    of_value = [m for m, s in zip(one.means(), one.settings, strict=True) if s[0] == value]
    assert score == pytest.approx(np.mean(of_value))
    assert list(one.effects()) == list(GRID)


def test_a_second_call_computes_nothing(small, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_do_job", None)
    again = reproduce_tuning(tmp_path, SMALL, n_jobs=1)
    assert np.array_equal(again.sets[1].scores, small.sets[1].scores)


def test_an_interrupt_keeps_settings_that_all_splits_have(tmp_path):
    def report(done, _total, _what):
        if done == 8:
            raise KeyboardInterrupt

    result = reproduce_tuning(tmp_path, SMALL, n_jobs=1, report=report)
    assert not result.complete
    (pima,) = result.sets
    assert pima.scores.shape == (2, 2, 4)  # five jobs of the first split, two of the second


def test_tables_name_the_best_and_the_papers_settings(small):
    text = small.to_markdown()
    assert r"\|G\| 300, m̂ 0.075, r̂ 0.8, β 2, b 0.2" in text
    plain = json.loads(json.dumps(small.to_dict()))
    assert plain["sets"][1]["paper"] == [300, 0.075, 0.75, 2.0, 0.2]


def test_the_record_is_json_even_without_repeats(tmp_path):
    once = reproduce_tuning(
        tmp_path, TuningExtent(("pima",), runs=1, generations=2, thin=500), n_jobs=1
    )
    plain = json.loads(json.dumps(once.to_dict(), allow_nan=False))
    between, within = plain["sets"][0]["spread_of_settings_and_repeats"]["fittest"]
    assert between >= 0
    assert within is None
    assert "beside – |" in once.to_markdown()


def test_the_figure_has_a_panel_for_each_parameter(small):
    figure = draw_tuning(small)
    assert [axes.get_xlabel() for axes in figure.axes] == ["|G|", "m̂", "r̂", "β", "b"]


def test_an_unknown_set_is_refused():
    with pytest.raises(ParameterError, match=r"sets must be one of .*got 'iris'"):
        TuningExtent(("iris",))


def test_a_thinned_grid_ties_no_parameter_to_another():
    settings = TuningExtent(thin=20).grid("heart")
    assert 48 <= len(settings) <= 49
    for i, j in combinations(range(len(GRID)), 2):
        values = list(GRID.values())
        pairs = {(one[i], one[j]) for one in settings}
        assert len(pairs) > max(len(values[i]), len(values[j]))
