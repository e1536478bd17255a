"""The paper's comparison: EMSCO and its rivals on five data sets, over many random splits.

Rivals are tuned and designs chosen on scored rows; all are tested on test rows. The report has the
paper's numbers beside ours, paired tests, rivals at EMSCO's cost, and the paper's claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure

from emsco.errors import ParameterError
from emsco.search import choose, find_front
from emsco_lab import rivals
from emsco_lab.compare.comparison import ALPHA
from emsco_lab.compare.methods import label_of, new_rival, spread
from emsco_lab.datasets import Dataset, load, paper_split, threshold_of
from emsco_lab.paper.published import MARGINS, SETS, SETTINGS, TABLE
from emsco_lab.paper.standings import duels, margins
from emsco_lab.paper.study import (
    FIGURES,
    MARKS,
    STYLES,
    Jobs,
    Names,
    Out,
    PrintJSON,
    Result,
    Seed,
    Sets,
    Splits,
    do_jobs,
    known_names,
    markdown,
    name_marks,
    new_figure,
    opened,
    publish,
    soften,
    split_seed,
)

SEARCHES = ("paper", "evolution", "exact", "excluding")
PAPERS = ("greedy_miser", "cstc", "cact_lasso", "cost_ordered")  # the rivals of the paper
RIVALS = (*PAPERS, "cost_aware_boosting")
METHODS = (*SEARCHES, *RIVALS)
RULES = ("fittest", "balanced")
_MAX_DESIGNS = 10**10  # in larger spaces, exact search has fewer stages:
_EXACT_STAGES = 4  # as many as in the paper's own proofs
_EXACT_SECONDS = 1800.0
_FEWER = 5  # times fewer repeats of "excluding", which the paper does not have
_SPREAD = ("synthetic50",)  # a search fits some 150,000 subsets: repeats are spread over splits
_ROUNDING = 1e-9
_LEFT_OUT = "left out: it would take as long as all other methods together"
SCORED, SEEN = ([f"{rows} {figure}" for figure in FIGURES] for rows in ("scored", "seen"))
_HEADS = """method | accuracy % | coverage % | cost | paper: accuracy % | paper: coverage %
| paper: cost"""
_DUEL_HEADS = """set | contestant | rival | accuracy | coverage | cost | verdict
| splits won : lost"""
_TABLE = """\
# Comparison over {splits} random splits (seed {seed})

Means over splits on test rows, ± 95 % margins of error. Tuning and choice used scored rows only.
The paper's splits are not published, so its numbers, in the last columns, are of other rows.
{tables}
## EMSCO beside each rival

Mean gains of EMSCO over splits: accuracy and coverage in points, and cost. Bold gains are
significant at 5 % in a paired t-test over splits (Nadeau and Bengio's, since splits share rows).
Holm's method corrects all tests of a contestant on a set. *Dominates* means as good on average in
all three and significantly better in one.

{duels}

## Rivals at EMSCO's cost

Here each rival is tuned for EMSCO's budget. Among its settings that cost no more than EMSCO on the
scored rows of a split, it deploys the one with the largest coverage² + accuracy² there. (The
balanced score would also reward settings that buy next to nothing.) Gains and tests are as above.

{at_equal_cost}

## The paper's claims
{claims}
## Notes

{notes}"""

# A design or a setting in words, the rule that chose it, and figures on scored and on test rows.
Offer: TypeAlias = dict[str, Any]


def reproduce_comparison(
    out: Out = Path("reproduce-comparison"),
    sets: Sets = None,
    methods: Annotated[Names, typer.Option("--method", help=f"{', '.join(METHODS)}.")] = None,
    splits: Splits = 10,
    runs: Annotated[int, typer.Option(min=1, help="Repeats of EMSCO; see above.")] = 50,
    generations: Annotated[int, typer.Option(min=1, help="Generations of a search.")] = 150,
    settings: Annotated[int, typer.Option(min=1, help="Most settings of a rival.")] = 10**6,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: PrintJSON = False,
) -> Result:
    """Compare EMSCO and its rivals on the paper's five sets, over many random splits.

    Rivals are tuned and designs chosen on scored rows, and all are tested on test rows. The tables
    show the paper's figures too, with 95 % margins of error and paired tests. It takes hours;
    --splits 2 --runs 2 --generations 40 --settings 4 takes minutes. Searches are repeated on each
    split, but on synthetic50 on all splits together. The method "excluding" is an evolution whose
    designs may leave features out.
    """
    names, todo = known_names(sets, SETS), []
    for split, name, method in product(range(splits), names, known_names(methods, METHODS)):
        # Rounded up, so that there is a repeat on every split.
        repeats = -(-runs // splits) if name in _SPREAD else runs
        repeats = {"exact": 1, "excluding": -(-repeats // _FEWER)}.get(method, repeats)
        effort = (settings,) if method in RIVALS else (repeats, generations)
        todo.append((name, split, method, *effort))
    of = {"experiment": "comparison", "seed": seed}
    results, of = do_jobs(_do, todo, out, of, jobs)
    offers = pd.DataFrame(
        {"set": job[0], "split": job[1], "label": _label(job[2], offer["rule"]), **offer}
        for job, one in results.items()
        for offer in one["offers"]
    )
    reports = {name: _report(name, table) for name, table in offers.groupby("set", sort=False)}
    result = {
        **of,
        "splits": splits,
        "sets": reports,
        "claims": _claims(reports),
        "notes": [f"{job[0]}, {job[2]}: {r['note']}" for job, r in results.items() if r["note"]],
    }
    return publish(out, result, _table(result), _draw(result), as_json)


def _do(seed: int, name: str, split: int, method: str, *effort: int) -> Result:
    """Try one method on one split."""
    if method in RIVALS:
        data = load(name, seed)
        rival = new_rival(method, data.costs, random_state=split_seed(split, seed))
        if rival.get_params(deep=False).get("min_confidence") is not None:
            rival.set_params(min_confidence=threshold_of(data))
        drawn = paper_split(len(data.X), split_seed(split, seed))
        return {"offers": tune_rival(rival, data, drawn, *effort), "note": ""}
    if method == "excluding" and name in _SPREAD:
        return {"offers": [], "note": _LEFT_OUT}
    try:
        return search(name, split, method, seed, *effort)
    except ParameterError as obstacle:  # exact search is out of reach
        return {"offers": [], "note": str(obstacle)}


def search(name: str, split: int, method: str, seed: int, runs: int, generations: int) -> Result:
    """Repeat one of EMSCO's searches on a split, and choose by every rule.

    An exact search runs once, since it draws nothing at random.
    """
    data, answers, test = opened(name, seed, split_seed(split, seed))
    threshold, n_features = threshold_of(data), len(data.names)
    settings: dict[str, Any] = {"generations": generations, "patience": generations}
    kind, note, offers = method, "", []
    if method == "paper":
        settings |= SETTINGS[name]
    elif "population_size" in SETTINGS[name]:
        settings["population_size"] = SETTINGS[name]["population_size"]
    if method == "excluding":
        kind, settings["buy_all"] = "evolution", False
    elif method == "exact":
        settings["time_limit"] = _EXACT_SECONDS
        if max(1, min((n_features + 1) // 2, 10)) ** n_features > _MAX_DESIGNS:
            settings["max_stages"], note = _EXACT_STAGES, f"at most {_EXACT_STAGES} stages"
    for repeat in range(runs):
        # The seed of a repeat names its place, so repeats can be added without changing others.
        words = [seed, split, SETS.index(name), SEARCHES.index(method), repeat]
        front = find_front(kind, answers, threshold, np.random.default_rng(words), **settings)
        if method == "exact" and front.stop_reason.n_settled is None:
            raise ParameterError(f"exact search was given up: {front.stop_reason}")
        for rule in RULES:
            place = choose(rule, front, data.costs)
            seen, design = test.score(front.designs[[place]], threshold), front.designs[place]
            offers.append(_offer(rule, str(design.tolist()), front.counts[[place]], seen))
    return {"offers": offers, "note": note}


def tune_rival(
    rival: Any, data: Dataset, split: Sequence[Any], max_settings: int = 10**6
) -> list[Offer]:
    """Tune a rival on the scored rows, and test it.

    At most `max_settings` settings of its grid are tried, evenly from the first to the last.
    Besides the best setting, "tuned", offers have those that no other one dominates on the scored
    rows, from the cheapest up: its "curve".
    """
    from moocore import is_nondominated

    train, scored, test = ((data.X[part], data.y[part]) for part in split)
    grid = rival.grid(data.costs, len(train[1]))
    trials = rivals.tune(rival, train, scored, test, spread(grid, max_settings))
    offers = [_offer("curve", str(one.settings), one.evaluation, one.test) for one in trials]
    best = offers[int(np.argmax([one.score for one in trials]))]
    table = pd.DataFrame(offers)
    kept = is_nondominated(table[SCORED].to_numpy() * [1, 1, -1], maximise=True)
    curve: list[Offer] = table[kept].sort_values("scored cost", kind="stable").to_dict("records")
    return [{**best, "rule": "tuned"}, *curve]


def _offer(rule: str, setting: str, scored: Any, seen: Any) -> Offer:
    """Figures are those of evaluations, or of counts of a single design."""
    rows = {"scored": scored, "seen": seen}.items()
    figures = {
        f"{name} {key}": float(np.squeeze(getattr(one, key)))
        for name, one in rows
        for key in FIGURES
    }
    return {"rule": rule, "setting": setting, **figures}


def _label(method: str, rule: str) -> str:
    return label_of(method) if method in RIVALS else f"EMSCO {method}, {rule}"


LABELS = [_label(*one) for one in product(SEARCHES, RULES)] + [*map(label_of, RIVALS)]
_KEYS = {"EMSCO paper, fittest": "emsco", **{label_of(one): one for one in RIVALS}}


def _report(name: str, offers: pd.DataFrame) -> Result:
    """Standings of all contestants on a set, and duels of EMSCO's with the rivals."""
    is_curve = offers["rule"] == "curve"
    means = offers[~is_curve].groupby(["label", "split"])[SCORED + SEEN].mean()
    labels = [one for one in LABELS if one in means.index]
    seen = {one: means.loc[one, SEEN] for one in labels}
    ours = {one: seen.pop(one) for one in labels if one.startswith("EMSCO")}
    equal = {}
    for one, mine in ours.items():
        # What EMSCO spends on scored rows: rivals are chosen there, too.
        best = affordable(offers[is_curve], means.loc[one, "scored cost"])
        equal[one] = duels(mine, {rival: t[SEEN] for rival, t in best.groupby("label", sort=False)})
    return {
        "standings": {
            one: {
                "mean": table.mean().tolist(),
                "margin": margins(table.to_numpy()),
                "by_split": table.T.to_dict("list"),
                "paper": TABLE[name].get(_KEYS.get(one, "")),
            }
            for one, table in (ours | seen).items()
        },
        "duels": {one: duels(mine, seen) for one, mine in ours.items()},
        "at_equal_cost": equal,
    }


def affordable(curves: pd.DataFrame, budgets: pd.Series[float]) -> pd.DataFrame:
    """The best setting of each rival within a budget for each split, indexed by split."""
    within = curves[curves["scored cost"] <= curves["split"].map(budgets) * (1 + _ROUNDING)]
    lengths = np.hypot(within["scored coverage"], within["scored accuracy"])
    best = lengths.groupby([within["label"], within["split"]], sort=False).idxmax()
    return within.loc[best].set_index("split")


Gains: TypeAlias = dict[str, Sequence[float]]  # in accuracy, coverage and cost, by rival


def _undominated(gains: Gains, names: Iterable[str]) -> bool:
    return not any(max(gains[name]) <= 0 and any(gains[name]) for name in names)


_NAMES = [*map(label_of, PAPERS)]
# A claim, whether it holds on a set, and on how many of n sets it has to.
CLAIMS: dict[str, tuple[Callable[[Gains], bool], Callable[[int], int]]] = {
    "not dominated by any rival of the paper": (lambda g: _undominated(g, _NAMES), int),
    "not dominated by any rival at all": (lambda g: _undominated(g, g), int),
    "more accurate than Greedy Miser and CSTC": (
        lambda g: all(g[name][0] > 0 for name in _NAMES[:2]),
        int,
    ),
    "cheaper than Greedy Miser and CSTC": (
        lambda g: all(g[name][2] > 0 for name in _NAMES[:2]),
        lambda n: min(3, n),
    ),
    "ahead of every rival of the paper in two of three objectives": (
        lambda g: all(sum(one > 0 for one in g[name]) >= 2 for name in _NAMES),
        lambda n: n // 2 + 1,
    ),
}


def _claims(reports: Mapping[str, Result]) -> dict[str, list[str]]:
    """The paper's claims about each of EMSCO's contestants, each with its verdict.

    Only sets with results of all the paper's rivals count.
    """
    claims: dict[str, list[str]] = {}
    for label, (text, (holds, needed)) in product(LABELS, CLAIMS.items()):
        verdicts = {
            name: holds({rival: duel["gains"] for rival, duel in one["duels"][label].items()})
            for name, one in reports.items()
            if set(_NAMES) <= one["standings"].keys() and label in one["duels"]
        }
        if not verdicts:
            continue
        fails = ", ".join(name for name, is_met in verdicts.items() if not is_met)
        n, n_holds = len(verdicts), sum(verdicts.values())
        word = "holds" if n_holds >= needed(n) else "does not hold"
        but = fails and f", not on {fails}"
        sentence = f"{text}: {word} (on {n_holds} of {n} sets{but}; {needed(n)} needed)"
        claims.setdefault(label, []).append(sentence)
    return claims


def _table(result: Result) -> str:
    """A table for every set, the duels, and the paper's claims."""
    tables = ""
    for name, report in result["sets"].items():
        rows = [
            label
            + _cells(one["mean"], one["margin"])
            + _cells(one["paper"], MARGINS[name] if label.startswith("EMSCO") else None)
            for label, one in report["standings"].items()
        ]
        tables += f"\n## {name}\n\n{markdown(_HEADS, rows)}\n"
    claims = "".join(
        f"\n**{label}**\n\n" + "".join(f"- {claim}\n" for claim in some)
        for label, some in result["claims"].items()
    )
    more = {key: _duel_table(result, key) for key in ("duels", "at_equal_cost")}
    notes = "\n".join(f"- {one}" for one in result["notes"]) or "None."
    return _TABLE.format(**{**result, **more, "tables": tables, "claims": claims, "notes": notes})


def _cells(figures: Sequence[float] | None, spread: Sequence[float] | None) -> str:
    """Accuracy and coverage in percent, and cost, each with its margin if there is one."""
    cells = ""
    for i, scale in enumerate(FIGURES.values()):
        cells += f" | {scale * figures[i]:.1f}" if figures else " | –"
        cells += f" ± {scale * spread[i]:.1f}" if figures and spread else ""
    return cells


def _duel_table(result: Result, key: str) -> str:
    lines = []
    for name, report in result["sets"].items():
        # The paper's contestant, our best search, and "excluding".
        best = [f"EMSCO {one}, balanced" for one in ("exact", "evolution")]
        best = [one for one in best if one in report[key]][:1]
        for label in ("EMSCO paper, fittest", *best, "EMSCO excluding, balanced"):
            for rival, duel in report[key].get(label, {}).items():
                line = f"{name} | {label} | {rival}"
                gains = zip(duel["gains"], duel["p_values"], FIGURES.values(), strict=True)
                for gain, p, scale in gains:
                    bold = "**" if p < ALPHA else ""
                    line += f" | {bold}{gain * scale:+.1f}{bold}"
                lines.append(
                    line + " | {verdict} | {n_won} : {n_lost} of {n_splits}".format(**duel)
                )
    return markdown(_DUEL_HEADS, lines)


def _draw(result: Result) -> Figure:
    """Draw accuracy, coverage and cost of every contestant on every set, a line each.

    Bars are 95 % margins of error over splits. An empty diamond is a number printed in the paper.
    """
    reports = result["sets"]
    heights = [len(one["standings"]) + 2 for one in reports.values()]
    figure = new_figure(7.2, 0.17 * sum(heights) + 0.5)
    grid = figure.subplots(len(reports), 3, squeeze=False, height_ratios=heights)
    printed: dict[str, Any] = {"marker": "D", "color": "0.4", "fillstyle": "none", "ls": "none"}
    for (name, report), panels in zip(reports.items(), grid, strict=True):
        standings = report["standings"]
        for i, (panel, scale) in enumerate(zip(panels, FIGURES.values(), strict=True)):
            for place, (label, one) in enumerate(standings.items()):
                rival = not label.startswith("EMSCO")
                look = {"fmt": MARKS[rival], "color": STYLES[rival]["color"], "markersize": 4}
                panel.errorbar(scale * one["mean"][i], place, xerr=scale * one["margin"][i], **look)
                if one["paper"]:
                    panel.plot(scale * one["paper"][i], place, zorder=1, **printed)
            soften(panel)
            panel.set_yticks(range(len(standings)), [""] * len(standings) if i else standings)
            panel.set_ylim(len(standings) - 0.4, -0.6)
        panels[0].set_title(name, fontsize=9, loc="left", fontweight="bold")
    for panel, label in zip(grid[-1], ("accuracy, %", "coverage, %", "mean cost"), strict=True):
        panel.set_xlabel(label, fontsize=8)
    for i, label in enumerate(("EMSCO", "rivals")):
        grid[0][0].plot([], [], MARKS[i], label=label, color=STYLES[i]["color"])
    grid[0][0].plot([], [], label="printed in the paper", **printed)
    name_marks(figure, grid[0][0])
    return figure
