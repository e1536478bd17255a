"""The oracle: problems, the words of versions, and what it says of a difference."""

import subprocess
import sys

import oracle
import pytest


def test_a_problem_is_the_same_every_time_and_problems_have_everything():
    assert str(oracle.drawn(3)) == str(oracle.drawn(3)) != str(oracle.drawn(4))
    drawn = [oracle.drawn(number) for number in range(60)]
    assert all(
        any(holds(one) for one in drawn)
        for holds in (
            lambda one: one.weights is not None,
            lambda one: one.groups is not None,
            lambda one: one.costs.fees and one.costs.delays.any(),
            lambda one: one.costs.groups,
            lambda one: one.prices,
            lambda one: one.rows.isna().any(axis=None),
            lambda one: "error_cost" in one.settings,
            lambda one: len({*one.y}) > 6,
        )
    )


def test_settings_are_said_in_the_words_of_the_installed_version(monkeypatch):
    class Later:
        def __init__(self, costs=None, *, search="auto", constraints=None):
            """Like the classifier of 0.4."""

    flat = {"search": "evolution", "population_size": 9, "generations": 3}
    flat["constraints"] = {"buy_all": True}
    said = oracle.spelled(flat)
    assert not said["allow_exclusion"]
    assert said["constraints"] == {}
    monkeypatch.setattr(oracle.emsco, "EMSCOClassifier", Later)
    monkeypatch.setattr(oracle.emsco, "EvolutionSearch", dict, raising=False)
    sizes = {"population_size": 9, "generations": 3}
    assert oracle.spelled(flat) == {"search": sizes, "constraints": {"buy_all": True}}


@pytest.fixture
def said():
    return {"problem": "p", "facts": {"front": ["a", "b"], "labels": "010"}}


def test_what_differs_is_named_by_section(said):
    assert oracle.compared(said, said) == {}
    other = {**said, "facts": {**said["facts"], "labels": "011"}}
    assert oracle.compared(said, other) == {"labels": "1 of 3 differ, first 0 → 1"}
    refused = {"problem": "p", "refused": "CostsError", "sentence": "costs must be known."}
    assert oracle.compared(said, refused)["refused"] == "a fit → costs must be known."
    assert oracle.compared(refused, {**refused, "sentence": "costs must be there."}) == {}
    assert "draw different rows" in oracle.compared(said, {**said, "problem": "q"})["problem"]


def test_two_processes_of_one_version_agree(monkeypatch, capsys):
    monkeypatch.setattr(oracle, "installed", lambda _: sys.executable)
    monkeypatch.setattr("sys.argv", ["oracle.py", "--first", "3", "--count", "2"])
    assert oracle.main() == 0
    assert "2 of 2 problems are equal beside 1d0f24e" in capsys.readouterr().out


def test_a_commit_that_is_none_or_cannot_be_installed_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(oracle, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"^--commit must name a commit of this repository, got"):
        oracle.installed("no_such")
    me = ["-c", "user.name=me", "-c", "user.email=me@here"]
    for words in (["init", "-q"], [*me, "commit", "-q", "--allow-empty", "-m", "nothing"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    with pytest.raises(SystemExit, match=r"^HEAD must be installed to compare with it, but"):
        oracle.installed("HEAD")
