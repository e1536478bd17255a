"""The bake-off: EMSCO and its rivals answer the same questions on many sets and splits.

python benchmarks bakeoff --out bakeoff                10 splits of 13 sets: 15 h of a core
python benchmarks bakeoff --quick                      eight minutes; see yardstick.py
python benchmarks bakeoff --out bakeoff --known        seconds; run nothing, report what is there
python benchmarks bakeoff --out bakeoff --sets heart,regions:7 --methods emsco,cstc

A method fits, tunes and chooses on 75 % of the rows as it likes, and is tested on the rest: the
most accurate answers for at most 2, 5, 10, 20 or 40 % of the cost of everything, for every row or
for 90 % of them. A cell is a set at one budget and coverage. Tests allow for the rows that splits
share, and for all rivals and budgets of a set. "regions:7" is drawn from seed 7.

Each set has a file of results, which the same command continues, and a folder with its own tables
and picture. Compared are the splits that all methods have answered. EMSCO without branches runs on
the sets where its designs branch, and has a table of its own.

Nothing may be tuned or chosen on the sealed sets, which have never been run: regions:40213 and
interactions:505129. New seeds replace those that have been run: regions:21020,
interactions:771612.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd
import yardstick
from common import markdown, names, options, progress

from emsco.errors import EMSCOError
from emsco_lab import datasets
from emsco_lab.compare import (
    AHEAD,
    BEHIND,
    CHAINS,
    EMSCO,
    LEVEL,
    METHODS,
    NOTHING,
    CostedRows,
    LabelledRows,
    MethodComparison,
    compare_methods,
    label_of,
    write,
)

SETS = (
    "heart",
    "cleveland",
    "pima_turney",
    "breast_cancer",
    "credit",
    "thyroid",
    "synthetic15",
    "synthetic50",
    "interactions",
    "regions",
    "cube",
    "cube_nm3",
    "digits",
)
LARGE = 250  # test rows, a quarter of all, from which on a set counts as large
CELL = ["set", "coverage", "budget"]


def costed_rows(name: str) -> CostedRows:
    """Load a set."""
    plain, _, seed = name.partition(":")
    data = datasets.load(plain, int(seed or 0))
    return CostedRows(LabelledRows(data.X, data.y), data.costs)


def branches(comparison: MethodComparison) -> bool:
    """Whether some design that EMSCO offers branches."""
    answers = comparison.answers.get(EMSCO, {}).values()
    return any("→ {" in offer.setting for one in answers for offer in one.offers)


def cells_of(comparisons: Mapping[str, MethodComparison]) -> pd.DataFrame:
    """A line for each method in each cell of all sets.

    A method is weak in a cell if it does no better there than the commonest class, for nothing. A
    cell is idle if all methods are.
    """
    cells = pd.concat(
        one.cells.assign(set=name, large=len(one.tested[one.splits[0]]) >= LARGE)
        for name, one in comparisons.items()
    )
    floor = cells[cells.method == NOTHING].set_index(CELL)["merit"]
    cells = cells[cells.method != NOTHING].join(floor.rename("floor"), on=CELL)
    cells["weak"] = cells.merit <= cells.floor
    cells["idle"] = cells.groupby(CELL)["weak"].transform("all")
    return cells.assign(method=cells.method.map(label_of))


def views(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All cells, and some of them."""
    return {
        "all": cells,
        "everyone": cells[cells.coverage == 1],
        "90 %": cells[cells.coverage < 1],
        f"{4 * LARGE:,} rows or more": cells[cells.large],
        "fewer": cells[~cells.large],
        "where some method beats the commonest class": cells[~cells.idle],
    }


def rank_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of every method, the best first."""
    ranks = {title: view.groupby("method")["rank"].mean() for title, view in views(cells).items()}
    table = pd.DataFrame(ranks).sort_values("all")
    return table.assign(sets=cells.groupby("method")["set"].nunique())


def record(verdicts: pd.Series) -> str:
    """Won / level / lost."""
    return " / ".join(str((verdicts == one).sum()) for one in (AHEAD, LEVEL, BEHIND))


def duel_table(duels: pd.DataFrame) -> pd.DataFrame:
    """Duels with each rival, with all, and with the best of each cell in hindsight."""
    best = duels.sort_values("lead").drop_duplicates(CELL)
    shown = [duels, duels.assign(method="all rivals"), best.assign(method="the best rival")]
    by_view = {
        title: view.groupby("method", sort=False)["verdict"].agg(record)
        for title, view in views(pd.concat(shown)).items()
    }
    return pd.DataFrame(by_view)


def promise_table(cells: pd.DataFrame) -> pd.DataFrame:
    """What every method promised and kept, in %: means over sets.

    The distance is that from 0 of each set, so that promises too high and too low do not cancel.
    """
    lines = cells.assign(
        gap=cells.promised - cells.merit,
        overspent=cells.cost - cells.budget,
        short=cells.coverage - cells.covered,
    )
    figures = ["promised", "merit", "gap", "overspent", "short"]
    lines = 100 * lines.groupby(["set", "method"], sort=False)[figures].mean()
    lines.insert(3, "distance", lines.gap.abs())
    heads = ["promised", "kept", "promised less kept", "its distance from 0 on a set"]
    heads += ["cost above the budget", "coverage below the one asked for"]
    return lines.groupby("method", sort=False).mean().set_axis(heads, axis=1)


def chains_table(comparisons: Mapping[str, MethodComparison]) -> pd.DataFrame:
    """What branches gain, in points with 95 % margins, if every row is answered."""
    lines = {
        name: {
            "splits": len(one.splits),
            **{
                f"{100 * cell.budget:g} %": f"{100 * cell.lead:+.2f} ± {196 * cell.error:.2f}"
                for cell in one.cells.itertuples()
                if cell.method == CHAINS and cell.coverage == 1
            },
        }
        for name, one in comparisons.items()
    }
    return pd.DataFrame.from_dict(lines, "index")


def report(
    comparisons: Mapping[str, MethodComparison], chains: Mapping[str, MethodComparison]
) -> str:
    """Tables over all sets."""
    cells = cells_of(comparisons)
    parts = ["# Bake-off", "## Mean ranks", markdown(rank_table(cells))]
    duels = cells[cells.verdict != ""]
    if len(duels):
        won = duels[duels.verdict == AHEAD]
        parts += [
            "## EMSCO against each rival",
            "Cells won / level / lost beyond chance. The best rival of a cell is the one with the "
            f"highest mean there. Of {len(won)} wins, {won.weak.sum()} are over a rival no more "
            "accurate than the commonest class.",
            markdown(duel_table(duels)),
        ]
    if chains:
        parts += ["## EMSCO less EMSCO without branches", markdown(chains_table(chains))]
    return "\n\n".join([*parts, "## Promised and kept, %", markdown(promise_table(cells))])


def main() -> None:
    """Run or continue the bake-off, and report it; or run the quick yardstick."""
    if "--quick" in sys.argv:
        yardstick.main()
        return
    parser = options(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a folder for results and tables")
    parser.add_argument("--sets", type=names, default=SETS)
    parser.add_argument("--methods", type=names, default=METHODS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="a yardstick of its own; add --help")
    parser.add_argument("--known", action="store_true", help="run nothing")
    asked = parser.parse_args()
    comparisons, chains = {}, {}
    try:
        for name, rows in {name: costed_rows(name) for name in asked.sets}.items():
            compare = partial(
                compare_methods,
                rows,
                name,
                splits=asked.splits,
                seed=asked.seed,
                path=asked.out / f"{name}.jsonl",
                n_jobs=asked.jobs,
                report=progress,
                run=not asked.known,
            )
            last = compare(asked.methods)
            if last.methods:
                comparisons[name] = last
                write(last, asked.out / name)
            if last.complete and branches(last):
                last = compare((EMSCO, CHAINS))
                if CHAINS in last.methods:
                    chains[name] = last
            if not last.complete:
                break
    except EMSCOError as error:
        parser.error(str(error))
    if not comparisons:
        parser.exit(1, f"{asked.out} has no whole split of these sets and methods.\n")
    told = report(comparisons, chains)
    print(told)
    (asked.out / "bakeoff.md").write_text(f"{told}\n", encoding="utf-8")
