"""A contest in sentences: who wins where, what to use, and what was promised and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from emsco.lab.contest_duels import (
    AHEAD,
    BEHIND,
    Duel,
    mean_ranks,
    promise_of,
    task_duels,
    task_ranks,
)
from emsco.lab.contest_records import EVERYONE, MOST, TASKS, TESTED, Contest, Standing, Task
from emsco.lab.contests import EMSCO, label_of

_CASES = {
    EVERYONE: "If every row needs an answer",
    MOST: "If a tenth of the rows may be rejected",
}
_WHERE = {EVERYONE: "if every row needs an answer", MOST: "if a tenth may be rejected"}
_DIGITS = 3  # accuracies are shown to a tenth of a point; nearer ones are called level
# Limits are broken clearly, not by the chance of a few rows, from here on.
_SHORT = 0.03  # coverage below the one asked for
_DEAR = 1.25  # cost, in budgets
_ROUNDING = 1e-9

Place = tuple[Task, float]


def summary_of(contest: Contest) -> list[str]:
    """Four sentences about a contest, and one for each method with missing answers.

    They say who leads in each task, what to use, and what was promised and kept.
    """
    missing = [f"{label_of(name)} was left out: {why}" for name, why in contest.left_out.items()]
    for name, (n_splits, why) in contest.missing.items():
        also = f"{label_of(name)} gave no answer on {n_splits} of its splits, which are left out"
        missing.append(f"{also}: {why}")
    if not contest.methods:
        return ["No method could run.", *missing]
    if len(contest.methods) == 1:
        return [*_alone(contest), *missing]
    leads = [_winners(contest, task) for task in TASKS]
    return [*leads, _advice(contest), _kept(contest), *missing]


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
    """Say what to use, and whether differences are beyond chance."""
    if EMSCO not in contest.methods:
        return _advice_among_rivals(contest)
    duels = {task: task_duels(contest, task) for task in TASKS}
    if sure := _best_rivals(duels, lambda duel: duel.verdict == BEHIND):
        return _use_rivals(contest, sure, duels)
    verdicts = [duel.verdict for own in duels.values() for duel in own]
    n_won, doubt = verdicts.count(AHEAD), _doubt(contest, "no difference is beyond chance")
    won = f"it leads beyond chance in {n_won} of {len(verdicts)} comparisons"
    better = _best_rivals(duels, lambda duel: round(duel.gain, _DIGITS) < 0)
    if not better:
        return f"Use EMSCO: no rival is more accurate, {f'and {won}' if n_won else f'but {doubt}'}."
    (first, at), *others = _rivals_in_words(contest, better)
    lead = and_words([f"{first} is more accurate {at}", *map(" ".join, others)])
    if n_won:
        return f"Use EMSCO: {won}; {lead}, but that may be chance."
    return f"Use EMSCO or the leader at your budget: {lead}, but {doubt}."


def _doubt(contest: Contest, otherwise: str) -> str:
    return "one split cannot tell methods apart" if len(contest.splits) == 1 else otherwise


def _use_rivals(
    contest: Contest, sure: Mapping[str, list[Place]], duels: Mapping[Task, list[Duel]]
) -> str:
    """Recommend the rivals that are better than EMSCO beyond chance."""
    rivals = [" ".join(words) for words in _rivals_in_words(contest, sure)]
    beats = "it beats" if len(rivals) == 1 else "they beat"
    lost = {
        (task, duel.budget) for task, own in duels.items() for duel in own if duel.verdict == BEHIND
    }
    n_named = sum(map(len, sure.values()))
    rest = ", and EMSCO elsewhere" if n_named < len(TASKS) * len(TESTED) else ""
    rest += " unless the tables call it behind" if n_named < len(lost) else ""
    return f"Use {and_words(rivals)}, where {beats} EMSCO beyond chance{rest}."


def _advice_among_rivals(contest: Contest) -> str:
    """Name the methods of the best mean rank."""
    leaders = {}
    for task in TASKS:
        best = _leaders(contest, task)
        everyone = len(best) == len(contest.methods)
        leaders[task] = "any method" if everyone else " or ".join(map(label_of, best))
    names = list(dict.fromkeys(leaders.values()))
    parts = [f"{name} {_WHERE[task]}" for task, name in leaders.items()]
    use = names[0] if len(names) == 1 else and_words(parts)
    doubt = _doubt(contest, "leads are tested only against EMSCO")
    return f"Use {use}, by mean ranks over all budgets, but {doubt}."


def _leaders(contest: Contest, task: Task) -> list[str]:
    """Methods of the best mean rank over all budgets."""
    ranks = mean_ranks(task_ranks(contest, task).values())
    return [method for method, rank in ranks.items() if rank == min(ranks.values())]


def _best_rivals(
    duels: Mapping[Task, list[Duel]], better: Callable[[Duel], bool]
) -> dict[str, list[Place]]:
    """Places of the rival that is better than EMSCO at the most budgets of a task."""
    found: dict[str, list[Place]] = {}
    for task, own in duels.items():
        leads: dict[str, list[Duel]] = {}
        for duel in filter(better, own):
            leads.setdefault(duel.rival, []).append(duel)
        if leads:
            gains = {rival: sum(duel.gain for duel in some) for rival, some in leads.items()}
            best = min(leads, key=lambda rival: (-len(leads[rival]), gains[rival]))
            places = [(task, duel.budget) for duel in leads[best] if duel.budget is not None]
            found.setdefault(best, []).extend(places)
    return found


def _rivals_in_words(contest: Contest, rivals: Mapping[str, list[Place]]) -> list[tuple[str, str]]:
    """Name of each rival, and where it is better."""
    return [
        (label_of(rival), f"{_places(places)}{_but(contest, rival, places)}")
        for rival, places in rivals.items()
    ]


def _places(places: Sequence[Place]) -> str:
    """Budgets by task, in words."""
    by_task: dict[Task, list[float]] = {}
    for task, budget in places:
        by_task.setdefault(task, []).append(budget)
    return and_words(
        [
            f"at {'every budget' if len(on) == len(TESTED) else budget_words(on)} {_WHERE[task]}"
            for task, on in by_task.items()
        ]
    )


def _but(contest: Contest, rival: str, places: Sequence[Place]) -> str:
    """Coverage of a rival that answers clearly fewer test rows than asked, in brackets."""
    own = [contest.standing(rival, task.coverage, budget) for task, budget in places]
    short = [one.coverage.mean() for one in own if _is_short(one)]
    return f" (answers only {100 * min(short):.0f} %)" if short else ""


def breaks_limits(one: Standing) -> bool:
    """Whether a method answered clearly fewer test rows than asked, or spent clearly more."""
    return _is_short(one) or _is_overspent(one)


def _is_short(one: Standing) -> bool:
    return bool(one.question.coverage - one.coverage.mean() > _SHORT + _ROUNDING)


def _is_overspent(one: Standing) -> bool:
    return bool(one.cost.mean() > _DEAR * one.question.budget + _ROUNDING)


def broken_limits(contest: Contest, task: Task) -> list[str]:
    """Sentences that name methods clearly beyond the limits of a task on test rows.

    Coverage counts from 3 points below the one asked for, cost from a quarter above the budget.
    Each method has its worst figure.
    """
    few, spends = [], []
    for method in contest.methods:
        own = [contest.standings[method, question] for question in task.questions]
        if short := [float(one.coverage.mean()) for one in own if _is_short(one)]:
            few.append(f"{label_of(method)} {100 * min(short):.1f} %")
        worst = max(own, key=lambda one: one.cost.mean() / one.question.budget)
        if _is_overspent(worst):
            cost, budget = float(worst.cost.mean()), worst.question.budget
            allowed = f"where {100 * budget:g} % is allowed"
            spends.append(f"{label_of(method)} spends {100 * cost:.1f} % {allowed}")
    lines = []
    if few:
        asked = f"{100 * task.coverage:g} % was asked"
        lines.append(f"Answered at worst, of the test rows: {and_words(few)}, where {asked}.")
    return [*lines, f"On test rows {and_words(spends)}."] if spends else lines


def quick_words(contest: Contest) -> str:
    """A warning not to judge methods by a quick comparison; "" for a thorough one."""
    if not contest.quick:
        return ""
    splits = "one split, " if len(contest.splits) == 1 else ""
    return f"Quick: {splits}fewer settings, shorter searches; do not judge methods by it."


def _kept(contest: Contest) -> str:
    """What EMSCO and the recommended methods promised on average, and what they kept."""
    parts = []
    for method in _of_interest(contest):
        one = promise_of(contest, method)
        promised, kept = f"{100 * one.promised:.1f} %", f"{100 * one.kept:.1f} %"
        parts.append(f"{label_of(method)} promised {promised} accuracy and kept {kept}")
    return f"On average {and_words(parts)}."


def _of_interest(contest: Contest) -> Sequence[str]:
    """EMSCO and the rivals that are recommended in its place; without EMSCO, the leaders."""
    if EMSCO not in contest.methods:
        return list(dict.fromkeys(one for task in TASKS for one in _leaders(contest, task)))
    duels = {task: task_duels(contest, task) for task in TASKS}
    sure = _best_rivals(duels, lambda duel: duel.verdict == BEHIND)
    return [one for one in contest.methods if one == EMSCO or one in sure]


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
    return [*lines, "No other method took part.", _kept(contest)]
