from __future__ import annotations

import json

import numpy as np
import pytest
from emsco_lab.paper.global_optima import draw_global_optima, reproduce_global
from emsco_lab.paper.published import SETTINGS

from emsco.errors import EMSCOError, ParameterError
from emsco.plotting import save_figure


@pytest.fixture(scope="module")
def result(request):
    request.getfixturevalue("paper_set")("pima")
    return reproduce_global(runs=2, seed=0, n_jobs=1, sets=("pima",), stages=(2, 3))


def test_exact_fronts_have_the_known_sizes(result):
    assert [scape.n_vectors for scape in result.landscapes] == [24, 45]
    assert [scape.n_designs for scape in result.landscapes] == [255, 6051]
    assert [scape.paper_size for scape in result.landscapes] == [18, 42]


def test_counts_of_optima_never_fall_nor_exceed_the_front(result):
    for scape in result.landscapes:
        for curve in scape.curves.values():
            assert len(curve.vectors) == 151
            assert (np.diff(curve.vectors) >= 0).all()
            assert curve.vectors[-1] <= scape.n_vectors
            assert curve.designs[-1] <= scape.n_optimal
            assert curve.worst_end <= curve.vectors[-1] <= curve.best_end


def test_evolution_finds_the_whole_front_of_pima(result):
    assert all(s.curves["evolution"].worst_end == s.n_vectors for s in result.landscapes)


@pytest.mark.thorough
def test_results_depend_on_the_seed_and_not_on_the_processes(result):
    again = reproduce_global(runs=2, seed=0, n_jobs=2, sets=("pima",), stages=(2,))
    for search, curve in result.landscapes[0].curves.items():
        assert np.array_equal(again.landscapes[0].curves[search].designs, curve.designs)


def test_tables_hold_the_same_figures(result):
    lines = result.to_markdown().splitlines()
    assert len(lines) == 8
    assert "| pima | 3 | 6,051 | 42 |" in lines[7]
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["landscapes"][1]["front_vectors"] == 45
    assert len(plain["landscapes"][1]["searches"]["paper"]["optimal_vectors_by_generation"]) == 151


def test_every_job_is_reported(paper_set):
    paper_set("pima")
    seen = []
    reproduce_global(
        runs=1, n_jobs=1, sets=("pima",), stages=(2,), report=lambda *job: seen.append(job)
    )
    assert [job[:2] for job in seen] == [(1, 3), (2, 3), (3, 3)]
    assert seen[0][2] == "exact front of pima, 2 stages"


def test_an_interrupt_keeps_complete_repeats(paper_set):
    paper_set("pima")

    def report(done, _total, _what):
        if done == 3:
            raise KeyboardInterrupt

    result = reproduce_global(runs=2, n_jobs=1, sets=("pima",), stages=(2,), report=report)
    assert not result.complete
    assert sum(c.n_repeats for c in result.landscapes[0].curves.values()) == 2


def test_zero_repeats_are_refused():
    with pytest.raises(ParameterError, match="runs must be a whole number from 1 up, got 0"):
        reproduce_global(runs=0)


def test_the_figure_is_written_as_png_and_svg(result, tmp_path):
    figure = draw_global_optima(result)
    assert [axes.get_title() for axes in figure.axes] == ["pima, k = 2", "pima, k = 3"]
    line = figure.axes[1].get_lines()[-1]
    assert line.get_ydata()[-1] == result.landscapes[1].curves["evolution"].vectors[-1]
    png, svg = save_figure(figure, tmp_path / "global")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in svg.read_text()


def test_without_matplotlib_the_sentence_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(EMSCOError, match=r"pip install 'emsco\[plot\]'"):
        draw_global_optima(result)


def test_the_papers_settings_are_those_of_its_table():
    assert SETTINGS["credit"]["stage_bias"] == 2.5
    assert SETTINGS["heart"]["crossover_rate"] == 0.75
