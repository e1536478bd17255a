"""A comparison in sentences, as tables and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emsco._base.text import counted, shorten
from emsco._base.typing import FloatArray
from emsco.errors import command_to_install
from emsco.stats.error_costs import ErrorCosts, plain_costs
from emsco_lab.compare import (
    EVERYONE,
    MOST,
    TASKS,
    TESTED,
    TOTAL,
    VOLUME,
    MethodComparison,
    Task,
)
from emsco_lab.methods import COMMONEST, EMSCO, NOTHING, label_of
from emsco_lab.standings import AHEAD, BEHIND, DIGITS, Duel, Standing, margin_of, mean_ranks
from emsco_lab.trials import BUDGETS

MARGIN_SPLITS = 5  # margins of fewer splits are too wide to tell anything
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
_RECALL_BUDGET = 0.1  # of the table of recall, unless the advice names others
_MAX_CLASSES = 10  # in the table of recall

Place = tuple[Task, float]


@dataclass(frozen=True, eq=False)
class ComparisonReport:
    """A comparison in words and tables."""

    comparison: MethodComparison

    def summary(self) -> list[str]:
        """The findings in four sentences, and who was left out.

        They say who leads in each task, what to use, and what was promised and kept.
        """
        comparison = self.comparison
        missing = [
            *_left_out(comparison),
            *(
                f"{label_of(name)} gave no answer on {n_splits} of its splits, "
                f"which are left out: {why}"
                for name, (n_splits, why) in comparison.missing.items()
            ),
        ]
        if not comparison.methods:
            return ["No method could run.", *missing]
        if len(comparison.methods) == 1:
            return [*_alone(comparison), *missing]
        if comparison.lowest_totals:
            return [*_by_total(comparison), *missing]
        leads = [_winners(comparison, task) for task in TASKS]
        return [*leads, _advice(comparison), _kept(comparison), *missing]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        comparison, costs = self.comparison, self.comparison.error_costs
        methods: dict[str, dict[str, Any]] = {}
        for method in comparison.methods:
            promise, volumes = comparison.promises[method], comparison.volumes[method]
            methods[method] = {
                "label": label_of(method),
                "seconds": round(comparison.seconds(method), 3),
                "answers": [
                    {"asked": asdict(question), **self._plain_standing(standing)}
                    for (name, question), standing in comparison.standings.items()
                    if name == method
                ],
                "hypervolume": {
                    "mean": float(volumes.mean()),
                    "margin": margin_of(volumes),
                    "by_split": volumes.tolist(),
                },
                "mean_rank": {
                    task: mean_ranks(cells.values())[method]
                    for task, cells in comparison.ranks.items()
                },
                "promise": {**asdict(promise), "gap": promise.gap, "in_errors": promise.in_errors},
            }
        tested = len(comparison.splits) > 1  # else a duel has neither test nor verdict
        return {
            "data": comparison.name,
            "rows": dict(zip(("fitted", "test"), comparison.n_rows, strict=True)),
            "splits": list(comparison.splits),
            "quick": comparison.quick,
            "total_cost": comparison.total_cost,
            "error_cost": _plain_error_cost(costs),
            "reject_cost": _plain_price(costs, costs.costs[:, -1].tolist())
            if costs.may_reject
            else None,
            "classes": [
                {"label": plain_costs(label), "test_rows": n_rows}
                for label, n_rows in zip(comparison.classes, comparison.class_rows, strict=True)
            ],
            "commonest": comparison.commonest.mean.accuracy,
            "nothing": self._plain_total(comparison.nothing) if comparison.lowest_totals else None,
            "totals": [
                {
                    "method": method,
                    **self._plain_total(standing),
                    "mean_rank": float(comparison.total_ranks[method].mean()),
                    "rank_margin": margin_of(comparison.total_ranks[method]),
                }
                for method, standing in comparison.lowest_totals.items()
            ],
            "methods": methods,
            "left_out": comparison.left_out,
            "duels": {
                task: [
                    {
                        "method": duel.method,
                        "rival": duel.rival,
                        "budget": duel.budget,
                        "gain": duel.gain,
                        "p_value": duel.p_value if tested else None,
                        "verdict": duel.verdict if tested else None,
                    }
                    for duel in duels
                ]
                for task, duels in comparison.duels.items()
            },
            "summary": self.summary(),
            "of": dict(comparison.of),
        }

    def _plain_total(self, standing: Standing) -> dict[str, Any]:
        """The mean total of a row that a method had, and what it promised."""
        total = standing.money(self.comparison.error_costs)
        return {
            "total": float(total.mean()),
            "margin": margin_of(total),
            "by_split": total.tolist(),
            "promised_total": float(standing.promised_total.mean()),
            "cost": standing.mean.cost * self.comparison.total_cost,
            "coverage": standing.mean.coverage,
            "accuracy": standing.mean.accuracy,
            "recall": self._plain_recall(standing),
        }

    def _plain_recall(self, standing: Standing) -> dict[str, float | None] | None:
        """Share of each class that gets its correct label; None if results have no classes."""
        recall = self.comparison.recall(standing)
        if recall is None:
            return None
        return dict(zip(map(str, self.comparison.classes), _means(recall), strict=True))

    def _plain_standing(self, standing: Standing) -> dict[str, Any]:
        """Means over splits, and the accuracy of each split."""
        money = standing.money(self.comparison.error_costs)
        return {
            "accuracy": standing.mean.accuracy,
            "promised_accuracy": float(standing.promised[:, 1].mean()),
            "coverage": standing.mean.coverage,
            "cost_share": standing.mean.cost,
            "promised_cost_share": float(standing.promised[:, 2].mean()),
            "log_loss": float(standing.log_loss.mean()),
            "money": float(money.mean()),
            "margin": standing.margin.accuracy,
            "overspent": standing.overspent,
            "coverage_short": standing.short,
            "accuracy_by_split": standing.accuracy.tolist(),
            "recall": self._plain_recall(standing),
        }

    def _duel(self, duel: Duel) -> str:
        """Gain of a duel, with test and verdict if there are several splits."""
        tested = len(self.comparison.splits) > 1
        result = f"{duel.p_value:.2g}, {duel.verdict}" if tested else "–"
        return f"{signed(duel.gain)} ({result})"

    def to_markdown(self, level: int = 1) -> str:
        """Tables of all tasks below the sentences of `summary`; headings begin at a level."""
        comparison = self.comparison
        fitted, test = comparison.n_rows
        parts = [
            f"{'#' * level} Methods on {comparison.name}: "
            f"{counted(len(comparison.splits), 'split')}, {fitted:,} fitted and {test:,} test rows",
            *filter(None, [quick_words(comparison)]),
            "\n".join(f"- {sentence}" for sentence in self.summary()),
        ]
        if comparison.lowest_totals:
            parts += [f"{'#' * (level + 1)} Lowest mean total of a row", *self._by_total()]
        if comparison.methods:
            for task in TASKS:
                parts += [f"{'#' * (level + 1)} {task.title}", *self._task(task)]
            parts += [f"{'#' * (level + 1)} Recall of each class", *self._recall()]
            parts += [f"{'#' * (level + 1)} All offers together", self._others()]
        return "\n\n".join(parts)

    def _by_total(self) -> list[str]:
        """Table of the lowest total that each method found, the lowest first."""
        comparison, spread = self.comparison, ""
        if len(comparison.splits) >= MARGIN_SPLITS:
            spread = " ± 95 % margin"
        leads = {}
        if TOTAL in comparison.duels and len(comparison.splits) > 1:
            duels = comparison.duels[TOTAL]
            leads = {one.rival: f"{one.gain:.4g} ({one.verdict})" for one in duels}
        heads, *lines = total_lines(comparison)
        table = [[_named(line[0]), *line[1:], leads.get(line[0], "")] for line in lines]
        return [
            f"Features, errors and rejections{spread}, with {comparison.error_costs}; labels and "
            f"rejections are those of least expected cost. {nothing_words(comparison)}",
            markdown_table(["method", *heads[1:], "lead of EMSCO (verdict)"], table),
        ]

    def _recall(self) -> list[str]:
        """Table of the share of each class that gets its correct label."""
        table = recall_table(self.comparison, margins=True)
        words = f"{table.title}. {table.note}"
        lines = [[_named(line[0]), *line[1:]] for line in table.lines]
        return [words, markdown_table(["method", *table.classes], lines)] if lines else [words]

    def _task(self, task: Task) -> list[str]:
        """Tables of one task: accuracy, duels, and what else was kept."""
        comparison = self.comparison
        spread = " ± 95 % margin" if len(comparison.splits) >= MARGIN_SPLITS else ""
        ranks = mean_ranks(comparison.ranks[task.key].values())
        parts = [
            f"Accuracy kept{spread} (promised), %.",
            self._table(task, _accuracy, ranks),
            *broken_limits(comparison, task),
        ]
        if duels := comparison.duels[task.key]:
            cells = {(duel.rival, duel.budget): self._duel(duel) for duel in duels}
            lines = [
                [label_of(rival), *(cells[rival, budget] for budget in TESTED)]
                for rival in dict.fromkeys(duel.rival for duel in duels)
            ]
            parts += [
                "Lead of EMSCO over each rival in points (corrected p-value, verdict).",
                markdown_table(["rival", *map(_percent, TESTED)], lines),
            ]
        parts += ["Mean cost kept, % of everything (+ overrun).", self._table(task, _cost)]
        if task.coverage < 1:
            parts += ["Coverage kept, % (- below asked).", self._table(task, _coverage)]
        total = comparison.total_cost
        return [
            *parts,
            "Log loss of labelled rows.",
            self._table(task, lambda one: f"{one.log_loss.mean():.3f}"),
            f"Mean total of a row, its errors and rejections, % of everything ({total:g}), with "
            f"{comparison.error_costs}.",
            self._table(
                task,
                lambda one: f"{100 * one.money(comparison.error_costs).mean() / total:.1f}",
            ),
        ]

    def _table(
        self,
        task: Task,
        cell: Callable[[Standing], str],
        ranks: Mapping[str, float] | None = None,
    ) -> str:
        """A table of methods by budgets, with a column of ranks if there are some."""
        lines = []
        for method in self.comparison.methods:
            standings = [self.comparison.standing(method, task.coverage, one) for one in BUDGETS]
            rank = [f"{ranks[method]:.2f}"] if ranks else []
            lines.append([_named(method), *map(cell, standings), *rank])
        constant = cell(self.comparison.commonest)
        lines.append([label_of(COMMONEST), *[constant] * len(BUDGETS), *([""] if ranks else [])])
        heads = ["method", *map(_percent, BUDGETS), *(["rank"] if ranks else [])]
        return markdown_table(heads, lines)

    def _others(self) -> str:
        """Hypervolumes, promises, overruns and seconds."""
        comparison = self.comparison
        leads = {duel.rival: self._duel(duel) for duel in comparison.duels[VOLUME]}
        lines = []
        for method in comparison.methods:
            volumes, promise = comparison.volumes[method], comparison.promises[method]
            wide = len(volumes) < MARGIN_SPLITS
            spread = "" if wide else f" ± {100 * margin_of(volumes):.2f}"
            in_errors = "" if promise.in_errors is None else f"{promise.in_errors:.1f}"
            columns = {
                "method": _named(method),
                "hypervolume, %": f"{100 * volumes.mean():.2f}{spread}",
                "lead of EMSCO": leads.get(method, ""),
                "rank": f"{comparison.ranks[VOLUME][''][method]:g}",
                "promised, %": f"{100 * promise.promised:.2f}",
                "kept, %": f"{100 * promise.kept:.2f}",
                "promised less kept": signed(promise.gap),
                "in standard errors": in_errors,
                "overspent, %": f"{100 * promise.overspent:.2f}",
                "coverage short, %": f"{100 * promise.short:.2f}",
                "seconds per split": f"{comparison.seconds(method):.1f}",
            }
            if not leads:
                del columns["lead of EMSCO"]
            lines.append(columns)
        return markdown_table(list(lines[0]), [list(columns.values()) for columns in lines])


def total_lines(comparison: MethodComparison) -> list[tuple[str, ...]]:
    """Headings, then a line for each method, the lowest total first.

    A line has the method, its mean total, the total that it promised, the cost of features,
    coverage, the share of labels that are correct, and the mean rank over splits. What costs least
    for everyone without features has a line too, without a rank.
    """
    lines: list[tuple[str, ...]] = [
        ("method", "total", "promised", "features", "labelled", "correct", "rank")
    ]
    standings = {**comparison.lowest_totals, NOTHING: comparison.nothing}
    totals = {method: one.money(comparison.error_costs) for method, one in standings.items()}
    for method in sorted(totals, key=lambda method: round(totals[method].mean(), DIGITS)):
        one = standings[method]
        labelled = one.mean.coverage
        # A split without labels has no accuracy, so shares of all rows are averaged.
        correct = (one.by_split[:, 0] * one.accuracy).mean() / (labelled or 1.0)
        ranks = comparison.total_ranks.get(method)
        lines.append(
            (
                method,
                _with_margin(totals[method], ".4g"),
                f"{one.promised_total.mean():.4g}",
                f"{one.mean.cost * comparison.total_cost:.4g}",
                f"{labelled:.1%}",
                f"{correct:.1%}" if labelled else "–",
                "" if ranks is None else _with_margin(ranks, ".2f"),
            )
        )
    return lines


def _with_margin(by_split: FloatArray, form: str) -> str:
    """Mean of figures of splits, with their margin if there are enough."""
    spread = f" ± {margin_of(by_split):.2g}" if len(by_split) >= MARGIN_SPLITS else ""
    return f"{by_split.mean():{form}}{spread}"


def nothing_words(comparison: MethodComparison) -> str:
    """Say what everyone gets where nothing is bought."""
    offers = [some[0] for some in comparison.nothing.offers.values()]
    return f"Nothing bought: {' or '.join(dict.fromkeys(one.setting for one in offers))}."


@dataclass(frozen=True, slots=True)
class RecallTable:
    """The share of each class that gets its correct label.

    Attributes
    ----------
    title : str
        Says which offers are shown.
    note : str
        Explains the table, or says why it has no lines.
    classes : tuple of str
        Labels, with the numbers of test rows in brackets.
    lines : list of tuple of str
        The method, then a figure for each class.
    """

    title: str
    note: str
    classes: tuple[str, ...] = ()
    lines: Sequence[tuple[str, ...]] = ()


def recall_table(
    comparison: MethodComparison, max_width: int | None = None, *, margins: bool = False
) -> RecallTable:
    """Recall of every method at one budget or, if errors have a price, of the lowest totals.

    The last line is of the commonest class, or of what costs least for everyone. Labels are
    shortened to about `max_width` characters together. There are no lines if some results have no
    classes.
    """
    title = "Recall of each class, %"
    standings = dict(comparison.lowest_totals)
    if standings:
        title += ": lowest totals"
        standings[NOTHING] = comparison.nothing
    else:
        budget = _recall_budget(comparison)
        title += f": every row answered at a mean cost of at most {_percent(budget)}"
        for method in comparison.methods:
            standings[method] = comparison.standing(method, EVERYONE.coverage, budget)
        standings[COMMONEST] = comparison.commonest
    n_rows = comparison.class_rows
    shown = sorted(np.argsort(n_rows, kind="stable")[:_MAX_CLASSES].tolist())
    lines = []
    for method, standing in standings.items():
        recall = comparison.recall(standing)
        if recall is None:
            note = "Left out: some results were kept by an earlier version, without classes."
            return RecallTable(title, note)
        cells = []
        for place in shown:
            shares = 100 * recall[~np.isnan(recall[:, place]), place]
            has_margin = margins and len(shares) >= MARGIN_SPLITS
            spread = f" ± {margin_of(shares):.1f}" if has_margin else ""
            cells.append(f"{shares.mean():.1f}{spread}" if len(shares) else "–")
        lines.append((method, *cells))
    classes = []
    for place in shown:
        label = str(comparison.classes[place])
        name = label if max_width is None else shorten(label, max(5, max_width // len(shown)))
        classes.append(f"{name} ({n_rows[place]})")
    note = "Share of a class that gets its correct label. In brackets: test rows of a split."
    if len(shown) < len(n_rows):
        note += f" The {len(shown)} rarest of {len(n_rows)} classes; the JSON file has all."
    return RecallTable(title, note, tuple(classes), lines)


def _recall_budget(comparison: MethodComparison) -> float:
    """The budget of the table of recall: 10 %, or the lowest one at which a rival is advised."""
    if EMSCO not in comparison.methods:
        return _RECALL_BUDGET
    advised = _beating_emsco(comparison).values()
    budgets = [budget for places in advised for task, budget in places if task is EVERYONE]
    return _RECALL_BUDGET if _RECALL_BUDGET in budgets or not budgets else min(budgets)


def _means(by_split: FloatArray) -> list[float | None]:
    """Mean of each column over the splits that have a figure; None if none has."""
    means: list[float | None] = np.ma.masked_invalid(by_split).mean(axis=0).tolist()
    return means


def _left_out(comparison: MethodComparison) -> list[str]:
    """Sentences about methods that were left out; one for all that are not installed."""
    lines, by_command = [], dict[str, list[str]]()
    for method, why in comparison.left_out.items():
        if command := command_to_install(why):
            by_command.setdefault(command, []).append(label_of(method))
        else:
            lines.append(f"{label_of(method)} was left out: {why}")
    if by_command:
        named = [f"{and_words(labels)} ({command})" for command, labels in by_command.items()]
        lines.append(f"Left out, not installed: {', '.join(named)}.")
    return lines


def markdown_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell is escaped, since it would end the cell."""
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "\n".join(
        f"| {' | '.join(one.replace('|', chr(92) + '|') for one in row)} |" for row in rows
    )


def signed(gain: float) -> str:
    """A gain in points with its sign.

    Examples
    --------
    >>> signed(0.0123), signed(-0.00001)
    ('+1.23', '0.00')
    """
    # Rounded first, so that a tiny loss is not shown as minus zero.
    points = round(100 * gain, 2)
    return f"{points:+.2f}" if points else "0.00"


def _named(method: str) -> str:
    return f"**{label_of(method)}**" if method == EMSCO else label_of(method)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _accuracy(one: Standing) -> str:
    spread = f" ± {100 * one.margin.accuracy:.1f}" if len(one.splits) >= MARGIN_SPLITS else ""
    promised = one.promised[:, 1].mean()
    return f"{100 * one.mean.accuracy:.1f}{spread} ({100 * promised:.1f})"


def _cost(one: Standing) -> str:
    over = f" (+{100 * one.overspent:.2f})" if one.overspent > 0 else ""
    return f"{100 * one.mean.cost:.2f}{over}"


def _coverage(one: Standing) -> str:
    short = f" (-{100 * one.short:.1f})" if one.short > 0 else ""
    return f"{100 * one.mean.coverage:.1f}{short}"


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


def _winners(comparison: MethodComparison, task: Task) -> str:
    """Name the methods with the best mean accuracy, and their budgets."""
    places: dict[tuple[str, ...], list[float]] = {}
    for question in task.questions:
        means = {
            method: round(comparison.standings[method, question].mean.accuracy, _DIGITS)
            for method in comparison.methods
        }
        best = max(means.values())
        # Equal after rounding counts as level.
        winners = tuple(method for method in means if means[method] == best)
        places.setdefault(winners, []).append(question.budget)
    parts: list[str] = []
    for winners, budgets in places.items():
        everyone = len(winners) == len(comparison.methods)
        names = and_words([label_of(method) for method in winners])
        verb = "are level" if everyone else "lead together" if len(winners) > 1 else "leads"
        shares = budget_words(budgets)
        where = shares if parts else f"a mean cost of at most {shares} of everything"
        parts.append(f"{'all methods' if everyone else names} {verb} at {where}")
    return f"{_CASES[task]}, {'; '.join(parts)}."


def _by_total(comparison: MethodComparison) -> list[str]:
    """Rank methods by the mean total of a row, and say which differences are beyond chance."""
    lowest, costs = comparison.lowest_totals, comparison.error_costs
    totals = {method: one.money(costs).mean() for method, one in lowest.items()}
    ranked = [f"{label_of(method)} {total:.4g}" for method, total in totals.items()]
    lines = [f"By the mean total of a row, with {costs}: {', '.join(ranked)}."]
    duels = comparison.duels.get(TOTAL, [])
    if len(comparison.splits) == 1:
        lines.append("One split cannot tell methods apart.")
    elif duels:
        for verdict, words in ((AHEAD, "is below"), (BEHIND, "is above")):
            rivals = [label_of(duel.rival) for duel in duels if duel.verdict == verdict]
            if rivals:
                lines.append(f"EMSCO {words} {and_words(rivals)} beyond chance.")
        if all(duel.verdict not in (AHEAD, BEHIND) for duel in duels):
            lines.append("No difference from EMSCO is beyond chance.")
    lines.append(_advice_by_total(comparison, totals))
    # EMSCO's promise, too: it is the one to be deployed, or the one to compare with.
    for method in dict.fromkeys((next(iter(lowest)), EMSCO)):
        if method in lowest:
            promised = f"{lowest[method].promised_total.mean():.4g}"
            kept = f"{totals[method]:.4g}"
            lines.append(f"{label_of(method)} promised a total of {promised} and kept {kept}.")
    return lines


def _advice_by_total(comparison: MethodComparison, totals: Mapping[str, float]) -> str:
    """Say which method to use, by totals in ascending order."""
    best, *others = totals
    if totals[best] >= comparison.nothing.money(comparison.error_costs).mean():
        return f"No method has a lower total than buying nothing. {nothing_words(comparison)}"
    verdicts = {duel.rival: duel.verdict for duel in comparison.duels.get(TOTAL, [])}
    if best == EMSCO:
        sure = all(verdicts.get(rival) == AHEAD for rival in others)
        return f"Use EMSCO: its total is the lowest{'' if sure else ', which may be chance'}."
    if EMSCO not in totals:
        doubt = "but leads are tested only against EMSCO"
        return f"Use {label_of(best)}: its total is the lowest, {doubt}."
    if verdicts.get(best) == BEHIND:
        return f"Use {label_of(best)}: its total is the lowest."
    less = f"{totals[EMSCO] - totals[best]:.2g}"
    return f"Use EMSCO or {label_of(best)}, whose total is lower by {less}, which may be chance."


def _advice(comparison: MethodComparison) -> str:
    """Say what to use, and whether differences are beyond chance."""
    single = len(comparison.splits) == 1
    unsure = "one split cannot tell methods apart" if single else ""
    if EMSCO not in comparison.methods:  # name the methods of the best mean rank
        leaders = {}
        for task in TASKS:
            best = _leaders(comparison, task)
            everyone = len(best) == len(comparison.methods)
            leaders[task] = "any method" if everyone else " or ".join(map(label_of, best))
        names = list(dict.fromkeys(leaders.values()))
        parts = [f"{name} {_WHERE[task]}" for task, name in leaders.items()]
        use = names[0] if len(names) == 1 else and_words(parts)
        doubt = unsure or "leads are tested only against EMSCO"
        return f"Use {use}, by mean ranks over all budgets, but {doubt}."
    duels = [(task, duel) for task in TASKS for duel in comparison.duels[task.key]]
    if sure := _beating_emsco(comparison):
        rivals = [" ".join(words) for words in _rivals_in_words(comparison, sure)]
        beats = "it beats" if len(rivals) == 1 else "they beat"
        lost = {(task, duel.budget) for task, duel in duels if duel.verdict == BEHIND}
        n_named = sum(map(len, sure.values()))
        rest = ", and EMSCO elsewhere" if n_named < len(TASKS) * len(TESTED) else ""
        rest += " unless the tables call it behind" if n_named < len(lost) else ""
        return f"Use {and_words(rivals)}, where {beats} EMSCO beyond chance{rest}."
    n_won = sum(duel.verdict == AHEAD for _, duel in duels)
    doubt = unsure or "no difference is beyond chance"
    won = f"it leads beyond chance in {n_won} of {len(duels)} comparisons"
    better = _best_rivals(comparison, lambda duel: round(duel.gain, _DIGITS) < 0)
    if not better:
        return f"Use EMSCO: no rival is more accurate, {f'and {won}' if n_won else f'but {doubt}'}."
    (first, at), *others = _rivals_in_words(comparison, better)
    lead = and_words([f"{first} is more accurate {at}", *map(" ".join, others)])
    if n_won:
        return f"Use EMSCO: {won}; {lead}, but that may be chance."
    return f"Use EMSCO or the leader at your budget: {lead}, but {doubt}."


def _leaders(comparison: MethodComparison, task: Task) -> list[str]:
    """Methods of the best mean rank over all budgets."""
    ranks = mean_ranks(comparison.ranks[task.key].values())
    return [method for method, rank in ranks.items() if rank == min(ranks.values())]


def _beating_emsco(comparison: MethodComparison) -> dict[str, list[Place]]:
    """Rivals to recommend in EMSCO's place, and where they are better beyond chance."""
    return _best_rivals(comparison, lambda duel: duel.verdict == BEHIND)


def _best_rivals(
    comparison: MethodComparison, better: Callable[[Duel], bool]
) -> dict[str, list[Place]]:
    """Places of the rival that is better than EMSCO at the most budgets of a task."""
    best_places: dict[str, list[Place]] = {}
    for task in TASKS:
        leads: dict[str, list[Duel]] = {}
        for duel in filter(better, comparison.duels[task.key]):
            leads.setdefault(duel.rival, []).append(duel)
        if leads:
            gains = {rival: sum(duel.gain for duel in some) for rival, some in leads.items()}
            # The rival that is ahead most often, then the one that is furthest ahead.
            best = min(leads, key=lambda rival: (-len(leads[rival]), gains[rival]))
            places = [(task, duel.budget) for duel in leads[best] if duel.budget is not None]
            best_places.setdefault(best, []).extend(places)
    return best_places


def _rivals_in_words(
    comparison: MethodComparison, rivals: Mapping[str, list[Place]]
) -> list[tuple[str, str]]:
    """Name of each rival, and where it is better; in brackets if it answers clearly too few."""
    named = []
    for rival, places in rivals.items():
        by_task: dict[Task, list[float]] = {}
        for task, budget in places:
            by_task.setdefault(task, []).append(budget)
        where = and_words(
            [
                f"at {'every budget' if len(on) == len(TESTED) else budget_words(on)} "
                f"{_WHERE[task]}"
                for task, on in by_task.items()
            ]
        )
        # A rival may be more accurate because it answers fewer rows than asked for.
        standings = [comparison.standing(rival, task.coverage, budget) for task, budget in places]
        short = [one.mean.coverage for one in standings if _is_short(one)]
        but = f" (answers only {100 * min(short):.0f} %)" if short else ""
        named.append((label_of(rival), f"{where}{but}"))
    return named


def breaks_limits(one: Standing) -> bool:
    """Whether a method answered clearly fewer test rows than asked, or spent clearly more."""
    return _is_short(one) or _is_overspent(one)


def _is_short(one: Standing) -> bool:
    return bool(one.question.coverage - one.mean.coverage > _SHORT + _ROUNDING)


def _is_overspent(one: Standing) -> bool:
    return bool(one.mean.cost > _DEAR * one.question.budget + _ROUNDING)


def broken_limits(comparison: MethodComparison, task: Task) -> list[str]:
    """Sentences that name methods clearly beyond the limits of a task on test rows.

    Coverage counts from 3 points below the one asked for, cost from a quarter above the budget.
    Each method has its worst figure.
    """
    few, spends = [], []
    for method in comparison.methods:
        standings = [comparison.standings[method, question] for question in task.questions]
        if short := [one.mean.coverage for one in standings if _is_short(one)]:
            few.append(f"{label_of(method)} {100 * min(short):.1f} %")
        worst = max(standings, key=lambda one: one.mean.cost / one.question.budget)
        if _is_overspent(worst):
            spends.append(
                f"{label_of(method)} spends {100 * worst.mean.cost:.1f} % where "
                f"{100 * worst.question.budget:g} % is allowed"
            )
    lines = []
    if few:
        asked = f"{100 * task.coverage:g} % was asked"
        lines.append(f"Answered at worst, of the test rows: {and_words(few)}, where {asked}.")
    if spends:
        lines.append(f"On test rows {and_words(spends)}.")
    return lines


def _plain_error_cost(costs: ErrorCosts) -> Any:
    """Return one number, one for each true label, or by true label and label given."""
    if costs.by_true_class is not None:
        return _plain_price(costs, costs.by_true_class)
    lines = [dict(zip(costs.labels, line, strict=True)) for line in costs.of_labels.tolist()]
    return plain_costs(dict(zip(costs.labels, lines, strict=True)))


def _plain_price(costs: ErrorCosts, by_class: Sequence[float]) -> float | dict[str, float]:
    """Return one number, or one for each label if they differ."""
    if len(set(by_class)) == 1:
        return by_class[0]
    return dict(zip(map(str, costs.labels), by_class, strict=True))


def quick_words(comparison: MethodComparison) -> str:
    """A warning not to judge methods by a quick comparison; "" for a thorough one."""
    if not comparison.quick:
        return ""
    splits = "one split, " if len(comparison.splits) == 1 else ""
    return f"Quick: {splits}fewer settings, shorter searches; do not judge methods by it."


def _kept(comparison: MethodComparison) -> str:
    """What EMSCO and the recommended methods promised on average, and what they kept."""
    if EMSCO in comparison.methods:
        sure = _beating_emsco(comparison)
        methods = [one for one in comparison.methods if one == EMSCO or one in sure]
    else:
        methods = list(dict.fromkeys(one for task in TASKS for one in _leaders(comparison, task)))
    parts = []
    for method in methods:
        one = comparison.promises[method]
        promised, kept = f"{100 * one.promised:.1f} %", f"{100 * one.kept:.1f} %"
        parts.append(f"{label_of(method)} promised {promised} accuracy and kept {kept}")
    return f"On average {and_words(parts)}."


def _alone(comparison: MethodComparison) -> list[str]:
    """Sentences about the only method that ran."""
    (method,) = comparison.methods
    lines = []
    for task in TASKS:
        standings = [comparison.standings[method, question] for question in task.questions]
        figures = [f"{100 * one.mean.accuracy:.1f}" for one in standings]
        lines.append(
            f"{_CASES[task]}, {label_of(method)} is {and_words(figures)} % correct "
            f"at mean costs of at most {budget_words(TESTED)} of everything."
        )
    return [*lines, "No other method took part.", _kept(comparison)]
