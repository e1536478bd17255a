"""Sentences and tables about comparisons of answers made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from emsco_lab.cli_studies import accuracy_table, seconds_line
from emsco_lab.compare import MOST, TASKS, Baseline
from emsco_lab.compare_figure import draw_comparison
from emsco_lab.compare_report import ComparisonReport, broken_limits, recall_table
from emsco_lab.trials import ANYTHING, LOWEST_TOTAL, Answers, Offer, Seen
from support.comparisons import NOISE, made_answers, made_comparison, over_splits, two_methods

from emsco._base.objectives import Objectives
from emsco.errors import not_installed
from emsco.stats.error_costs import ErrorCosts


@pytest.fixture
def level():
    return two_methods(0.8, 0.8)


def test_only_splits_that_all_methods_answered_count():
    answers = {
        "emsco": over_splits(0.8),
        "cstc": over_splits(0.8, NOISE[:4]) | {7: Answers((), "one class is missing.", 0.1)},
        "astc": {0: Answers((), "two classes only.", 0.1)},
        "cost_ordered": {20: made_answers(0.9)},
    }
    comparison = made_comparison(answers)
    assert (comparison.methods, comparison.splits) == (("emsco", "cstc"), (0, 1, 2, 3))
    assert ComparisonReport(comparison).summary()[4:] == [
        "ASTC was left out: two classes only.",
        "CO-T was left out: it has no split in common with the others.",
        "CSTC gave no answer on 1 of its splits, which are left out: one class is missing.",
    ]


def test_the_sentences_recommend_emsco_if_it_leads():
    everyone, most, advice, kept = ComparisonReport(two_methods(0.9, 0.8)).summary()
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
    everyone, _, advice, kept = ComparisonReport(
        two_methods(0.8, better_at_large_budgets)
    ).summary()
    assert "EMSCO leads at a mean cost of at most 2, 5 and 10 % of everything; " in everyone
    assert everyone.endswith("; CSTC leads at 20 and 40 %.")
    assert advice == (
        "Use CSTC at 20 and 40 % if every row needs an answer, where it beats EMSCO beyond chance, "
        "and EMSCO elsewhere."
    )
    assert "EMSCO promised 80.0 % accuracy and kept 80.0 % and CSTC promised" in kept


def test_the_sentences_say_if_a_lead_may_be_chance():
    comparison = made_comparison(
        {"emsco": over_splits(0.8, 10 * NOISE), "cstc": over_splits(0.81, -10 * NOISE)}
    )
    assert ComparisonReport(comparison).summary()[2] == (
        "Use EMSCO or the leader at your budget: CSTC is more accurate at every budget if every "
        "row needs an answer and at every budget if a tenth may be rejected, but no difference is "
        "beyond chance."
    )


def test_a_lead_of_emsco_may_be_chance_too():
    comparison = made_comparison(
        {"emsco": over_splits(0.81, 10 * NOISE), "cstc": over_splits(0.8, -10 * NOISE)}
    )
    says = "Use EMSCO: no rival is more accurate, but no difference is beyond chance."
    assert ComparisonReport(comparison).summary()[2] == says


@pytest.mark.parametrize("cstc", [0.7, 0.9])
def test_one_split_cannot_tell(cstc):
    comparison = made_comparison({"emsco": {0: made_answers(0.8)}, "cstc": {0: made_answers(cstc)}})
    assert (
        ComparisonReport(comparison)
        .summary()[2]
        .endswith(", but one split cannot tell methods apart.")
    )


def best_at_5(question):
    return 0.9 if question.budget == 0.05 else 0.75


def test_the_sentences_name_one_rival_for_a_task():
    comparison = made_comparison(
        {
            "emsco": over_splits(0.8),
            "cstc": over_splits(better_at_large_budgets, NOISE[::-1]),
            "astc": over_splits(best_at_5, NOISE[::-1]),
        }
    )
    advice = ComparisonReport(comparison).summary()[2]
    assert advice == (
        "Use CSTC at 20 and 40 % if every row needs an answer and ASTC at 5 % if a tenth may be "
        "rejected, where they beat EMSCO beyond chance, and EMSCO elsewhere unless the tables call "
        "it behind."
    )
    assert len(advice.split()) <= 44


def test_a_rival_that_is_better_everywhere_leaves_no_place_to_emsco():
    assert (
        ComparisonReport(two_methods(0.7, 0.8))
        .summary()[2]
        .endswith(", where it beats EMSCO beyond chance.")
    )


def test_the_sentences_say_if_a_rival_answers_too_few_rows():
    advice = ComparisonReport(two_methods(0.7, 0.8, coverage=0.8)).summary()[2]
    assert "if a tenth may be rejected (answers only 72 %)" in advice


def test_clearly_broken_limits_have_sentences():
    comparison = two_methods(0.8, 0.8, coverage=0.95, cost=1.3)
    assert broken_limits(comparison, MOST) == [
        "Answered at worst, of the test rows: CSTC 85.5 %, where 90 % was asked.",
        "On test rows CSTC spends 2.6 % where 2 % is allowed.",
    ]
    assert broken_limits(comparison, MOST)[1] in ComparisonReport(comparison).to_markdown()
    assert not broken_limits(two_methods(0.8, 0.8, coverage=0.97, cost=1.25), MOST)


@pytest.mark.parametrize(("n_splits", "splits"), [(1, "one split, "), (2, "")])
def test_a_quick_comparison_says_so_under_every_title(n_splits, splits):
    comparison = replace(made_comparison({"emsco": over_splits(0.8, NOISE[:n_splits])}), quick=True)
    says = f"Quick: {splits}fewer settings, shorter searches; do not judge methods by it."
    assert ComparisonReport(comparison).to_markdown().splitlines()[2] == says
    assert str(accuracy_table(comparison, MOST).title).splitlines()[1] == says
    assert ComparisonReport(comparison).to_dict()["quick"]


def test_what_a_tenth_of_a_point_does_not_tell_apart_is_level(level):
    assert (
        "all methods are level at a mean cost of at most 2, 5, 10, "
        in ComparisonReport(level).summary()[0]
    )


def test_methods_without_emsco_and_a_method_alone_have_sentences_too():
    answers = {"cstc": over_splits(0.8), "astc": over_splits(0.7)}
    assert ComparisonReport(made_comparison(answers)).summary()[2:] == [
        "Use CSTC, by mean ranks over all budgets, but leads are tested only against EMSCO.",
        "On average CSTC promised 80.0 % accuracy and kept 80.0 %.",
    ]
    alone = ComparisonReport(made_comparison({"cstc": over_splits(0.8)})).summary()
    assert "CSTC is 80.0, 80.0, 80.0, 80.0 and 80.0 % correct at mean costs of" in alone[0]
    assert alone[2:] == [
        "No other method took part.",
        "On average CSTC promised 80.0 % accuracy and kept 80.0 %.",
    ]


def test_without_emsco_each_task_may_have_another_leader():
    answers = {"cstc": over_splits(better_at_large_budgets), "astc": over_splits(0.75)}
    assert (
        ComparisonReport(made_comparison(answers))
        .summary()[2]
        .startswith(
            "Use CSTC if every row needs an answer and any method if a tenth may be rejected, by "
        )
    )


def test_no_method_at_all_is_said_so():
    comparison = made_comparison({"cstc": {0: Answers((), "no.", 0.1)}})
    report = ComparisonReport(comparison)
    assert report.summary() == ["No method could run.", "CSTC was left out: no."]
    assert json.loads(json.dumps(report.to_dict()))["methods"] == {}
    assert "was left out" in report.to_markdown()
    assert draw_comparison(comparison).axes


def test_the_record_is_plain_and_complete():
    plain = json.loads(
        json.dumps(ComparisonReport(two_methods(0.9, 0.8)).to_dict(), allow_nan=False)
    )
    emsco = plain["methods"]["emsco"]
    assert len(emsco["answers"]) == 36
    assert emsco["answers"][1]["asked"] == {"coverage": 1.0, "budget": 0.05}
    assert emsco["mean_rank"] == {"everyone": 1.0, "most": 1.0, "volume": 1.0}
    assert emsco["promise"]["gap"] == pytest.approx(0.0)
    assert [len(duels) for duels in plain["duels"].values()] == [5, 5, 1]
    assert plain["duels"]["everyone"][0]["verdict"] == "ahead"


def test_the_tables_have_every_method_in_every_task(level):
    text = ComparisonReport(level).to_markdown()
    assert text.startswith("# Methods on made up: 10 splits, 300 fitted and 100 test rows\n")
    assert text.count("| **EMSCO** |") == 4 + 5 + 1
    assert "| CSTC | 0.00 (1, level) |" in text
    for task in TASKS:
        assert accuracy_table(level, task).row_count == 3
    # The commonest class is the last line of every table by budget.
    assert text.count("| commonest class | 60.0 ± 0.0 (60.0) |") == 2
    assert text.count("| commonest class | 40.0 |") == 2  # in money
    assert seconds_line(level).endswith(": EMSCO 1.5, CSTC 1.5.")


def with_classes(answers, wrong):
    """The same answers, with wrong labels by class."""
    offers = []
    for offer in answers.offers:
        seen = replace(offer.seen, wrong=wrong, rejected=(0.0,) * len(wrong))
        offers.append(replace(offer, seen=seen))
    return replace(answers, offers=tuple(offers))


def test_recall_of_each_class_has_a_table_where_results_have_classes(level):
    assert recall_table(level).lines == ()
    assert "Left out: some results were kept by an earlier" in ComparisonReport(level).to_markdown()
    answers = {
        "emsco": {split: with_classes(made_answers(0.8), (0.06, 0.1)) for split in range(5)},
        "cstc": {split: with_classes(made_answers(0.8), (0.0, 0.2)) for split in range(5)},
    }
    comparison = made_comparison(answers)
    table = recall_table(comparison)
    assert table.title.endswith(": every row answered at a mean cost of at most 10 %")
    assert table.classes == ("a (60)", "b (40)")
    assert list(table.lines) == [
        ("emsco", "90.0", "75.0"),
        ("cstc", "100.0", "50.0"),
        ("commonest", "100.0", "0.0"),
    ]
    report = ComparisonReport(comparison)
    assert "| **EMSCO** | 90.0 ± 0.0 | 75.0 ± 0.0 |" in report.to_markdown()
    plain = report.to_dict()
    assert plain["methods"]["cstc"]["answers"][0]["recall"] == pytest.approx({"a": 1, "b": 0.5})
    assert plain["classes"][1] == {"label": "b", "test_rows": 40}


def test_splits_without_a_class_do_not_count_for_its_recall():
    answers = {split: with_classes(made_answers(0.8), (0.06, 0.1)) for split in range(6)}
    comparison = made_comparison({"emsco": answers})
    offers = comparison.baselines[0].offers
    without_b = Baseline(offers, np.array([100, 0]), np.array([1.0, 0.0]))
    comparison = replace(comparison, baselines={**comparison.baselines, 5: without_b})
    emsco, _ = recall_table(comparison, margins=True).lines
    assert emsco[2] == "75.0 ± 0.0"


def test_recall_is_shown_where_a_rival_is_advised():
    answers = {
        "emsco": over_splits(0.8),
        "cstc": over_splits(better_at_large_budgets, NOISE[::-1]),
    }
    comparison = made_comparison(
        {
            method: {split: with_classes(one, (0.1, 0.1)) for split, one in by_split.items()}
            for method, by_split in answers.items()
        }
    )
    assert recall_table(comparison).title.endswith("at most 20 %")


def test_of_many_classes_the_rarest_are_shown_and_long_labels_are_cut():
    few = made_comparison({"emsco": {0: with_classes(made_answers(0.76), (0.01,) * 12)}})
    commonest = replace(few.baselines[0].offers[0], seen=few.answers["emsco"][0].offers[0].seen)
    n_rows = np.arange(12)
    comparison = replace(
        few,
        classes=tuple(f"a long label {i}" for i in range(12)),
        baselines={0: Baseline((commonest,), n_rows, n_rows / n_rows.sum())},
    )
    table = recall_table(comparison, 50)
    assert table.note.endswith("The 10 rarest of 12 classes; the JSON file has all.")
    assert (table.classes[0], len(table.classes)) == ("a lo… (0)", 10)
    assert table.lines[0][:3] == ("emsco", "–", "34.0")  # of the first class there is no row
    recall = ComparisonReport(comparison).to_dict()["methods"]["emsco"]["answers"][0]["recall"]
    assert (recall["a long label 0"], len(recall)) == (None, 12)


def test_methods_that_are_not_installed_share_a_sentence():
    answers = {
        "emsco": {0: made_answers(0.8)},
        "catboost": {0: Answers((), str(not_installed("catboost")), 0.1)},
        "cost_aware_boosting": {0: Answers((), str(not_installed("lightgbm")), 0.1)},
        "fixed_subset": {0: Answers((), str(not_installed("lightgbm")), 0.1)},
        "astc": {0: Answers((), "two classes only.", 0.1)},
    }
    assert ComparisonReport(made_comparison(answers)).summary()[-2:] == [
        "ASTC was left out: two classes only.",
        "Left out, not installed: CatBoost (pip install catboost), CEGB and fixed subset "
        "(pip install lightgbm).",
    ]


def test_tables_have_margins_from_five_splits_on(level):
    assert "| **EMSCO** | 80.0 ± 0.4 (80.0) |" in ComparisonReport(level).to_markdown()
    few = {"emsco": over_splits(0.8, NOISE[:4]), "cstc": over_splits(0.8, NOISE[:4])}
    text = ComparisonReport(made_comparison(few)).to_markdown()
    assert "±" not in text
    assert "| CSTC | 0.00 (1, level) |" in text


def test_one_split_has_no_tests():
    comparison = made_comparison({"emsco": {0: made_answers(0.8)}, "cstc": {0: made_answers(0.7)}})
    report = ComparisonReport(comparison)
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
    assert "ead of EMSCO" not in ComparisonReport(made_comparison(answers)).to_markdown()


def with_totals(by_split, wrong, promised):
    """The same answers, and one of the lowest total whose share of wrong labels is `wrong`."""
    offers = {}
    for split, answers in by_split.items():
        seen = Seen(1.0, 1 - wrong - NOISE[split] / 10, 2.0)
        promise = Objectives(1.0, 0.9, 2.0)
        lowest = Offer(ANYTHING, "made up", promise, seen, LOWEST_TOTAL, promised)
        offers[split] = replace(answers, offers=(*answers.offers, lowest))
    return offers


@pytest.mark.parametrize("n_splits", [10, 1])
def test_methods_are_ranked_by_their_totals_if_errors_have_a_price(n_splits):
    wrong = {"cstc": 0.2, "emsco": 0.1, "astc": 0.1001}
    answers = {
        method: with_totals(over_splits(0.8, NOISE[:n_splits]), share, promised=2.9)
        for method, share in wrong.items()
    }
    comparison = made_comparison(answers)
    report = ComparisonReport(comparison)
    assert list(comparison.lowest_totals) == ["emsco", "astc", "cstc"]
    ranked, *others = report.summary()
    costs = "10 for an error and 0 for a rejection"
    totals = "EMSCO 3, ASTC 3.001, CSTC 4" if n_splits > 1 else "EMSCO 2.999, ASTC 3, CSTC 3.999"
    assert ranked == f"By the mean total of a row, with {costs}: {totals}."
    told = ["One split cannot tell methods apart."]
    told = ["EMSCO is below CSTC beyond chance."] if n_splits > 1 else told
    kept = totals[6:].split(",")[0]
    promised = f"EMSCO promised a total of 2.9 and kept {kept}."
    advice = "Use EMSCO: its total is the lowest, which may be chance."
    assert others == [*told, advice, promised]
    lines = report.to_markdown().split("## Lowest mean total of a row")[1].splitlines()
    names = [line.split(" | ")[0] for line in lines if line.startswith("| ")]
    assert names[2:6] == ["| **EMSCO**", "| ASTC", "| CSTC", "| nothing bought"]
    assert "Nothing bought: 'a' for everyone." in report.to_markdown()
    plain = report.to_dict()
    assert [one["method"] for one in plain["totals"]] == ["emsco", "astc", "cstc"]
    assert plain["nothing"]["total"] == pytest.approx(4)
    assert (plain["totals"][2]["mean_rank"], plain["totals"][2]["rank_margin"]) == (3, 0)
    totals, *_ = draw_comparison(comparison).axes
    assert totals.get_title("left") == "Lowest mean total of a row"


@pytest.mark.parametrize(
    ("wrong", "n_splits", "advice"),
    [
        (0.08, 10, "Use CSTC: its total is the lowest."),
        (0.0999, 1, "Use EMSCO or CSTC, whose total is lower by 0.001, which may be chance."),
        (0.08, 1, "Use EMSCO or CSTC, whose total is lower by 0.2, which may be chance."),
    ],
)
def test_a_rival_with_a_lower_total_is_recommended(wrong, n_splits, advice):
    answers = {
        method: with_totals(over_splits(0.8, NOISE[:n_splits]), share, promised=2.9)
        for method, share in {"emsco": 0.1, "cstc": wrong}.items()
    }
    *_, said, rival, emsco = ComparisonReport(made_comparison(answers)).summary()
    assert said == advice
    assert rival.startswith("CSTC promised a total of 2.9 and kept ")
    assert emsco.startswith("EMSCO promised a total of 2.9 and kept ")


def test_totals_that_no_method_lowers_are_said_so():
    answers = {"emsco": with_totals(over_splits(0.8, NOISE[:2]), 0.3, promised=2.9)}
    answers["cstc"] = answers["emsco"]
    assert ComparisonReport(made_comparison(answers)).summary()[2] == (
        "No method has a lower total than buying nothing. Nothing bought: 'a' for everyone."
    )


def test_money_says_what_errors_and_rejections_cost(level):
    text = ComparisonReport(level).to_markdown()
    assert "% of everything (10), with 10 for an error and 0 for a rejection." in text
    prices = ErrorCosts.from_parameters(10.0, 2.0)
    text = ComparisonReport(replace(level, error_costs=prices)).to_markdown()
    assert "with 10 for an error and 2 for a rejection." in text
