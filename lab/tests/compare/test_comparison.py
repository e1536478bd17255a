from __future__ import annotations

import json
import re

import numpy as np
import pytest
from support.comparisons import FirstColumns, made_answers, made_comparison, small_set

from emsco.errors import DataError, FileError
from emsco_lab import rivals
from emsco_lab.compare import (
    CostedRows,
    LabelledRows,
    compare_methods,
    draw_comparison,
    paired,
    to_dict,
    to_markdown,
    verdict,
)
from emsco_lab.compare.comparison import Answers


def rows(n_rows=160):
    made = small_set()
    return CostedRows(LabelledRows(made.X[:n_rows], made.y[:n_rows]), made.costs)


@pytest.fixture
def quick_rival(monkeypatch):
    """Let CSTC be a rival of few lines."""
    monkeypatch.setattr(rivals, "CSTC", FirstColumns)


def run(path=None, data=None, **settings):
    settings = {"methods": ["cstc"], "splits": 2, "max_settings": 2, "n_jobs": 1} | settings
    return compare_methods(data or rows(), path=path, **settings)


def test_the_same_command_continues_and_more_splits_add_to_what_is_there(quick_rival, tmp_path):
    path, jobs = tmp_path / "results.jsonl", []
    first = run(path, report=lambda *job: jobs.append(job))
    assert jobs == [(1, 2, "0 cstc"), (2, 2, "1 cstc")]
    more = run(path, splits=3, report=lambda *job: jobs.append(job))
    assert jobs[2:] == [(3, 3, "2 cstc")]
    assert to_dict(run(path)) == to_dict(first)
    assert len(more.cells) == len(first.cells) == 20  # with the lines of buying nothing
    assert run(path, splits=9, run=False).splits == [0, 1, 2]


def test_after_ctrl_c_whole_splits_are_compared(quick_rival, tmp_path):
    def stop(done, *_):
        if done == 1:
            raise KeyboardInterrupt

    stopped = run(tmp_path / "results.jsonl", report=stop)
    assert (stopped.complete, stopped.splits) == (False, [0])
    assert run(tmp_path / "results.jsonl").splits == [0, 1]


@pytest.mark.parametrize(
    ("change", "named"),
    [({"data": rows(150)}, "rows"), ({"seed": 1}, "seed"), ({"error_cost": 5}, "error costs")],
)
def test_a_folder_of_other_data_or_settings_is_refused(quick_rival, tmp_path, change, named):
    run(tmp_path / "results.jsonl", splits=1)
    with pytest.raises(FileError, match=f"has results of other {named}.*another folder"):
        run(tmp_path / "results.jsonl", splits=1, **change)


def test_a_method_that_fails_is_left_out_with_its_reason_and_asked_again(
    quick_rival, tmp_path, monkeypatch
):
    def broken(*_):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(FirstColumns, "_fit", broken)
    failed = run(tmp_path / "results.jsonl", splits=1)
    assert failed.left_out == {"cstc": "it failed with RuntimeError: no such luck"}
    assert verdict(failed)[1].startswith("CSTC was left out: it failed")
    assert "| method" not in to_markdown(failed)
    monkeypatch.undo()
    monkeypatch.setattr(rivals, "CSTC", FirstColumns)
    known = run(tmp_path / "results.jsonl", splits=1, run=False)
    assert known.left_out == failed.left_out
    assert run(tmp_path / "results.jsonl", splits=1).methods == ["cstc"]


def test_splits_depend_on_the_seed():
    data = rows()
    fitted, test = data.divide(0, 0)
    assert sorted([*fitted, *test]) == list(range(160))
    assert len(test) == 40
    assert not np.array_equal(test, data.divide(0, 1)[1])


def test_classes_with_few_rows_are_refused():
    made = small_set()
    y = np.where(np.arange(160) < 4, 2, made.y)
    data = CostedRows(LabelledRows(made.X, y), made.costs)
    with pytest.raises(DataError, match=r"every class must have 5 rows .*, got 3 of 2"):
        run(data=data)


def test_a_row_that_several_splits_test_is_one_piece_of_evidence():
    rng = np.random.default_rng(0)
    gains = rng.integers(-1, 2, 300).astype(float)
    mean, error, p_value = paired(gains, np.arange(300))
    assert (mean, error) == pytest.approx((gains.mean(), gains.std() / np.sqrt(300)))
    again = paired(np.tile(gains, 4), np.tile(np.arange(300), 4))
    assert again == pytest.approx((mean, error, p_value))
    assert paired(np.zeros(9), np.arange(9)) == (0, 0, 1)


def test_about_one_in_twenty_true_ties_is_called_a_difference():
    rng = np.random.default_rng(1)
    draws = rng.binomial(1, 0.8, (2, 400, 200)).astype(float)
    p_values = [paired(a - b, np.arange(200))[2] for a, b in zip(*draws, strict=True)]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.08


def test_ranks_leads_and_verdicts_are_those_of_the_answers():
    cells = made_comparison(
        {
            "emsco": made_answers(0.8),
            "cstc": made_answers(0.6),
            "cost_ordered": made_answers(0.8, shift=10),
        }
    ).cells.query("coverage == 1.0 and budget == 0.05")
    cells = cells.set_index("method")
    assert cells["rank"].fillna(0).tolist() == [1.5, 3, 1.5, 0]
    assert cells.lead["cstc"] == pytest.approx(0.2)
    assert cells.verdict.tolist() == ["", "ahead", "level", ""]
    raw = paired(np.repeat([0.0, 1.0, 0.0], [60, 20, 20]), np.arange(100))[2]
    assert cells.p_value["cstc"] == pytest.approx(10 * raw)  # the smallest of ten, by Holm


def test_accuracy_of_few_labels_is_compared_as_accuracy():
    comparison = made_comparison({"emsco": made_answers(0.9), "cstc": made_answers(0.7)})
    most = comparison.cells.query("coverage == 0.9 and method == 'cstc'")
    assert np.allclose(most.lead, 0.2, atol=0.01)
    assert (most.verdict == "ahead").all()


def best_at(budget):
    return lambda question: 0.95 if question.budget == budget else 0.6


@pytest.mark.parametrize(
    ("rival", "advice"),
    [
        ({"accuracy": 0.7}, "Use EMSCO: no rival .* beats rivals in 10 of 10"),
        ({"accuracy": 0.85, "shift": 3}, "Use EMSCO: no rival .*, nor does it beat one"),
        (
            {"accuracy": best_at(0.1)},
            "Use CSTC at 10 % if every row needs an answer and CSTC at 10 % if 10 % of the rows "
            "may be rejected: it beats EMSCO beyond chance there, and EMSCO elsewhere",
        ),
        ({"accuracy": best_at(0.1), "cost": 1.4}, "Use EMSCO: no rival within its limits"),
    ],
)
def test_the_advice_follows_what_is_beyond_chance_and_within_limits(rival, advice):
    comparison = made_comparison(
        {"emsco": made_answers(0.85), "cstc": made_answers(**rival)}, commonest=0.5
    )
    assert any(re.search(advice, line) for line in verdict(comparison))


def test_the_verdict_names_leaders_promises_and_who_was_left_out():
    comparison = made_comparison(
        {"emsco": made_answers(0.8, promised=0.85), "cstc": made_answers(best_at(0.02))}
    )
    comparison.answers["catboost"] = {0: Answers([], "it is ill.")}
    text = "\n".join(verdict(comparison))
    assert "if every row needs an answer, by mean cost as a share of everything: " in text
    assert "CSTC at 2 %" in text
    assert "EMSCO at 5, 10, 20 and 40 %" in text
    assert "EMSCO promised 85.0 % and kept 80.0 %" in text
    assert text.endswith("CatBoost was left out: it is ill.")


def test_tables_mark_leads_and_broken_limits():
    comparison = made_comparison(
        {"emsco": made_answers(0.9, promised=0.91), "cstc": made_answers(0.7, cost=1.3)}
    )
    text = to_markdown(comparison)
    assert "| EMSCO          |   90.0 (91.0) |" in text
    assert "| 70.0 (70.0)*▼ |" in text
    assert "5–0 |" in text
    assert "## Accuracy kept (promised) if 10 % of the rows may be rejected, %" in text


def test_without_emsco_mean_ranks_advise():
    comparison = made_comparison({"cstc": made_answers(0.9), "cost_ordered": made_answers(0.8)})
    assert "Use CSTC, by mean ranks; leads are tested against EMSCO alone." in verdict(comparison)


def test_no_method_is_advised_where_buying_nothing_is_as_good():
    comparison = made_comparison({"emsco": made_answers(0.6), "cstc": made_answers(0.5)})
    assert "No method does better than buying nothing." in verdict(comparison)


def test_with_error_costs_methods_are_ranked_by_totals(quick_rival):
    comparison = run(error_cost={0: 30, 1: 10}, reject_cost=2)
    assert comparison.questions[0].budget == 1
    (total,) = comparison.cells.query("method == 'cstc'").merit
    assert verdict(comparison)[0].startswith(
        f"By the mean total of a row, with {comparison.prices}"
    )
    assert f"CSTC {-total:.4g}" in verdict(comparison)[0]
    assert "## Lowest mean total of a row" in to_markdown(comparison)
    assert len(draw_comparison(comparison).axes) == 1


def test_json_has_every_cell_and_the_picture_a_panel_for_each_coverage():
    comparison = made_comparison({"emsco": made_answers(0.8), "cstc": made_answers(0.7)})
    values = json.loads(json.dumps(to_dict(comparison), allow_nan=False))
    assert len(values["cells"]) == 30
    assert values["verdict"] == verdict(comparison)
    figure = draw_comparison(comparison)
    assert [len(panel.lines) for panel in figure.axes] == [3, 3]
