"""A contest in sentences: who wins where, what to use, and what was promised and kept."""

from __future__ import annotations

from collections.abc import Sequence

from emsco.studies.contest_duels import BEHIND, Duel, promise_of, task_duels
from emsco.studies.contest_records import EVERYONE, MOST, TASKS, TESTED, Contest, Task
from emsco.studies.contests import EMSCO, label_of

__all__ = ["and_words", "budget_words", "summary_of"]

_CASES = {
    EVERYONE: "If every row needs an answer",
    MOST: "If a tenth of the rows may be rejected",
}
_WHERE = {EVERYONE: "if every row needs an answer", MOST: "if a tenth may be rejected"}
_DIGITS = 9  # beyond these digits, means differ by rounding alone


def summary_of(contest: Contest) -> list[str]:
    """Three sentences about a contest, and one for each method that was left out."""
    left_out = [f"{label_of(name)} was left out: {why}" for name, why in contest.left_out.items()]
    if not contest.methods:
        return ["No method could run.", *left_out]
    if len(contest.methods) == 1:
        return [*_alone(contest), *left_out]
    return [*(_winners(contest, task) for task in TASKS), _advice(contest), *left_out]


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
    parts, everyone = [], len(contest.methods)
    for i, (winners, budgets) in enumerate(places.items()):
        what = "a mean cost of at most " if i == 0 else ""
        where = f"at {what}{budget_words(budgets)}{' of everything' if i == 0 else ''}"
        names = and_words([label_of(method) for method in winners])
        verb = "are level" if len(winners) > 1 else "is most accurate"
        parts.append(f"{'all methods' if len(winners) == everyone else names} {verb} {where}")
    return f"{_CASES[task]}, {'; '.join(parts)}."


def _advice(contest: Contest) -> str:
    """Say what to use, and what was promised and kept."""
    if EMSCO not in contest.methods:
        return f"EMSCO did not take part; {_kept(contest, contest.methods)}."
    found = {task: task_duels(contest, task) for task in TASKS}
    behind = _better_rivals(found, beyond_chance=True)
    perhaps = _better_rivals(found, beyond_chance=False)
    parts = [_use(behind, perhaps, found)]
    if perhaps:
        verb = f"{'also ' if behind else ''}more accurate on average"
        names = and_words([f"{rival} is {verb} {places}" for rival, places in perhaps.items()])
        one = len(contest.splits) == 1
        parts.append(f"{names}, but {'one split cannot tell' if one else 'that may be chance'}")
    named = [one for one in contest.methods if one == EMSCO or label_of(one) in behind]
    return f"{'; '.join([*parts, _kept(contest, named)])}."


def _use(behind: dict[str, str], perhaps: dict[str, str], found: dict[Task, list[Duel]]) -> str:
    """Recommend EMSCO, or rivals that are better beyond chance."""
    if behind:
        rivals = and_words([f"{rival} {places}" for rival, places in behind.items()])
        return f"Use {rivals}, where it beats EMSCO beyond chance, and EMSCO elsewhere"
    if perhaps:
        return "Use EMSCO"
    ahead = sum(duel.verdict == "ahead" for duels in found.values() for duel in duels)
    total = sum(map(len, found.values()))
    beyond = f", and it is ahead beyond chance in {ahead} of {total} comparisons" if ahead else ""
    return f"Use EMSCO: no rival is more accurate{beyond}"


def _better_rivals(found: dict[Task, list[Duel]], beyond_chance: bool) -> dict[str, str]:
    """Places where the best rival beats EMSCO, beyond chance or not, in words by rival."""
    places: dict[str, dict[Task, list[float]]] = {}
    for task, duels in found.items():
        for budget in TESTED:
            here = [duel for duel in duels if duel.budget == budget and duel.gain < 0]
            sure = [duel for duel in here if duel.verdict == BEHIND]
            chosen = sure if beyond_chance else [] if sure else here
            if chosen:
                best = label_of(min(chosen, key=lambda duel: duel.gain).rival)
                places.setdefault(best, {}).setdefault(task, []).append(budget)
    return {
        rival: and_words([f"at {budget_words(on)} {_WHERE[task]}" for task, on in tasks.items()])
        for rival, tasks in places.items()
    }


def _kept(contest: Contest, methods: Sequence[str]) -> str:
    """What methods promised on average, and what they kept."""
    parts = []
    for method in methods:
        one = promise_of(contest, method)
        parts.append(
            f"{label_of(method)} promised {100 * one.promised:.1f} % accuracy "
            f"and kept {100 * one.kept:.1f} %"
        )
    return f"on average {and_words(parts)}"


def _alone(contest: Contest) -> list[str]:
    """Sentences about the only method that ran."""
    (method,) = contest.methods
    lines = []
    for task in TASKS:
        figures = [f"{100 * contest.standings[method, one].mean:.1f} %" for one in task.questions]
        lines.append(
            f"{_CASES[task]}, {label_of(method)} is {and_words(figures)} correct "
            f"at mean costs of at most {budget_words(TESTED)} of everything."
        )
    return [*lines, f"No other method took part; {_kept(contest, contest.methods)}."]
