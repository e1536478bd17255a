"""The quick yardstick: cells and verdicts worked out by hand, files refused, and a tiny run."""

from __future__ import annotations

import json
import sys

import bakeoff
import numpy as np
import pytest
import yardstick
from yardstick import BUDGETS, OURS, Trial, gain, read, tally, verdict

from emsco_lab.compare import answer_with_rival


def trial(rows, seed=0, n_fitted=80):
    """Rows of two classes that the second column tells apart well, and the first one less so."""
    rng = np.random.default_rng(seed)
    drawn = []
    for n in (n_fitted, len(rows)):
        y = np.arange(n) % 2
        drawn += [rng.normal(size=(n, 3)) + y[:, None] * [1.0, 3.0, 0.0], y]
    prices = {"cheap": 1.0, "dear": 3.0, "noise": 9.0}
    return Trial(*drawn, np.asarray(rows), prices, {"visit": (2.0, ["cheap", "dear"])})


def answers(*correct, data=""):
    """Results of a split: the same rows are correct at every budget but those given last."""
    first, last = correct[0], correct[-1]
    bits = dict.fromkeys(BUDGETS, first) | {"40 %": last}
    seen = {
        budget: {"correct": np.packbits(one).tobytes().hex(), "accuracy": np.mean(one), "cost": 1.0}
        for budget, one in bits.items()
    }
    return {"data": data, "seconds": 2.0, **seen, "deployed": seen["2 %"]}


def test_a_row_that_two_splits_test_counts_once():
    trials = {"toy": [trial([0, 1, 2, 3]), trial([2, 3, 4, 5])]}
    one = {"toy": [answers([1, 1, 1, 1]), answers([1, 0, 0, 0])]}
    other = {"toy": [answers([0, 0, 0, 0]), answers([0, 0, 0, 0])]}
    mean, error = gain("toy", trials, one, [other], ["2 %"])
    assert mean == pytest.approx((1 + 1 + 1 + 0.5 + 0 + 0) / 6)
    assert error == pytest.approx(np.std([1, 1, 1, 0.5, 0, 0], ddof=1) / np.sqrt(6))


def test_budgets_and_rivals_of_a_row_are_averaged_before_its_error():
    trials = {"toy": [trial(range(4))]}
    one = {"toy": [answers([1, 1, 1, 0], [1, 1, 1, 1])]}
    weak, strong = {"toy": [answers([0, 0, 0, 0])]}, {"toy": [answers([1, 1, 1, 1])]}
    mean, error = gain("toy", trials, one, [weak, strong], ["2 %", "40 %"])
    assert mean == pytest.approx(3.5 / 4 - 0.5)
    assert error == pytest.approx(np.std([0.5, 0.5, 0.5, 0], ddof=1) / 2)


def test_a_difference_is_beyond_chance_from_1_96_standard_errors_on():
    assert [verdict(mean, 1.0) for mean in (2.0, 1.9, 0.0, -1.9, -2.0)] == [1, 0, 0, 0, -1]
    assert [verdict(mean, 0.0) for mean in (0.1, 0.0, -0.1)] == [1, 0, -1]


def test_the_last_line_counts_cells_and_weighs_sets_alike():
    trials = {"large": [trial(range(8))], "small": [trial(range(4))]}
    one = {"large": [answers([1] * 8)], "small": [answers([0, 0, 1, 1])]}
    other = {"large": [answers([0] * 8)], "small": [answers([1, 1, 0, 1])]}
    # A gain of 1 without error, and one of -0.25 on four rows.
    error = np.std([-1, -1, 1, 0], ddof=1) / 2 / 2
    assert tally(trials, one, [other], ("wins", "ties", "losses")) == (
        f"yardstick: 5 wins, 5 ties, 0 losses beyond chance; +37.50 ± {100 * error:.2f} points"
    )


def test_other_files_and_other_data_are_refused_in_a_sentence(tmp_path):
    trials, path = {"toy": [trial(range(4))]}, tmp_path / "run.json"
    known = {OURS: {"toy": [answers([1] * 4, data=trials["toy"][0].digest())]}}
    for text in ("", "[]", "{}", '{"methods": {"CEGB": {}}}', '{"methods": {"EMSCO": {}}}'):
        path.write_text(text)
        with pytest.raises(SystemExit, match=r"run\.json must have a yardstick of EMSCO\.$"):
            read(path, trials, OURS)
    path.write_text(json.dumps({"methods": known}))
    assert read(path, trials, OURS) == [known[OURS]]
    with pytest.raises(SystemExit, match=r"must be of all the rows, splits and costs"):
        read(path, {"toy": [trial(range(4), seed=1)]}, OURS)
    with pytest.raises(SystemExit, match=r"must have every fit, but its run was stopped"):
        read(path, {"toy": [trial(range(4)), trial(range(4))]}, OURS)
    with pytest.raises(SystemExit, match=r"but there is none\.$"):
        read(tmp_path / "none.json", trials, OURS)


@pytest.mark.parametrize("part", ["X", "y", "X_test", "y_test", "rows", "prices", "fees"])
def test_the_digest_covers_all_that_results_depend_on(part):
    one = trial(range(4))
    value = getattr(one, part)
    other = {"more": 1.0} if isinstance(value, dict) else value + 1
    assert one._replace(**{part: other}).digest() != one.digest()


def test_kept_results_are_of_the_data_of_now():
    trials = yardstick.all_trials()
    read(yardstick.KEPT, trials, *yardstick.RIVALS)
    read(yardstick.KEPT.parent / "yardstick-0.3.json", trials, OURS)


def test_a_run_keeps_answers_row_by_row_and_is_compared_with_itself(monkeypatch, tmp_path, capsys):
    def command(*words):
        monkeypatch.setattr(sys, "argv", ["bakeoff", "--quick", *map(str, words)])
        bakeoff.main()
        return capsys.readouterr().out

    monkeypatch.setattr(yardstick, "SETS", {"toy": lambda split: trial(range(60), split)})
    monkeypatch.setattr(yardstick, "SPLITS", 1)
    monkeypatch.setattr(yardstick, "KEPT", tmp_path / "rivals.json")
    monkeypatch.setattr(yardstick, "RIVALS", {"CEGB": "cost_aware_boosting"})
    monkeypatch.setattr(yardstick, "MAX_SETTINGS", 2)
    out = tmp_path / "now.json"
    command("--rivals")
    said = command("--out", out)
    assert " ties" in said.splitlines()[-1]
    assert said.endswith(" for 1 fits\n")
    (results,) = read(out, yardstick.all_trials(), OURS)[0]["toy"]
    for budget, share in BUDGETS.items():
        right = np.unpackbits(np.frombuffer(bytes.fromhex(results[budget]["correct"]), np.uint8))
        assert right[:60].mean() == results[budget]["accuracy"]
        assert results[budget].get("scored", [1, 0, 0])[2] <= share * 15
    assert results["everything"]["kept"][0::2] == [1.0, 15.0]
    again = command("--known", "--out", out, "--against", out).splitlines()[-1]
    assert again == (
        "yardstick: 0 better, 5 equal, 0 worse beyond chance; +0.00 ± 0.00 points; "
        "CPU s × 1.00; 6 of 6 answers identical"
    )


def test_rows_of_a_rival_that_are_correct_are_told(monkeypatch):
    offers = []

    def remembered(*given):
        offers.extend(answer_with_rival(*given))
        return offers

    monkeypatch.setattr(yardstick, "answer_with_rival", remembered)
    monkeypatch.setattr(yardstick, "MAX_SETTINGS", 3)
    told = yardstick.rival("cost_aware_boosting", trial(range(60)), 0)
    accuracies = [told[budget]["accuracy"] for budget in BUDGETS]
    assert accuracies == pytest.approx([offer.seen.accuracy for offer in offers])
    assert max(accuracies) > 0.6
