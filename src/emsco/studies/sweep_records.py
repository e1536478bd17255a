"""What a sweep over thresholds has found: a record, and the tables made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import check_choice
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco._base.text import counted, decimals_of
from emsco.costs import FeatureCosts
from emsco.data.frames import Columns, to_pandas
from emsco.designs.design import Design
from emsco.search.settings import SearchSettings
from emsco.studies.searching import Choice

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OBJECTIVES", "PARTS", "Spread", "SweepLine", "SweepRepeat", "ThresholdSweep"]

OBJECTIVES = ("accuracy", "coverage", "cost")
PARTS = ("scored", "seen")
_ROUNDING = 1e-12  # of a mean: runs that all deploy the same deviate by no more


@dataclass(frozen=True, slots=True)
class SweepRepeat:
    """One search at one threshold, and what it deploys by every rule.

    Attributes
    ----------
    min_confidence : float
    run : int
        From 0.
    random_state : int
        With it, `EMSCOClassifier` makes the same search on the same split.
    choices : tuple of Choice
        A design by each rule, with its figures on validation and on test rows.
    stop_reason : str
    seconds : float
        Of processor time.
    """

    min_confidence: float
    run: int
    random_state: int
    choices: tuple[Choice, ...]
    stop_reason: str
    seconds: float

    @classmethod
    def from_dict(cls, fields: Fields) -> SweepRepeat:
        """What `dataclasses.asdict` gave, read from a file."""
        return cls(
            fields.number("min_confidence", 0, 1),
            fields.whole("run", 0),
            fields.whole("random_state", 0),
            tuple(Choice.from_dict(one) for one in fields.many_fields("choices")),
            fields.text("stop_reason"),
            fields.number("seconds", 0),
        )

    def by(self, rule: str) -> Choice:
        """What a rule deploys."""
        return next(choice for choice in self.choices if choice.rule == rule)


@dataclass(frozen=True, slots=True)
class Spread:
    """Objectives on average over runs, and their standard deviation; None of a single run."""

    mean: Objectives
    deviation: Objectives | None

    @classmethod
    def from_objectives(cls, runs: Sequence[Objectives]) -> Spread:
        """Over runs, at least one.

        Examples
        --------
        >>> Spread.from_objectives([Objectives(1.0, 0.7, 2.0), Objectives(1.0, 0.7, 4.0)]).mean.cost
        3.0
        """
        table = np.array([[one.coverage, one.accuracy, one.cost] for one in runs])
        mean = Objectives(*table.mean(axis=0).tolist())
        if len(table) < 2:
            return cls(mean, None)
        deviation = table.std(axis=0, ddof=1)
        deviation[deviation <= _ROUNDING * np.abs(table.mean(axis=0))] = 0.0
        return cls(mean, Objectives(*deviation.tolist()))

    def cells(self, decimals: int | None = None) -> list[str]:
        """Accuracy and coverage in per cent and cost, each with its deviation, as text.

        `decimals` are those of the cost, the same in all lines of a table.
        """
        shown, digits = [], decimals_of([self.mean.cost]) if decimals is None else decimals
        for name in OBJECTIVES:
            scale, form = (1.0, f".{digits}f") if name == "cost" else (100.0, ".1f")
            text = f"{scale * getattr(self.mean, name):{form}}"
            if self.deviation is not None:
                text += f" ± {scale * getattr(self.deviation, name):{form}}"
            shown.append(text)
        return shown

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Mean and deviation by objective."""
        own = self.deviation
        return {
            name: {"mean": getattr(self.mean, name), "deviation": getattr(own, name, None)}
            for name in OBJECTIVES
        }


@dataclass(frozen=True, slots=True)
class SweepLine:
    """A line of the table: what runs at one threshold deploy by one rule.

    Attributes
    ----------
    min_confidence : float
    rule : str
    n_runs : int
    n_stages : float
        Stages of the deployed designs, on average.
    scored, seen : Spread
    """

    min_confidence: float
    rule: str
    n_runs: int
    n_stages: float
    scored: Spread
    seen: Spread

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **{name: getattr(self, name) for name in ("min_confidence", "rule", "n_runs")},
            "n_stages": self.n_stages,
            **{part: getattr(self, part).to_dict() for part in PARTS},
        }


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdSweep:
    """Searches at many thresholds on one split of one table, which all share one bank.

    Attributes
    ----------
    runs : tuple of SweepRepeat
        By threshold and number of the run.
    prefer : tuple of str
        Rules that tables and pictures show: "fittest", "balanced", "knee".
    search : str
        The search that was run: "paper", "evolution" or "exact".
    settings : SearchSettings
    costs : FeatureCosts
    n_rows : tuple of int
        Training, validation and test rows.
    seed : int
    seconds : float
        Time that this call took by the clock, results known before not included.
    complete : bool
        False where Ctrl-C has ended it.
    of : dict
        What tells it from other sweeps, whatever their thresholds and runs: digests and settings.
    name : str
        Of the data, for headings.
    """

    runs: tuple[SweepRepeat, ...]
    prefer: tuple[str, ...]
    search: str
    settings: SearchSettings
    costs: FeatureCosts
    n_rows: tuple[int, int, int]
    seed: int
    seconds: float
    complete: bool
    of: dict[str, Any]
    name: str = "your data"

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds with runs, from the lowest up."""
        return tuple(sorted({run.min_confidence for run in self.runs}))

    def chosen(self, rule: str, min_confidence: float) -> tuple[Choice, ...]:
        """What the runs at a threshold deploy by a rule, a run each."""
        check_choice("rule", rule, tuple(one.rule for one in self.runs[0].choices))
        return tuple(run.by(rule) for run in self.runs if run.min_confidence == min_confidence)

    def lines(self, rule: str) -> tuple[SweepLine, ...]:
        """The table of one rule, a line for each threshold."""
        found = []
        for threshold in self.thresholds:
            chosen = self.chosen(rule, threshold)
            stages = [max(choice.design) + 1 for choice in chosen]
            spreads = (
                Spread.from_objectives([getattr(one, part) for one in chosen]) for part in PARTS
            )
            found.append(SweepLine(threshold, rule, len(chosen), float(np.mean(stages)), *spreads))
        return tuple(found)

    def counted_runs(self, where: str) -> str:
        """How many runs there are `where`, or altogether where Ctrl-C has come between them."""
        if not self.complete:
            return f"interrupted after {counted(len(self.runs), 'run')}"
        return f"{counted(len(self.runs) // len(self.thresholds), 'run')} {where}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the tables, and every run with the design it deploys."""
        return {
            "data": self.name,
            "search": self.search,
            "settings": asdict(self.settings),
            "rows": dict(zip(("train", "validation", "test"), self.n_rows, strict=True)),
            "costs": dict(zip(self.costs.names, self.costs.costs.tolist(), strict=True)),
            "total_cost": self.costs.total,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
            "of": self.of,
            "tables": {rule: [line.to_dict() for line in self.lines(rule)] for rule in self.prefer},
            "runs": [self._run_dict(run) for run in self.runs],
        }

    def _run_dict(self, run: SweepRepeat) -> dict[str, Any]:
        values = asdict(run)
        for choice, one in zip(run.choices, values["choices"], strict=True):
            del one["design"]
            design = Design(np.array(choice.design), self.costs.names)
            one["stages"] = [list(bought) for bought in design.buys]
        return values

    def to_pandas(self) -> pd.DataFrame:
        """The tables in one, a row for each rule, threshold and part of the rows."""
        return to_pandas(self._columns())

    def _columns(self) -> Columns:
        cells = [
            (line, part, getattr(line, part))
            for rule in self.prefer
            for line in self.lines(rule)
            for part in PARTS
        ]
        columns: dict[str, Any] = {
            name: [getattr(line, name) for line, _, _ in cells]
            for name in ("rule", "min_confidence", "n_runs", "n_stages")
        }
        columns["rows"] = [part for _, part, _ in cells]
        for name in OBJECTIVES:
            columns[name] = [getattr(spread.mean, name) for _, _, spread in cells]
            columns[f"{name} deviation"] = [
                np.nan if spread.deviation is None else getattr(spread.deviation, name)
                for _, _, spread in cells
            ]
        return columns

    def cells(self, rule: str) -> list[list[str]]:
        """Held-out and test figures of each line, as text; costs of a column are aligned."""
        lines = self.lines(rule)
        digits = {
            part: decimals_of([getattr(line, part).mean.cost for line in lines]) for part in PARTS
        }
        return [
            [cell for part in PARTS for cell in getattr(line, part).cells(digits[part])]
            for line in lines
        ]

    def to_markdown(self) -> str:
        """A table for each rule, held-out and test rows apart."""
        return "\n".join(_markdown(self))


def _markdown(sweep: ThresholdSweep) -> Iterator[str]:
    n_train, n_val, n_test = sweep.n_rows
    yield f"# Thresholds on {sweep.name} (seed {sweep.seed})"
    yield ""
    yield (
        f"Search: {sweep.search}, {sweep.counted_runs('at each threshold')}, "
        f"at most {sweep.settings.max_stages} stages. Fitted on {n_train:,} rows, chosen on "
        f"{n_val:,} held-out rows, tested on {n_test:,}. Buying everything costs "
        f"{sweep.costs.total:g}. ± is the standard deviation over runs."
    )
    for rule in sweep.prefer:
        yield ""
        yield f"## Deployed: the {rule} design"
        yield ""
        yield (
            "| min. confidence | runs | stages | held out: accuracy % | coverage % | cost "
            "| test: accuracy % | coverage % | cost |"
        )
        yield "|---|---|---|---|---|---|---|---|---|"
        for line, cells in zip(sweep.lines(rule), sweep.cells(rule), strict=True):
            figures = " | ".join(cells)
            yield f"| {line.min_confidence:g} | {line.n_runs} | {line.n_stages:.1f} | {figures} |"
    if not sweep.complete:
        yield ""
        yield "Interrupted, so some runs are missing; the same command goes on."
