"""Findings of contests, from answers made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.contests import made_answers, made_contest

from emsco.app.cli.terminal import contest_table, seconds_line
from emsco.lab.compare_figure import draw_contest
from emsco.lab.contest_duels import promise_of, task_duels, task_ranks, volume_duels
from emsco.lab.contest_records import EVERYONE, MOST, TASKS, TESTED
from emsco.lab.contest_report import ContestReport
from emsco.lab.contest_words import broken_limits, summary_of
from emsco.lab.contests import Answers
from emsco.stats.tests import holm

NOISE = 0.004 * np.sin(np.arange(10))
NOISE -= NOISE.mean()


def over_splits(accuracy, noise=NOISE, **figures):
    """Answers on as many splits as there is noise; `accuracy` is a number or by question."""
    given = accuracy if callable(accuracy) else lambda _: accuracy
    return {
        split: made_answers(lambda question, e=e: given(question) + e, **figures)
        for split, e in enumerate(noise)
    }


def rivals(emsco, cstc, **figures):
    return made_contest(
        {"emsco": over_splits(emsco), "cstc": over_splits(cstc, NOISE[::-1], **figures)}
    )


@pytest.fixture
def level():
    return rivals(0.8, 0.8)


def test_means_and_margins_are_over_splits(level):
    one = level.standing("emsco", 1.0, 0.05)
    assert one.mean == pytest.approx(0.8 + NOISE.mean())
    error = NOISE.std(ddof=1) * np.sqrt(1 / 10 + 1 / 3)
    assert one.margin == pytest.approx(stats.t.ppf(0.975, 9) * error)
    assert one.cost == pytest.approx(0.025)
    assert one.money == pytest.approx(0.25 + 10 * (1 - one.accuracy))


def test_overruns_count_only_where_limits_are_broken():
    answers = {0: made_answers(0.8, cost=0.5), 1: made_answers(0.8, cost=1.5, coverage=0.9)}
    one = made_contest({"emsco": answers}).standing("emsco", 0.9, 0.2)
    assert one.overspent == pytest.approx(0.1 / 2)
    assert one.short == pytest.approx(0.09 / 2)


def test_p_values_are_corrected_over_rivals_and_budgets():
    contest = made_contest(
        {
            "emsco": over_splits(0.82),
            "cstc": over_splits(0.81, NOISE[::-1]),
            "astc": over_splits(0.8, -NOISE),
        },
        n_test=10_000,
    )
    raw = []
    for rival in ("cstc", "astc"):
        for question in EVERYONE.questions:
            mine, their = (contest.standings[one, question].accuracy for one in ("emsco", rival))
            t = stats.ttest_rel(mine, their).statistic / np.sqrt(1 + 10 / 3)
            raw.append(2 * stats.t.sf(abs(t), 9))
    duels = task_duels(contest, EVERYONE)
    assert [duel.p_value for duel in duels] == pytest.approx(holm(raw).tolist())
    assert [duel.budget for duel in duels] == [*TESTED, *TESTED]


@pytest.mark.parametrize(
    ("emsco", "cstc", "verdict"), [(0.9, 0.8, "ahead"), (0.8, 0.8, "level"), (0.7, 0.8, "behind")]
)
def test_a_verdict_needs_a_lead_beyond_chance(emsco, cstc, verdict):
    contest = rivals(emsco, cstc)
    assert {duel.verdict for task in TASKS for duel in task_duels(contest, task)} == {verdict}
    assert [duel.verdict for duel in volume_duels(contest)] == [verdict]


@pytest.mark.parametrize("n_splits", [1, 3])
def test_a_row_more_on_a_few_splits_may_be_chance(n_splits):
    answers = {
        "emsco": over_splits(0.81, np.zeros(n_splits)),
        "cstc": over_splits(0.80, np.zeros(n_splits)),
    }
    duels = task_duels(made_contest(answers), EVERYONE)
    assert [duel.gain for duel in duels] == pytest.approx([0.01] * 5)
    assert {duel.verdict for duel in duels} == {"level"}


def test_equal_methods_share_ranks():
    answers = {
        "emsco": over_splits(0.9),
        "cstc": over_splits(0.8),
        "astc": over_splits(0.8),
        "cost_ordered": over_splits(0.7),
    }
    ranks = task_ranks(made_contest(answers), MOST)
    assert list(ranks) == list(TESTED)
    assert set(map(tuple, (cell.items() for cell in ranks.values()))) == {
        (("emsco", 1.0), ("cstc", 2.5), ("astc", 2.5), ("cost_ordered", 4.0))
    }


def test_the_hypervolume_is_that_of_what_test_rows_saw():
    one = made_answers(0.8)
    both = [offer for offer in one.offers if offer.question.budget == 0.4][::5]
    contest = made_contest({"emsco": {0: replace(one, offers=tuple(both))}})
    assert [offer.question.coverage for offer in both] == [1.0, 0.5]
    assert contest.volumes["emsco"] == pytest.approx(1.0 * 0.8 * 0.8)


def test_promises_are_compared_with_what_was_kept():
    contest = made_contest({"emsco": over_splits(0.8, promised=0.85)})
    found = promise_of(contest, "emsco")
    assert found.gap == pytest.approx(0.05 - NOISE.mean())
    assert found.in_errors == pytest.approx(
        found.gap / (NOISE.std(ddof=1) * np.sqrt(1 / 10 + 1 / 3))
    )
    alone = made_contest({"emsco": {0: made_answers(0.8, promised=0.85)}})
    assert promise_of(alone, "emsco").in_errors is None


def test_only_splits_that_all_methods_answered_count():
    answers = {
        "emsco": over_splits(0.8),
        "cstc": over_splits(0.8, NOISE[:4]) | {7: Answers((), "one class is missing.", 0.1)},
        "astc": {0: Answers((), "two classes only.", 0.1)},
        "cost_ordered": {20: made_answers(0.9)},
    }
    contest = made_contest(answers)
    assert (contest.methods, contest.splits) == (("emsco", "cstc"), (0, 1, 2, 3))
    assert summary_of(contest)[4:] == [
        "ASTC was left out: two classes only.",
        "CO-T was left out: it has no split in common with the others.",
        "CSTC gave no answer on 1 of its splits, which are left out: one class is missing.",
    ]


def test_the_sentences_recommend_emsco_if_it_leads():
    everyone, most, advice, kept = summary_of(rivals(0.9, 0.8))
    where = "EMSCO leads at a mean cost of at most 2, 5, 10, 20 and 40 % of everything."
    assert everyone == f"If every row needs an answer, {where}"
    assert most == f"If a tenth of the rows may be rejected, {where}"
    assert advice == (
        "Use EMSCO: no rival is more accurate, and it leads beyond chance in 10 of 10 comparisons."
    )
    assert kept == "On average EMSCO promised 90.0 % accuracy and kept 90.0 %."


def better_at_large_budgets(question):
    return 0.85 if question.budget >= 0.2 and question.coverage == 1 else 0.75


def test_the_sentences_recommend_a_rival_where_it_is_better_beyond_chance():
    everyone, _, advice, kept = summary_of(rivals(0.8, better_at_large_budgets))
    assert "EMSCO leads at a mean cost of at most 2, 5 and 10 % of everything; " in everyone
    assert everyone.endswith("; CSTC leads at 20 and 40 %.")
    assert advice == (
        "Use CSTC at 20 and 40 % if every row needs an answer, where it beats EMSCO beyond chance, "
        "and EMSCO elsewhere."
    )
    assert "EMSCO promised 80.0 % accuracy and kept 80.0 % and CSTC promised" in kept


def test_the_sentences_say_if_a_lead_may_be_chance():
    contest = made_contest(
        {"emsco": over_splits(0.8, 10 * NOISE), "cstc": over_splits(0.81, -10 * NOISE)}
    )
    assert summary_of(contest)[2] == (
        "Use EMSCO or the leader at your budget: CSTC is more accurate at every budget if every "
        "row needs an answer and at every budget if a tenth may be rejected, but no difference is "
        "beyond chance."
    )


def test_a_lead_of_emsco_may_be_chance_too():
    contest = made_contest(
        {"emsco": over_splits(0.81, 10 * NOISE), "cstc": over_splits(0.8, -10 * NOISE)}
    )
    says = "Use EMSCO: no rival is more accurate, but no difference is beyond chance."
    assert summary_of(contest)[2] == says


@pytest.mark.parametrize("cstc", [0.7, 0.9])
def test_one_split_cannot_tell(cstc):
    contest = made_contest({"emsco": {0: made_answers(0.8)}, "cstc": {0: made_answers(cstc)}})
    assert summary_of(contest)[2].endswith(", but one split cannot tell methods apart.")


def best_at_5(question):
    return 0.9 if question.budget == 0.05 else 0.75


def test_the_sentences_name_one_rival_for_a_task():
    contest = made_contest(
        {
            "emsco": over_splits(0.8),
            "cstc": over_splits(better_at_large_budgets, NOISE[::-1]),
            "astc": over_splits(best_at_5, NOISE[::-1]),
        }
    )
    advice = summary_of(contest)[2]
    assert advice == (
        "Use CSTC at 20 and 40 % if every row needs an answer and ASTC at 5 % if a tenth may be "
        "rejected, where they beat EMSCO beyond chance, and EMSCO elsewhere unless the tables call "
        "it behind."
    )
    assert len(advice.split()) <= 44


def test_a_rival_that_is_better_everywhere_leaves_no_place_to_emsco():
    assert summary_of(rivals(0.7, 0.8))[2].endswith(", where it beats EMSCO beyond chance.")


def test_the_sentences_say_if_a_rival_answers_too_few_rows():
    advice = summary_of(rivals(0.7, 0.8, coverage=0.8))[2]
    assert "if a tenth may be rejected (answers only 72 %)" in advice


def test_clearly_broken_limits_have_sentences():
    contest = rivals(0.8, 0.8, coverage=0.95, cost=1.3)
    assert broken_limits(contest, MOST) == [
        "Answered at worst, of the test rows: CSTC 85.5 %, where 90 % was asked.",
        "On test rows CSTC spends 2.6 % where 2 % is allowed.",
    ]
    assert broken_limits(contest, MOST)[1] in ContestReport(contest).to_markdown()
    assert not broken_limits(rivals(0.8, 0.8, coverage=0.97, cost=1.25), MOST)


@pytest.mark.parametrize(("n_splits", "splits"), [(1, "one split, "), (2, "")])
def test_a_quick_comparison_says_so_under_every_title(n_splits, splits):
    contest = replace(made_contest({"emsco": over_splits(0.8, NOISE[:n_splits])}), quick=True)
    says = f"Quick: {splits}fewer settings, shorter searches; do not judge methods by it."
    assert ContestReport(contest).to_markdown().splitlines()[2] == says
    assert str(contest_table(contest, MOST).title).splitlines()[1] == says
    assert ContestReport(contest).to_dict()["quick"]


def test_what_a_tenth_of_a_point_does_not_tell_apart_is_level(level):
    assert "all methods are level at a mean cost of at most 2, 5, 10, " in summary_of(level)[0]


def test_methods_without_emsco_and_a_method_alone_have_sentences_too():
    answers = {"cstc": over_splits(0.8), "astc": over_splits(0.7)}
    assert summary_of(made_contest(answers))[2:] == [
        "Use CSTC, by mean ranks over all budgets, but leads are tested only against EMSCO.",
        "On average CSTC promised 80.0 % accuracy and kept 80.0 %.",
    ]
    alone = summary_of(made_contest({"cstc": over_splits(0.8)}))
    assert "CSTC is 80.0, 80.0, 80.0, 80.0 and 80.0 % correct at mean costs of" in alone[0]
    assert alone[2:] == [
        "No other method took part.",
        "On average CSTC promised 80.0 % accuracy and kept 80.0 %.",
    ]


def test_without_emsco_each_task_may_have_another_leader():
    answers = {"cstc": over_splits(better_at_large_budgets), "astc": over_splits(0.75)}
    assert summary_of(made_contest(answers))[2].startswith(
        "Use CSTC if every row needs an answer and any method if a tenth may be rejected, by "
    )


def test_no_method_at_all_is_said_so():
    contest = made_contest({"cstc": {0: Answers((), "no.", 0.1)}})
    report = ContestReport(contest)
    assert report.summary() == ["No method could run.", "CSTC was left out: no."]
    assert json.loads(json.dumps(report.to_dict()))["methods"] == {}
    assert "was left out" in report.to_markdown()
    assert draw_contest(contest).axes


def test_the_record_is_plain_and_complete():
    plain = json.loads(json.dumps(ContestReport(rivals(0.9, 0.8)).to_dict(), allow_nan=False))
    own = plain["methods"]["emsco"]
    assert len(own["answers"]) == 36
    assert own["answers"][1]["asked"] == {"coverage": 1.0, "budget": 0.05}
    assert own["mean_rank"] == {"everyone": 1.0, "most": 1.0, "volume": 1.0}
    assert own["promise"]["gap"] == pytest.approx(0.0)
    assert [len(duels) for duels in plain["duels"].values()] == [5, 5, 1]
    assert plain["duels"]["everyone"][0]["verdict"] == "ahead"


def test_the_tables_have_every_method_in_every_task(level):
    text = ContestReport(level).to_markdown()
    assert text.startswith("# Methods on made up: 10 splits, 300 fitted and 100 test rows\n")
    assert text.count("| **EMSCO** |") == 4 + 5 + 1
    assert "| CSTC | 0.00 (1, level) |" in text
    for task in TASKS:
        assert contest_table(level, task).row_count == 2
    assert seconds_line(level).endswith(": EMSCO 1.5, CSTC 1.5.")


def test_tables_have_margins_from_five_splits_on(level):
    assert "| **EMSCO** | 80.0 ± 0.4 (80.0) |" in ContestReport(level).to_markdown()
    few = {"emsco": over_splits(0.8, NOISE[:4]), "cstc": over_splits(0.8, NOISE[:4])}
    text = ContestReport(made_contest(few)).to_markdown()
    assert "±" not in text
    assert "| CSTC | 0.00 (1, level) |" in text


def test_one_split_has_no_tests():
    contest = made_contest({"emsco": {0: made_answers(0.8)}, "cstc": {0: made_answers(0.7)}})
    report = ContestReport(contest)
    assert report.to_markdown().count("+10.00 (–)") == 2 * 5
    assert report.to_dict()["duels"]["most"][0] == {
        "method": "emsco",
        "rival": "cstc",
        "budget": 0.02,
        "gain": pytest.approx(0.1),
        "p_value": None,
        "verdict": None,
    }


def test_without_emsco_no_column_has_its_lead():
    answers = {"cstc": over_splits(0.8), "astc": over_splits(0.7)}
    assert "ead of EMSCO" not in ContestReport(made_contest(answers)).to_markdown()


def test_money_says_that_rejections_are_free(level):
    text = ContestReport(level).to_markdown()
    assert "an error costs 10, everything 10, a rejection nothing." in text
    text = ContestReport(replace(level, reject_cost=2.0)).to_markdown()
    assert "an error costs 10, everything 10, a rejection 2." in text


def test_the_picture_has_a_panel_for_each_task_and_emsco_in_front(level):
    figure = draw_contest(level)
    assert [panel.get_title("left") for panel in figure.axes] == [task.title for task in TASKS]
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert lines["EMSCO"].get_zorder() > lines["CSTC"].get_zorder()
    assert lines["EMSCO"].get_linewidth() > lines["CSTC"].get_linewidth()
    assert list(lines["EMSCO"].get_xdata()) == [0, 1, 2, 3, 4, 5]  # budgets, evenly apart
    assert len(draw_contest(level, [EVERYONE]).axes) == 1


def test_all_but_the_best_rivals_are_grey_and_named_at_their_ends():
    means = {"emsco": 0.8, "cstc": 0.7, "astc": 0.9, "aaco": 0.85, "cact_lasso": 0.6}
    contest = made_contest({method: over_splits(mean) for method, mean in means.items()})
    panel = draw_contest(contest).axes[0]
    named = {text.get_text(): text for text in panel.texts}
    grey = {text for text, one in named.items() if one.get_color() == "0.4"}
    assert grey == {"CSTC", "CaCT LASSO", "commonest class"}
    assert {"EMSCO", "ASTC", "AACO"} < set(named)
    assert len(panel.collections) == 2  # bands of EMSCO and the best rival


def test_bands_are_drawn_over_five_splits_or_more():
    few = made_contest({"emsco": over_splits(0.8, NOISE[:4])})
    assert not draw_contest(few).axes[0].collections


def test_offers_that_break_their_limits_are_hollow():
    figure = draw_contest(rivals(0.8, 0.8, cost=1.3))
    faces = [
        line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "s"
    ]
    assert faces.count("white") == 6
    assert "hollow: broke its limits" in figure.get_supxlabel()
    assert "hollow" not in draw_contest(rivals(0.8, 0.8)).get_supxlabel()
