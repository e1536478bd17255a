"""A contest in sentences: who wins where, what to use, and what was promised and kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco.studies.contest_duels import AHEAD, BEHIND, Duel, promise_of, task_duels
from emsco.studies.contest_records import EVERYONE, MOST, TASKS, TESTED, Contest, Task
from emsco.studies.contests import EMSCO, label_of
from emsco.studies.questions import Question

__all__ = ["and_words", "budget_words", "summary_of"]

_CASES = {
    EVERYONE: "If every row needs an answer",
    MOST: "If a tenth of the rows may be rejected",
}
_WHERE = {EVERYONE: "if every row needs an answer", MOST: "if a tenth may be rejected"}
_DIGITS = 3  # accuracies are shown to a tenth of a point; nearer ones are called level
_NOTABLE = 0.02  # coverage below the one asked for that a reader should know of

Place = tuple[Task, float]


def summary_of(contest: Contest) -> list[str]:
    """Three sentences about a contest, and one for each method with missing answers."""
    missing = [f"{label_of(name)} was left out: {why}" for name, why in contest.left_out.items()]
    for name, (n_splits, why) in contest.missing.items():
        also = f"{label_of(name)} gave no answer on {n_splits} of its splits, which are left out"
        missing.append(f"{also}: {why}")
    if not contest.methods:
        return ["No method could run.", *missing]
    if len(contest.methods) == 1:
        return [*_alone(contest), *missing]
    return [*(_winners(contest, task) for task in TASKS), _advice(contest), *missing]


def budget_words(budgets: Sequence[float]) -> str:
    """Budgets as shares of the cost of everything.

    Examples
    --------
    >>> budget_words([0.02, 0.05, 0.4])
    '2, 5 and 40 %'
    """
    return f"{and_words([f'{100 * budget:g}' for budget in budgets])} %"


def and_words(words: Sequence[str]) -> str:
    """Words with commas and an "and" before the last.

    Examples
    --------
    >>> and_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _winners(contest: Contest, task: Task) -> str:
    """Name the methods with the best mean accuracy, and their budgets."""
    places: dict[tuple[str, ...], list[float]] = {}
    for question in task.questions:
        means = {
            method: round(contest.standings[method, question].mean, _DIGITS)
            for method in contest.methods
        }
        best = max(means.values())
        winners = tuple(method for method in means if means[method] == best)
        places.setdefault(winners, []).append(question.budget)
    parts: list[str] = []
    for winners, budgets in places.items():
        everyone = len(winners) == len(contest.methods)
        names = and_words([label_of(method) for method in winners])
        verb = "are level" if everyone else "lead together" if len(winners) > 1 else "leads"
        shares = budget_words(budgets)
        where = shares if parts else f"a mean cost of at most {shares} of everything"
        parts.append(f"{'all methods' if everyone else names} {verb} at {where}")
    return f"{_CASES[task]}, {'; '.join(parts)}."


def _advice(contest: Contest) -> str:
    """Say what to use, and what was promised and kept."""
    if EMSCO not in contest.methods:
        return f"EMSCO did not take part; {_kept(contest, contest.methods)}."
    duels = {task: task_duels(contest, task) for task in TASKS}
    sure, perhaps = (_better_rivals(duels, beyond_chance=one) for one in (True, False))
    parts = [_use(contest, sure, perhaps, duels)]
    if perhaps:
        more = "also more" if sure else "more"
        names = [
            f"{label_of(rival)} is {more} accurate {_places(places)}{_but(contest, rival, places)}"
            for rival, places in perhaps.items()
        ]
        doubt = "one split cannot tell" if len(contest.splits) == 1 else "that may be chance"
        parts.append(f"{and_words(names)}, but {doubt}")
    named = [one for one in contest.methods if one == EMSCO or one in sure]
    return f"{'; '.join([*parts, _kept(contest, named)])}."


def _use(
    contest: Contest,
    sure: dict[str, list[Place]],
    perhaps: dict[str, list[Place]],
    duels: dict[Task, list[Duel]],
) -> str:
    """Recommend EMSCO, or rivals that are better beyond chance."""
    if sure:
        rivals = [
            f"{label_of(rival)} {_places(places)}{_but(contest, rival, places)}"
            for rival, places in sure.items()
        ]
        beats = "it beats" if len(rivals) == 1 else "they beat"
        return f"Use {and_words(rivals)}, where {beats} EMSCO beyond chance, and EMSCO elsewhere"
    if perhaps:
        return "Use EMSCO"
    every = [duel.verdict for own in duels.values() for duel in own]
    won = f", and it leads beyond chance in {every.count(AHEAD)} of {len(every)} comparisons"
    return f"Use EMSCO: no rival is more accurate{won if AHEAD in every else ''}"


def _better_rivals(duels: dict[Task, list[Duel]], *, beyond_chance: bool) -> dict[str, list[Place]]:
    """Places where a rival is better than EMSCO, by the best rival there."""
    found: dict[str, list[Place]] = {}
    for task, own in duels.items():
        for budget in TESTED:
            here = [duel for duel in own if duel.budget == budget]
            sure = [duel for duel in here if duel.verdict == BEHIND]
            likely = [] if sure else [duel for duel in here if round(duel.gain, _DIGITS) < 0]
            if chosen := sure if beyond_chance else likely:
                best = min(chosen, key=lambda duel: duel.gain).rival
                found.setdefault(best, []).append((task, budget))
    return found


def _places(places: Sequence[Place]) -> str:
    """Budgets by task, in words."""
    by_task: dict[Task, list[float]] = {}
    for task, budget in places:
        by_task.setdefault(task, []).append(budget)
    return and_words([f"at {budget_words(on)} {_WHERE[task]}" for task, on in by_task.items()])


def _but(contest: Contest, rival: str, places: Sequence[Place]) -> str:
    """Coverage of a rival that labels clearly fewer test rows than asked, in brackets."""
    own = [contest.standings[rival, Question(task.coverage, budget)] for task, budget in places]
    if float(np.mean([one.short for one in own])) < _NOTABLE:
        return ""
    coverage = min(float(one.coverage.mean()) for one in own)
    return f" (though it labels only {100 * coverage:.0f} % of the test rows)"


def _kept(contest: Contest, methods: Sequence[str]) -> str:
    """What methods promised on average, and what they kept."""
    parts = []
    for method in methods:
        one = promise_of(contest, method)
        promised, kept = f"{100 * one.promised:.1f} %", f"{100 * one.kept:.1f} %"
        parts.append(f"{label_of(method)} promised {promised} accuracy and kept {kept}")
    return f"on average {and_words(parts)}"


def _alone(contest: Contest) -> list[str]:
    """Sentences about the only method that ran."""
    (method,) = contest.methods
    lines = []
    for task in TASKS:
        figures = [f"{100 * contest.standings[method, one].mean:.1f}" for one in task.questions]
        lines.append(
            f"{_CASES[task]}, {label_of(method)} is {and_words(figures)} % correct "
            f"at mean costs of at most {budget_words(TESTED)} of everything."
        )
    return [*lines, f"No other method took part; {_kept(contest, contest.methods)}."]
