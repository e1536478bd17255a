"""A comparison as sentences, tables, plain values and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from emsco_lab._tools import and_words, markdown_table
from emsco_lab.compare.comparison import AHEAD, BEHIND, MAX_SETTINGS, MethodComparison
from emsco_lab.compare.methods import EMSCO, NOTHING, label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIGITS = 3  # accuracies are shown to a tenth of a point; nearer ones are called level
_MARKS = {AHEAD: "▼", BEHIND: "▲"}
_NOTE = (
    "▼ or ▲: worse or better than EMSCO beyond chance, paired over test rows. *: spent over a "
    "quarter more than allowed on test rows, or answered over 3 points fewer than asked."
)


def verdict(comparison: MethodComparison) -> list[str]:
    """Return a few sentences: who leads where, what to use, and what promises were worth."""
    left_out = [
        f"{label_of(method)} was left out: {note}" for method, note in comparison.left_out.items()
    ]
    if not comparison.methods:
        return ["No method has answered on a whole split.", *left_out]
    cells, priced = comparison.cells, comparison.prices is not None
    leads = [_totals(comparison)] if priced else [*_leaders(cells)]
    means = cells.groupby("method")[["promised", "merit"]].mean()
    both = [
        f"{label_of(method)} promised {_figure(abs(promised), priced)} "
        f"and kept {_figure(abs(kept), priced)}"
        for method, promised, kept in means.itertuples()
        if method in (EMSCO, _best(comparison))
    ]
    return [*leads, _advice(comparison), f"On average {and_words(both)}.", *left_out]


def _figure(value: float, priced: bool) -> str:
    return f"{value:.4g}" if priced else f"{100 * value:.1f} %"


def _where(coverage: float) -> str:
    """Say when a coverage is asked for."""
    if coverage == 1:
        return "if every row needs an answer"
    return f"if {100 * (1 - coverage):g} % of the rows may be rejected"


def _percents(shares: pd.Series[float]) -> str:
    return f"{and_words([f'{100 * share:g}' for share in shares])} %"


def _best(comparison: MethodComparison) -> str:
    """Return the method of the best mean rank."""
    return str(comparison.mean_ranks.mean(axis=1).idxmin())


def _leaders(cells: pd.DataFrame) -> Iterator[str]:
    """Name the most accurate methods at each budget."""
    ranked = cells[cells.method != NOTHING]
    best = ranked.merit.round(_DIGITS)
    best = best[best == best.groupby([ranked.coverage, ranked.budget]).transform("max")]
    for coverage, some in ranked.loc[best.index].groupby("coverage", sort=False):
        winners = some.groupby("budget")["method"].agg(lambda one: and_words([*map(label_of, one)]))
        parts = [
            f"{names} at {_percents(where.index)}"
            for names, where in winners.groupby(winners, sort=False)
        ]
        yield (
            f"Most accurate {_where(coverage)}, by mean cost as a share of everything: "
            f"{'; '.join(parts)}."
        )


def _totals(comparison: MethodComparison) -> str:
    """Rank methods by the mean total of a row."""
    totals = comparison.cells.sort_values("merit", ascending=False, kind="stable")
    ranked = [f"{label_of(one.method)} {-one.merit:.4g}" for one in totals.itertuples()]
    return f"By the mean total of a row, with {comparison.prices}: {', '.join(ranked)}."


def _advice(comparison: MethodComparison) -> str:
    """Say which method to use."""
    cells = comparison.cells
    floor = cells[cells.method == NOTHING].merit.max()
    if cells.merit.max() <= floor:
        return "No method does better than buying nothing."
    if len(comparison.methods) == 1:
        return f"{label_of(comparison.methods[0])} took part alone."
    duels = cells[cells.verdict != ""]
    if duels.empty:
        best = label_of(_best(comparison))
        return f"Use {best}, by mean ranks; leads are tested against EMSCO alone."
    lost = duels[(duels.verdict == BEHIND) & ~duels.breaks]
    if lost.empty:
        won = (duels.verdict == AHEAD).sum()
        n_duels = len(duels)
        beaten = (
            f"and it beats rivals in {won} of {n_duels} comparisons"
            if won
            else "nor does it beat one"
        )
        return f"Use EMSCO: no rival within its limits beats it beyond chance, {beaten}."
    parts = []
    for coverage, some in lost.groupby("coverage", sort=False):
        # The rival that is ahead most often, then the one that is furthest ahead.
        leads = some.groupby("method")["lead"].agg(["size", "sum"])
        rival = leads.sort_values(["size", "sum"], ascending=[False, True]).index[0]
        where = some[some.method == rival].budget
        limits = f" at {_percents(where)} {_where(coverage)}" if comparison.prices is None else ""
        parts.append(f"{label_of(rival)}{limits}")
    elsewhere = ", and EMSCO elsewhere" if comparison.prices is None else ""
    return f"Use {and_words(parts)}: it beats EMSCO beyond chance there{elsewhere}."


def tables(comparison: MethodComparison) -> dict[str, str]:
    """Return a table of every coverage, or of totals, in Markdown, by its heading."""
    if not comparison.methods:
        return {}
    if comparison.prices is not None:
        return {"Lowest mean total of a row": _total_table(comparison)}
    found = {}
    for coverage, some in comparison.cells.groupby("coverage", sort=False):
        budgets = some.budget.unique()
        lines = []
        for method, line in some.groupby("method", sort=False):
            shown = [
                f"{100 * one.merit:.1f} ({100 * one.promised:.1f}){'*' * one.breaks}"
                f"{_MARKS.get(one.verdict, '')}"
                for one in line.itertuples()
            ]
            rank = "" if method == NOTHING else f"{line['rank'].mean():.2f}"
            lines.append([label_of(method), *shown, rank, *_counts(comparison, line)])
        heads = ["method", *(f"{100 * one:g} %" for one in budgets), "rank", "EMSCO won–lost", "s"]
        title = f"Accuracy kept (promised) {_where(coverage)}, %"
        found[title] = markdown_table(heads, lines)
    return found


def _counts(comparison: MethodComparison, line: pd.DataFrame) -> tuple[str, str]:
    """Return how often EMSCO won and lost, and seconds of processor time for a split."""
    method = line.method.iloc[0]
    seconds = [one.seconds for one in comparison.answers[method].values()]
    won, lost = ((line.verdict == one).sum() for one in (AHEAD, BEHIND))
    return (
        f"{won}–{lost}" if line.verdict.any() else "",
        "" if method == NOTHING else f"{sum(seconds) / len(seconds):.1f}",
    )


def _total_table(comparison: MethodComparison) -> str:
    lines = []
    for one in comparison.cells.sort_values("merit", ascending=False).itertuples():
        lead = f"{one.lead:.4g} ± {1.96 * one.error:.2g}" if one.verdict else ""
        lines.append(
            [
                label_of(one.method),
                f"{-one.merit:.4g} ({one.promised:.4g}){_MARKS.get(one.verdict, '')}",
                f"{one.cost * comparison.total_cost:.4g}",
                f"{100 * one.covered:.1f}",
                f"{100 * one.accuracy:.1f}",
                lead,
            ]
        )
    heads = ["method", "total (promised)", "features", "labelled, %", "correct, %"]
    return markdown_table([*heads, "lead of EMSCO (95 %)"], lines)


def to_markdown(comparison: MethodComparison) -> str:
    """Return the verdict and the tables."""
    n_splits, n_test = len(comparison.splits), len(next(iter(comparison.tested.values())))
    parts = [f"# Methods on {comparison.name}: {n_splits} × {n_test:,} test rows"]
    if comparison.max_settings < MAX_SETTINGS:
        parts.append("Quick: rivals tried few settings; do not judge methods by it.")
    parts.append("\n".join(f"- {sentence}" for sentence in verdict(comparison)))
    for title, table in tables(comparison).items():
        parts += [f"## {title}", table]
    if comparison.methods:
        parts.append(f"{_NOTE} Everything costs {comparison.total_cost:g}.")
    return "\n\n".join(parts)


def to_dict(comparison: MethodComparison) -> dict[str, Any]:
    """Return plain values, for JSON."""
    cells = json.loads(comparison.cells.to_json(orient="records")) if comparison.methods else []
    return {
        "data": comparison.name,
        "splits": comparison.splits,
        "total_cost": comparison.total_cost,
        "verdict": verdict(comparison),
        "left_out": comparison.left_out,
        "cells": cells,
        "about": dict(comparison.about),
        "complete": comparison.complete,
    }


def draw_comparison(comparison: MethodComparison) -> Figure:
    """Draw accuracy at each allowed cost, a panel for each coverage, or the lowest totals.

    EMSCO is bold; hollow marks broke their limits on test rows.
    """
    from matplotlib.figure import Figure

    cells = comparison.cells
    groups = [*cells.groupby("coverage", sort=False)]
    figure = Figure(figsize=(5 * len(groups) + 2, 4), layout="constrained")
    for panel, (coverage, some) in zip(
        figure.subplots(1, len(groups), squeeze=False, sharey=True)[0], groups, strict=True
    ):
        for method, line in some.groupby("method", sort=False):
            look: dict[str, Any] = {"linewidth": 1.2, "marker": "o", "markersize": 4}
            if method == EMSCO:
                look |= {"color": "black", "linewidth": 2.8, "zorder": 5}
            elif method == NOTHING:
                look |= {"color": "0.6", "linestyle": "--", "marker": ""}
            if comparison.prices is not None:
                panel.barh(label_of(method), -line.merit, color=look.get("color", "tab:blue"))
                continue
            places, accuracy = range(len(line)), 100 * line.merit
            (drawn,) = panel.plot(places, accuracy, label=label_of(method), **look)
            hollow = {"facecolors": "white", "edgecolors": drawn.get_color(), "zorder": 6}
            panel.scatter(
                [place for place, breaks in zip(places, line.breaks, strict=True) if breaks],
                accuracy[line.breaks],
                s=20,
                **hollow,
            )
        if comparison.prices is not None:
            panel.invert_yaxis()
            panel.set_xlabel("mean total of a row: features, errors and rejections")
        else:
            panel.set_xticks(
                range(some.budget.nunique()), [f"{100 * one:g}" for one in some.budget.unique()]
            )
            panel.set_xlabel("allowed mean cost of a row, % of everything")
            panel.set_ylabel("correct, % of answered test rows")
            panel.set_title(_where(coverage).capitalize(), fontsize=10)
    if comparison.prices is None:
        figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return figure


def write(comparison: MethodComparison, folder: Path) -> None:
    """Write ``comparison.md``, ``comparison.json`` and, with results, ``comparison.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comparison.md").write_text(f"{to_markdown(comparison)}\n", encoding="utf-8")
    text = json.dumps(to_dict(comparison), indent=1)
    (folder / "comparison.json").write_text(f"{text}\n", encoding="utf-8")
    if comparison.methods:
        draw_comparison(comparison).savefig(folder / "comparison.png", dpi=150)
