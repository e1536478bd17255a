"""A sweep over thresholds: many searches at each with the same models, as tables and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from emsco._base.checks import check_choice, check_seed, check_whole, refused
from emsco._base.documents import Fields, PathLike
from emsco._base.objectives import Objectives
from emsco._base.text import counted, decimals_of
from emsco._base.typing import FloatArray
from emsco.costs import FeatureCosts
from emsco.data.frames import to_pandas
from emsco.data.random_states import draw_seed
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.design import Design
from emsco.designs.thresholds import check_min_confidence
from emsco.fitting import seeds_of_fit
from emsco.plotting.figures import COLOURS, add_scale, coverage_ends, new_figure
from emsco.search.settings import SearchRequest, SearchSettings, with_paper_search
from emsco_lab.jobs import Begin, Report, ResultStore, finish_jobs, opened_store
from emsco_lab.parts import EVERY_RULE, Choice, EncodedParts, Parts, SplitBanks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

THRESHOLDS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_SETTINGS = (
    "search",
    "max_stages",
    "population_size",
    "generations",
    "patience",
    "allow_exclusion",
)
_BILLIONTHS = 10**9
_MAX_SUBSETS = 2**17  # up to so many, all subsets may be fitted before the searches begin
_DESIGNS_PER_SUBSET = 10  # fitting all pays if searches score so many designs per subset
OBJECTIVES = ("accuracy", "coverage", "cost")
PARTS = ("scored", "seen")
_ROUNDING = 1e-12  # share of the mean: repeats with one and the same design deviate by no more
_ROWS = {"scored": "scored", "seen": "test"}
_NOTE = (
    "Large marks with their threshold: means over repeats, with bars of one standard deviation; "
    "small dots: repeats."
)


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
    def from_dict(cls, job: SweepJob, fields: Fields) -> SweepRepeat:
        """Read the result of a job, as `dataclasses.asdict` wrote it."""
        choices = tuple(Choice.from_dict(one) for one in fields.many_fields("choices"))
        if (rules := tuple(choice.rule for choice in choices)) != EVERY_RULE:
            fields.refuse("choices", f"one by each rule, {', '.join(EVERY_RULE)}", list(rules))
        return cls(
            job.min_confidence,
            job.repeat,
            job.random_state,
            choices,
            fields.text("stop_reason"),
            fields.number("seconds", 0),
        )

    def by(self, rule: str) -> Choice:
        """The design that a rule deploys."""
        return next(choice for choice in self.choices if choice.rule == rule)


@dataclass(frozen=True, slots=True)
class RepeatSpread:
    """Mean objectives over repeats, and their standard deviation; None for a single repeat."""

    mean: Objectives
    deviation: Objectives | None

    @classmethod
    def from_objectives(cls, repeats: Sequence[Objectives]) -> RepeatSpread:
        """Compute mean and deviation over one or more repeats.

        Examples
        --------
        >>> repeats = [Objectives(1.0, 0.7, 2.0), Objectives(1.0, 0.7, 4.0)]
        >>> RepeatSpread.from_objectives(repeats).mean.cost
        3.0
        """
        figures = np.array([[one.coverage, one.accuracy, one.cost] for one in repeats])
        mean = Objectives(*figures.mean(axis=0).tolist())
        if len(figures) < 2:
            return cls(mean, None)
        # Of a sample, as repeats stand for all searches that might have been run.
        deviation = figures.std(axis=0, ddof=1)
        # Repeats with one and the same design differ by rounding alone.
        deviation[deviation <= _ROUNDING * np.abs(figures.mean(axis=0))] = 0.0
        return cls(mean, Objectives(*deviation.tolist()))

    def cells(self, decimals: int) -> list[str]:
        """Accuracy and coverage in percent, and cost with so many decimals, each ± deviation."""
        shown = []
        for name in OBJECTIVES:
            # Shares in percent, costs in their own unit.
            scale, form = (1.0, f".{decimals}f") if name == "cost" else (100.0, ".1f")
            text = f"{scale * getattr(self.mean, name):{form}}"
            if self.deviation is not None:
                text += f" ± {scale * getattr(self.deviation, name):{form}}"
            shown.append(text)
        return shown

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Mean and deviation by objective."""
        return {
            name: {
                "mean": getattr(self.mean, name),
                "deviation": getattr(self.deviation, name, None),
            }
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
    scored, seen : RepeatSpread
    """

    min_confidence: float
    rule: str
    n_repeats: int
    n_stages: float
    scored: RepeatSpread
    seen: RepeatSpread

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {part: getattr(self, part).to_dict() for part in PARTS}


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
        lines = []
        for threshold in self.thresholds:
            chosen = self.chosen(rule, threshold)
            lines.append(
                SweepLine(
                    threshold,
                    rule,
                    n_repeats=len(chosen),
                    n_stages=float(np.mean([max(choice.design) + 1 for choice in chosen])),
                    scored=RepeatSpread.from_objectives([choice.scored for choice in chosen]),
                    seen=RepeatSpread.from_objectives([choice.seen for choice in chosen]),
                )
            )
        return tuple(lines)

    def counted_repeats(self, where: str) -> str:
        """Words for the number of repeats `where`; in total if Ctrl-C stopped the sweep."""
        if not self.complete:
            return f"interrupted after {counted(len(self.repeats), 'repeat')}"
        # Complete sweeps have as many repeats at each threshold.
        return f"{counted(len(self.repeats) // len(self.thresholds), 'repeat')} {where}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the tables, and every repeat with the designs it deploys."""
        repeats = [asdict(one) for one in self.repeats]
        for choice in (choice for one in repeats for choice in one["choices"]):
            design = Design(np.array(choice.pop("design")), self.costs.names)
            choice["stages"] = [list(bought) for bought in design.buys]
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
            "repeats": repeats,
        }

    def to_pandas(self) -> pd.DataFrame:
        """All tables in one, with a row for each rule, threshold and kind of figures."""
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
        return to_pandas(columns)

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
        n_train, n_scored, n_test = self.n_rows
        lines = [
            f"# Thresholds on {self.name} (seed {self.seed})",
            "",
            f"Search: {self.search}, {self.counted_repeats('at each threshold')}, "
            f"at most {self.settings.max_stages} stages. Models are fitted on {n_train:,} rows, "
            f"designs scored on {n_scored:,} and seen on {n_test:,} test rows. Buying everything "
            f"costs {self.costs.total:g}. ± is the standard deviation over repeats.",
        ]
        for rule in self.prefer:
            lines += [
                "",
                f"## Deployed: the {rule} design",
                "",
                "| min. confidence | repeats | stages | scored: accuracy % | coverage % | cost "
                "| seen: accuracy % | coverage % | cost |",
                "|---|---|---|---|---|---|---|---|---|",
            ]
            lines += [
                f"| {line.min_confidence:g} | {line.n_repeats} | {line.n_stages:.1f} "
                f"| {' | '.join(cells)} |"
                for line, cells in zip(self.lines(rule), self.cells(rule), strict=True)
            ]
        if not self.complete:
            lines += ["", "Interrupted: some repeats are missing; the same command goes on."]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SweepJob:
    """One search at one threshold.

    Attributes
    ----------
    data : str
        Digest of rows, labels, costs and split.
    search : str
        "paper", "evolution" or "exact".
    settings : SearchSettings
    min_confidence : float
    repeat, seed : int
    """

    data: str
    search: str
    settings: SearchSettings
    min_confidence: float
    repeat: int
    seed: int

    @property
    def title(self) -> str:
        """Threshold and number of the repeat."""
        return f"threshold {self.min_confidence:g} repeat {self.repeat}"

    @property
    def random_state(self) -> int:
        """Seed of this search, independent of other thresholds and repeats."""
        words = [self.seed, self.repeat, round(self.min_confidence * _BILLIONTHS)]
        return int(np.random.SeedSequence(words).generate_state(1)[0])


@dataclass(frozen=True, slots=True)
class _Bench:
    """Data and models that a process needs to do jobs; equal digests mean equal benches.

    Each process opens banks of its own and gives them the models of all subsets, if there are any.
    """

    digest: str
    split: EncodedParts = field(compare=False)
    models: FloatArray | None = field(compare=False)


def sweep_thresholds(
    parts: Parts,
    min_confidence: Sequence[float] = THRESHOLDS,
    runs: int = 10,
    *,
    prefer: Sequence[str] = ("fittest",),
    seed: int = 0,
    folder: PathLike | None = None,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
    **settings: Any,
) -> ThresholdSweep:
    """Repeat a search at every threshold, and test the designs that it deploys.

    Parameters
    ----------
    parts : Parts
        Training, scored and test rows.
    min_confidence : sequence of float
        Thresholds, each above chance.
    runs : int
        Searches at each threshold; "exact" runs once, since it draws nothing at random.
    prefer : sequence of str
        Rules for the design to show: "fittest" (the paper's), "balanced", "knee".
    seed : int
        Together with the threshold and the number of the repeat, the seed of a search.
    folder : path, optional
        Keeps results as they come; results that it already has are not computed again.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with the digests and settings of the sweep, after all checks and before any
        computation; may refuse.
    report : callable, optional
        Called with the number of searches done, the number of all, and the last one's title.
    **settings
        Search parameters of `EMSCOClassifier`, such as `search` (here "paper" by default),
        `max_stages`, `population_size` and `generations`.

    Ctrl-C stops early: complete searches are kept, and `complete` is False.

    Examples
    --------
    >>> from emsco_lab.datasets import load
    >>> from emsco_lab import split_parts
    >>> parts = split_parts(load("breast_cancer"), split=0, seed=0)
    >>> few = {"generations": 2, "population_size": 10, "max_stages": 2}
    >>> sweep = sweep_thresholds(parts, [0.9, 0.99], runs=2, n_jobs=1, **few)
    >>> low, high = sweep.lines("fittest")
    >>> low.seen.mean.coverage >= high.seen.mean.coverage
    True
    """
    started = perf_counter()
    if not prefer:
        raise refused("prefer", "be one rule or more", prefer, got="none")
    rules = tuple(dict.fromkeys(check_choice("prefer", rule, EVERY_RULE) for rule in prefer))
    check_whole("runs", runs, 1)
    check_seed("seed", seed)
    split = EncodedParts.from_parts(parts)
    classes = split.data.classes
    thresholds = sorted({float(check_min_confidence(one, classes)) for one in min_confidence})  # type: ignore[arg-type]
    if not thresholds:
        raise refused("min_confidence", "be one threshold or more", min_confidence, got="none")
    asked = with_paper_search({"search": "paper", **settings})
    for name in asked:
        if name not in _SETTINGS:
            raise refused("settings", f"be out of {', '.join(_SETTINGS)}", settings, got=repr(name))
    request = SearchRequest.from_parameters(**asked)
    search_settings = request.over(Blocks.from_constraints(Constraints(), parts.costs.names))
    banks = SplitBanks(split, effective_n_jobs(n_jobs))
    search = banks.plan(request.kind, search_settings, thresholds[0]).kind
    digest = split.digest()
    jobs = [
        SweepJob(digest, search, search_settings, threshold, repeat, seed)
        for threshold in thresholds
        for repeat in range(1 if search == "exact" else runs)
    ]
    of = {**split.facts(), "search": search, "seed": seed, **asdict(search_settings)}
    if begin:
        begin(of)
    try:
        with opened_store(folder) as store:
            bench = _Bench(digest, split, _models(banks, jobs, store, report))
            results, complete = finish_jobs(jobs, partial(_do_job, bench), store, n_jobs, report)
    finally:
        _banks.cache_clear()
    return ThresholdSweep(
        tuple(SweepRepeat.from_dict(job, results[job]) for job in jobs if job in results),
        prefer=rules,
        search=search,
        settings=search_settings,
        costs=parts.costs,
        n_rows=(len(parts.train), len(parts.val), len(parts.test)),
        seed=seed,
        seconds=perf_counter() - started,
        complete=complete,
        of=of,
    )


def _models(
    banks: SplitBanks, jobs: Sequence[SweepJob], store: ResultStore, report: Report | None
) -> FloatArray | None:
    """Fit all subsets once for all processes; None if searches will ask for few of them."""
    first, n_subsets = jobs[0], banks.n_subsets
    n_todo = sum(not store.path(job).exists() for job in jobs)
    n_designs = n_todo * first.settings.population_size * max(1, first.settings.generations)
    # Searches share subsets: with many designs for each, nearly every subset is asked for, and
    # fitting all at once is quicker than in each process.
    worth = n_designs >= _DESIGNS_PER_SUBSET * n_subsets or first.search == "exact"
    if not n_todo or not worth or n_subsets > min(_MAX_SUBSETS, banks.capacity):
        return None

    def fitting(done: int, total: int) -> None:
        if report:
            report(0, len(jobs), f"fitting {n_subsets:,} subsets, {done / total:.0%}")

    return banks.fit_every(fitting)


@lru_cache(maxsize=1)
def _banks(bench: _Bench) -> SplitBanks:
    """Open the banks that all searches of a process share."""
    banks = SplitBanks(bench.split)
    if bench.models is not None:
        banks.adopt(bench.models)
    return banks


def _do_job(bench: _Bench, job: SweepJob) -> dict[str, Any]:
    """Search once, and choose a design by every rule."""
    banks = _banks(bench)
    started = process_time()
    rng = np.random.default_rng(seeds_of_fit(draw_seed(job.random_state))[1])
    result = banks.search(job.search, job.settings, job.min_confidence, rng)
    choices = tuple(banks.choose(result, rule, job.min_confidence) for rule in EVERY_RULE)
    return asdict(
        SweepRepeat(
            job.min_confidence,
            job.repeat,
            job.random_state,
            choices,
            stop_reason=str(result.stop_reason),
            seconds=round(process_time() - started, 4),
        )
    )


def draw_sweep(sweep: ThresholdSweep) -> Figure:
    """Draw accuracy against mean cost of the designs deployed at each threshold.

    Each rule has a line of panels: scored rows on the left, test rows on the right. Large markers
    are means over repeats, with their threshold and bars of one standard deviation. Small ones are
    single repeats. Colour shows coverage. A design that accepts no row has no accuracy to draw.
    """
    if not sweep.repeats:
        raise refused("sweep", "hold at least one repeat", sweep, got="none")
    figure = new_figure(7.0, 3.2 * len(sweep.prefer) + 0.2)
    panels = figure.subplots(len(sweep.prefer), 2, squeeze=False, sharex=True, sharey=True)
    # The range of coverage over all repeats that are drawn, in round numbers.
    figures = [
        getattr(repeat.by(rule), part)
        for repeat in sweep.repeats
        for rule in sweep.prefer
        for part in PARTS
    ]
    ends = coverage_ends([one.coverage for one in figures if one.coverage])
    look = {"cmap": COLOURS, "vmin": ends[0], "vmax": ends[1]}
    for rule, line in zip(sweep.prefer, panels, strict=True):
        for part, panel in zip(PARTS, line, strict=True):
            every = [getattr(repeat.by(rule), part) for repeat in sweep.repeats]
            dots = [one for one in every if one.coverage]
            panel.scatter(
                [one.cost for one in dots],
                [one.accuracy for one in dots],
                c=[one.coverage for one in dots],
                s=7,
                alpha=0.5,
                linewidths=0,
                **look,
            )
            shown = [one for one in sweep.lines(rule) if getattr(one, part).mean.coverage]
            means = [getattr(one, part).mean for one in shown]
            path = [one.cost for one in means], [one.accuracy for one in means]
            panel.plot(*path, color="0.75", linewidth=0.8, zorder=1)
            for one in shown:
                _draw_mean(panel, one, getattr(one, part), look)
            panel.margins(0.14, 0.1)
            panel.set_title(f"{rule} design, {_ROWS[part]} rows", fontsize=9)
            panel.tick_params(labelsize=7)
        line[0].set_ylabel("accuracy of accepted rows", fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("mean cost of a row", fontsize=8)
    add_scale(figure, panels, "coverage", ends, shrink=0.9)
    figure.supxlabel(_NOTE, fontsize=7)
    return figure


def _draw_mean(panel: Any, line: SweepLine, spread: RepeatSpread, colours: dict[str, Any]) -> None:
    mean, deviation = spread.mean, spread.deviation
    if deviation is not None:
        panel.errorbar(
            mean.cost,
            mean.accuracy,
            yerr=deviation.accuracy,
            xerr=deviation.cost,
            color="0.6",
            linewidth=0.8,
            zorder=2,
        )
    look: dict[str, Any] = {"s": 46, "edgecolors": "0.1", "linewidths": 0.7, "zorder": 3}
    panel.scatter(mean.cost, mean.accuracy, c=[mean.coverage], **look, **colours)
    panel.annotate(
        f"{line.min_confidence:g}",
        (mean.cost, mean.accuracy),
        xytext=(-5, 4),
        textcoords="offset points",
        horizontalalignment="right",
        fontsize=7,
    )
