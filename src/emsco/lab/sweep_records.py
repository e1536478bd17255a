"""Results of a sweep over thresholds: the record and its tables."""

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
from emsco.lab.searching import EVERY_RULE, Choice
from emsco.search.settings import SearchSettings

if TYPE_CHECKING:
    import pandas as pd

OBJECTIVES = ("accuracy", "coverage", "cost")
PARTS = ("scored", "seen")
_ROUNDING = 1e-12  # share of the mean: repeats with one and the same design deviate by no more


@dataclass(frozen=True, slots=True)
class SweepRepeat:
    """One search at one threshold, and the designs that each rule deploys.

    Attributes
    ----------
    min_confidence : float
    repeat : int
        From 0.
    random_state : int
        With this seed, `EMSCOClassifier` makes the same search on the same split.
    choices : tuple of Choice
        A design by each rule, with its figures on scored and on test rows.
    stop_reason : str
    seconds : float
        Processor time.
    """

    min_confidence: float
    repeat: int
    random_state: int
    choices: tuple[Choice, ...]
    stop_reason: str
    seconds: float

    @classmethod
    def from_dict(cls, fields: Fields) -> SweepRepeat:
        """Read the values that `dataclasses.asdict` wrote."""
        choices = tuple(Choice.from_dict(one) for one in fields.many_fields("choices"))
        if (rules := tuple(choice.rule for choice in choices)) != EVERY_RULE:
            fields.refuse("choices", f"one by each rule, {', '.join(EVERY_RULE)}", list(rules))
        return cls(
            fields.number("min_confidence", 0, 1),
            fields.whole("repeat", 0),
            fields.whole("random_state", 0),
            choices,
            fields.text("stop_reason"),
            fields.number("seconds", 0),
        )

    def by(self, rule: str) -> Choice:
        """The design that a rule deploys."""
        return next(choice for choice in self.choices if choice.rule == rule)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean objectives over repeats, and their standard deviation; None for a single repeat."""

    mean: Objectives
    deviation: Objectives | None

    @classmethod
    def from_objectives(cls, repeats: Sequence[Objectives]) -> Spread:
        """Compute mean and deviation over one or more repeats.

        Examples
        --------
        >>> Spread.from_objectives([Objectives(1.0, 0.7, 2.0), Objectives(1.0, 0.7, 4.0)]).mean.cost
        3.0
        """
        figures = np.array([[one.coverage, one.accuracy, one.cost] for one in repeats])
        mean = Objectives(*figures.mean(axis=0).tolist())
        if len(figures) < 2:
            return cls(mean, None)
        deviation = figures.std(axis=0, ddof=1)
        deviation[deviation <= _ROUNDING * np.abs(figures.mean(axis=0))] = 0.0
        return cls(mean, Objectives(*deviation.tolist()))

    def cells(self, decimals: int | None = None) -> list[str]:
        """Accuracy and coverage in percent, and cost, each with its deviation, as text.

        Parameters
        ----------
        decimals : int, optional
            Decimals of the cost; by default as many as this one needs.
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
    """A line of the table: the designs that one rule deploys at one threshold.

    Attributes
    ----------
    min_confidence : float
    rule : str
    n_repeats : int
    n_stages : float
        Mean number of stages of the deployed designs.
    scored, seen : Spread
    """

    min_confidence: float
    rule: str
    n_repeats: int
    n_stages: float
    scored: Spread
    seen: Spread

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **{name: getattr(self, name) for name in ("min_confidence", "rule", "n_repeats")},
            "n_stages": self.n_stages,
            **{part: getattr(self, part).to_dict() for part in PARTS},
        }


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdSweep:
    """Searches at many thresholds on one split of one table.

    Attributes
    ----------
    repeats : tuple of SweepRepeat
        By threshold and number of the repeat.
    prefer : tuple of str
        Rules that tables and pictures show: "fittest", "balanced", "knee".
    search : str
        The search in use: "paper", "evolution" or "exact".
    settings : SearchSettings
    costs : FeatureCosts
    n_rows : tuple of int
        Training, scored and test rows.
    seed : int
    seconds : float
        Wall-clock time of this call, without that of earlier results.
    complete : bool
        False if Ctrl-C stopped the sweep.
    of : dict
        Digests and settings that identify the sweep, whatever its thresholds and repeats.
    name : str
        Name of the data, for headings.
    """

    repeats: tuple[SweepRepeat, ...]
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
        """Thresholds with results, from the lowest up."""
        return tuple(sorted({one.min_confidence for one in self.repeats}))

    def chosen(self, rule: str, min_confidence: float) -> tuple[Choice, ...]:
        """The designs that a rule deploys at a threshold, one per repeat."""
        check_choice("rule", rule, tuple(one.rule for one in self.repeats[0].choices))
        return tuple(one.by(rule) for one in self.repeats if one.min_confidence == min_confidence)

    def lines(self, rule: str) -> tuple[SweepLine, ...]:
        """Lines of the table of one rule, one per threshold."""
        found = []
        for threshold in self.thresholds:
            chosen = self.chosen(rule, threshold)
            stages = [max(choice.design) + 1 for choice in chosen]
            spreads = (
                Spread.from_objectives([getattr(one, part) for one in chosen]) for part in PARTS
            )
            found.append(SweepLine(threshold, rule, len(chosen), float(np.mean(stages)), *spreads))
        return tuple(found)

    def counted_repeats(self, where: str) -> str:
        """Words for the number of repeats `where`; in total if Ctrl-C stopped the sweep."""
        if not self.complete:
            return f"interrupted after {counted(len(self.repeats), 'repeat')}"
        return f"{counted(len(self.repeats) // len(self.thresholds), 'repeat')} {where}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the tables, and every repeat with the designs it deploys."""
        return {
            "data": self.name,
            "search": self.search,
            "settings": asdict(self.settings),
            "rows": dict(zip(("train", "scored", "test"), self.n_rows, strict=True)),
            "costs": dict(zip(self.costs.names, self.costs.costs.tolist(), strict=True)),
            **({"fees": [fee.to_dict() for fee in self.costs.fees]} if self.costs.fees else {}),
            "total_cost": self.costs.total,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
            "of": self.of,
            "tables": {rule: [line.to_dict() for line in self.lines(rule)] for rule in self.prefer},
            "repeats": [self._repeat_dict(one) for one in self.repeats],
        }

    def _repeat_dict(self, repeat: SweepRepeat) -> dict[str, Any]:
        values = asdict(repeat)
        for choice, one in zip(repeat.choices, values["choices"], strict=True):
            del one["design"]
            design = Design(np.array(choice.design), self.costs.names)
            one["stages"] = [list(bought) for bought in design.buys]
        return values

    def to_pandas(self) -> pd.DataFrame:
        """All tables in one, with a row for each rule, threshold and kind of figures."""
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
            for name in ("rule", "min_confidence", "n_repeats", "n_stages")
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
        """Scored and seen figures of each line as text, with costs aligned by column."""
        lines = self.lines(rule)
        digits = {
            part: decimals_of([getattr(line, part).mean.cost for line in lines]) for part in PARTS
        }
        return [
            [cell for part in PARTS for cell in getattr(line, part).cells(digits[part])]
            for line in lines
        ]

    def to_markdown(self) -> str:
        """A table for each rule, scored and seen figures apart."""
        return "\n".join(_markdown(self))


def _markdown(sweep: ThresholdSweep) -> Iterator[str]:
    n_train, n_scored, n_test = sweep.n_rows
    yield f"# Thresholds on {sweep.name} (seed {sweep.seed})"
    yield ""
    yield (
        f"Search: {sweep.search}, {sweep.counted_repeats('at each threshold')}, "
        f"at most {sweep.settings.max_stages} stages. Models are fitted on {n_train:,} rows, "
        f"designs scored on {n_scored:,} and seen on {n_test:,} test rows. Buying everything costs "
        f"{sweep.costs.total:g}. ± is the standard deviation over repeats."
    )
    for rule in sweep.prefer:
        yield ""
        yield f"## Deployed: the {rule} design"
        yield ""
        yield (
            "| min. confidence | repeats | stages | scored: accuracy % | coverage % | cost "
            "| seen: accuracy % | coverage % | cost |"
        )
        yield "|---|---|---|---|---|---|---|---|---|"
        for line, cells in zip(sweep.lines(rule), sweep.cells(rule), strict=True):
            figures = " | ".join(cells)
            yield (
                f"| {line.min_confidence:g} | {line.n_repeats} | {line.n_stages:.1f} | {figures} |"
            )
    if not sweep.complete:
        yield ""
        yield "Interrupted: some repeats are missing; the same command goes on."
