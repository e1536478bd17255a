"""The paper's tuning: its search at many settings, compared by the balanced score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import check_choice, check_seed, check_whole
from emsco._base.documents import PathLike
from emsco._base.typing import FloatArray
from emsco.designs.space import default_max_stages
from emsco.plotting.figures import line_look, name_marks, new_figure
from emsco.search.settings import SearchSettings
from emsco_lab.datasets import Dataset, load, threshold_of
from emsco_lab.jobs import Report, ResultStore, finish_jobs
from emsco_lab.paper.published import SETS, SETTINGS
from emsco_lab.parts import RULES, SplitBanks, split_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS = {
    "population_size": "|G|",
    "mutation_rate": "m̂",
    "crossover_rate": "r̂",
    "stage_bias": "β",
    "elite_fraction": "b",
}
# None is 1 / number of features. The paper prints no grid; this one includes its choices.
GRID: dict[str, tuple[float | None, ...]] = {
    "population_size": (100, 200, 250, 300),
    "mutation_rate": (0.025, 0.05, 0.075, 0.1, None),
    "crossover_rate": (0.7, 0.75, 0.8, 0.9),
    "stage_bias": (1.5, 2.0, 2.5, 3.0),
    "elite_fraction": (0.1, 0.2, 0.3),
}
_DEFAULTS = {"population_size": 300, "elite_fraction": 0.2}
Setting = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TuningJob:
    """Settings that differ only in |G| and b, on one split of one set.

    Attributes
    ----------
    name : str
    split, seed : int
    runs, generations : int
        Repeats of each setting, and generations of each search.
    settings : tuple of tuples
        Values of |G|, m̂, r̂, β and b.
    """

    name: str
    split: int
    seed: int
    runs: int
    generations: int
    settings: tuple[Setting, ...]

    @property
    def title(self) -> str:
        """Set, split, and the values that all settings share."""
        _, mutation, crossover, bias, _ = self.settings[0]
        return f"{self.name} split {self.split} tuning {mutation} {crossover} {bias}"


@dataclass(frozen=True, slots=True)
class TuningExtent:
    """How much of the tuning to do.

    Attributes
    ----------
    sets : tuple of str
    splits : int
        Random splits of each set.
    runs, generations : int
        Repeats of each setting on a split, and generations of each search.
    thin : int
        Try one in so many settings of the grid.
    """

    sets: tuple[str, ...] = SETS
    splits: int = 1
    runs: int = 3
    generations: int = 150
    thin: int = 1

    def __post_init__(self) -> None:
        """Refuse unknown sets, and numbers below 1."""
        for name in self.sets:
            check_choice("sets", name, SETS)
        for field in ("splits", "runs", "generations", "thin"):
            check_whole(field, getattr(self, field), 1)

    def grid(self, name: str) -> list[Setting]:
        """Settings to try on a set: one in `thin` at random, always the same, and the paper's own.

        Taking every `thin`-th in order would tie values of one parameter to values of another.
        """
        every = list(product(*GRID.values()))
        drawn = np.random.default_rng(0).permutation(len(every))[: -(-len(every) // self.thin)]
        tried = {every[i] for i in drawn} | {papers_setting(name)}
        return [setting for setting in every if setting in tried]

    def jobs(self, seed: int) -> list[TuningJob]:
        """All jobs, one set and split after the other."""
        jobs = []
        for name, split in product(self.sets, range(self.splits)):
            together: dict[Setting, list[Setting]] = {}
            for setting in self.grid(name):
                together.setdefault(setting[1:4], []).append(setting)
            jobs += [
                TuningJob(name, split, seed, self.runs, self.generations, tuple(settings))
                for settings in together.values()
            ]
        return jobs


def papers_setting(name: str) -> Setting:
    """Setting that the paper chose for a set."""
    return tuple({**_DEFAULTS, **SETTINGS[name]}[parameter] for parameter in GRID)


@dataclass(frozen=True, slots=True, eq=False)
class SetTuning:
    """Scores of all settings on one set.

    Attributes
    ----------
    name : str
    settings : tuple of tuples
        Values of |G|, m̂, r̂, β and b.
    scores : ndarray of shape (n_settings, n_rules, n_repeats)
        Balanced scores, on scored rows, of the designs deployed by the rules "fittest" and
        "balanced"; a repeat for each search on each split.
    """

    name: str
    settings: tuple[Setting, ...]
    scores: FloatArray

    def means(self, rule: str = "fittest") -> FloatArray:
        """Mean score of each setting, over repeats and splits."""
        means: FloatArray = self.scores[:, RULES.index(rule)].mean(axis=1)
        return means

    def best(self, rule: str = "fittest") -> int:
        """Position of the best setting."""
        return int(np.argmax(self.means(rule)))

    @property
    def papers(self) -> int | None:
        """Position of the paper's setting; None if it has no results."""
        setting = papers_setting(self.name)
        return self.settings.index(setting) if setting in self.settings else None

    def spread(self, rule: str = "fittest") -> tuple[float, float | None]:
        """Standard deviation of the settings' means, and of repeats at one setting.

        The second is None if nothing was repeated.
        """
        scores = self.scores[:, RULES.index(rule)]
        within = float(scores.std(axis=1, ddof=1).mean()) if scores.shape[1] > 1 else None
        return float(self.means(rule).std()), within

    def effects(self, rule: str = "fittest") -> dict[str, list[tuple[float | None, float]]]:
        """Mean score at each value of each parameter, over all values of the others."""
        means, effects = self.means(rule), {}
        for i, (parameter, values) in enumerate(GRID.items()):
            column = [setting[i] for setting in self.settings]
            effects[parameter] = [
                (value, float(means[[one == value for one in column]].mean()))
                for value in values
                if value in column
            ]
        return effects

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "set": self.name,
            "parameters": list(GRID),
            "settings": [list(setting) for setting in self.settings],
            "mean_scores": {rule: self.means(rule).round(6).tolist() for rule in RULES},
            "best": {rule: list(self.settings[self.best(rule)]) for rule in RULES},
            "paper": list(papers_setting(self.name)),
            "spread_of_settings_and_repeats": {rule: self.spread(rule) for rule in RULES},
            "effects": {rule: self.effects(rule) for rule in RULES},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """Results of the tuning so far."""

    sets: tuple[SetTuning, ...]
    seed: int
    seconds: float
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "experiment": "tuning",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
            "sets": [one.to_dict() for one in self.sets],
        }

    def to_markdown(self) -> str:
        """The best settings beside the paper's, and the effect of each parameter."""
        lines = [
            f"# Settings of the paper's search (seed {self.seed})",
            "",
            "Scores are balanced scores, √(coverage² + accuracy² + (1 - cost / cost of "
            "everything)²), of the fittest design of each search on the scored rows. Spread is the "
            "standard deviation of the settings' means, beside that of repeats at one setting.",
            "",
            "| set | settings | best here | score | the paper's | score | worst score | spread |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for one in self.sets:
            means, best, papers = one.means(), one.best(), one.papers
            between, within = one.spread()
            at_papers = "–" if papers is None else f"{means[papers]:.4f}"
            repeats = "–" if within is None else f"{within:.4f}"
            lines.append(
                f"| {one.name} | {len(one.settings)} | {_words(one.settings[best])} "
                f"| {means[best]:.4f} | {_words(papers_setting(one.name))} | {at_papers} "
                f"| {means.min():.4f} | {between:.4f} beside {repeats} |"
            )
        for one in self.sets:
            lines += ["", f"## {one.name}: mean score by value", ""]
            for parameter, values in one.effects().items():
                shown = ", ".join(f"{_value(value)}: {score:.4f}" for value, score in values)
                lines.append(f"- {PARAMETERS[parameter]}: {shown}")
        return "\n".join(lines)


def reproduce_tuning(
    folder: PathLike,
    extent: TuningExtent | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    report: Report | None = None,
) -> Tuning:
    """Try the paper's search at every setting of the grid, and keep each result as it comes.

    Parameters
    ----------
    folder : path
        Keeps results; those that it already has are not computed again.
    extent : TuningExtent, optional
        How much to do; by default everything.
    seed : int
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    started = perf_counter()
    jobs = (extent or TuningExtent()).jobs(check_seed("seed", seed))
    results, complete = finish_jobs(jobs, _do_job, ResultStore(Path(folder)), n_jobs, report)
    sets = []
    for name in dict.fromkeys(job.name for job in jobs if job in results):
        scores: dict[Setting, list[Any]] = {}
        for job in sorted((job for job in results if job.name == name), key=lambda job: job.split):
            for setting, rules in zip(job.settings, results[job].items("scores"), strict=True):
                scores.setdefault(setting, []).append(rules)
        # An interruption may have cut settings short: they are left out.
        n_splits = max(map(len, scores.values()))
        whole = {s: np.concatenate(p, axis=1) for s, p in scores.items() if len(p) == n_splits}
        settings = tuple(sorted(whole, key=list(product(*GRID.values())).index))
        sets.append(SetTuning(name, settings, np.array([whole[setting] for setting in settings])))
    return Tuning(tuple(sets), seed, perf_counter() - started, complete)


@lru_cache(maxsize=1)
def _banks(name: str, split: int, seed: int) -> tuple[Dataset, SplitBanks]:
    """Open a set and the banks of a split once per process; all settings share them."""
    data = load(name, seed)
    return data, SplitBanks(split_parts(data, split, seed))


def _do_job(job: TuningJob) -> dict[str, Any]:
    """Compute scores by setting, rule and repeat."""
    data, banks = _banks(job.name, job.split, job.seed)
    n_features = data.X.shape[1]
    by_setting = []
    for setting in job.settings:
        values: dict[str, Any] = dict(zip(GRID, setting, strict=True))
        if values["mutation_rate"] is None:
            values["mutation_rate"] = 1 / n_features
        settings = SearchSettings(
            default_max_stages(n_features), generations=job.generations, **values
        )
        scores: list[list[float]] = [[] for _ in RULES]
        for repeat in range(job.runs):
            # Every setting has the same seeds, so that none is luckier than another.
            rng = np.random.default_rng([job.seed, job.split, repeat])
            result = banks.search("paper", settings, threshold_of(data), rng)
            for rule, into in zip(RULES, scores, strict=True):
                choice = banks.choose(result, rule, threshold_of(data))
                into.append(choice.scored.balanced(data.costs.total))
        by_setting.append(scores)
    return {"scores": by_setting}


def _words(setting: Sequence[float | None]) -> str:
    """A setting in words; | is escaped, since it would end a cell of a Markdown table."""
    named = zip(PARAMETERS.values(), setting, strict=True)
    words = ", ".join(f"{symbol} {_value(value)}" for symbol, value in named)
    return words.replace("|", r"\|")


def _value(value: float | None) -> str:
    return "1/n" if value is None else f"{value:g}"


def draw_tuning(result: Tuning) -> Figure:
    """Draw the mean balanced score at each value of each parameter, a line per set."""
    figure = new_figure(2.3 * len(PARAMETERS) + 0.6, 2.6)
    panels = figure.subplots(1, len(PARAMETERS), sharey=True)
    for i, one in enumerate(result.sets):
        look = line_look(i) | {"markevery": None, "label": one.name}
        for panel, values in zip(panels, one.effects().values(), strict=True):
            words = [_value(value) for value, _ in values]
            panel.plot(words, [score for _, score in values], **look)
    for panel, symbol in zip(panels, PARAMETERS.values(), strict=True):
        panel.set_xlabel(symbol, fontsize=9)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("balanced score", fontsize=8)
    name_marks(figure, panels, columns=5, fontsize=8)
    return figure
