"""The paper's comparison: EMSCO and its rivals on five data sets, over many random splits.

Rivals are tuned and designs chosen on scored rows; all are tested on test rows. The report has the
paper's numbers beside ours, paired tests, rivals at EMSCO's cost, and the paper's claims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._base.checks import check_choice, check_whole, refused
from emsco._base.documents import Fields, PathLike
from emsco._base.objectives import Objectives
from emsco.designs.space import default_max_stages
from emsco.errors import FileError, ParameterError
from emsco.plotting.figures import STYLES, name_marks, new_figure, soften
from emsco.search.settings import SearchSettings
from emsco.stats.tests import ALPHA
from emsco_lab.compare import TrialJob
from emsco_lab.compare_report import markdown_table
from emsco_lab.datasets import Dataset, load, threshold_of
from emsco_lab.jobs import Report, ResultStore, finish_jobs
from emsco_lab.methods import label_of, new_rival, setting_words, spread
from emsco_lab.paper.published import MARGINS, SETS, SETTINGS, TABLE
from emsco_lab.parts import (
    LARGEST_STUDY_SEED,
    RULES,
    SPLITS_PER_SEED,
    Parts,
    SplitBanks,
    split_parts,
    split_seed,
)
from emsco_lab.rivals import CostedClassifier, tune
from emsco_lab.standings import Duel, Standing, duels
from emsco_lab.trials import ANYTHING, Answers, Offer, Seen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# "excluding" is an evolution whose designs may leave features out.
SEARCHES = ("paper", "evolution", "exact", "excluding")
RIVALS = ("greedy_miser", "cstc", "astc", "cact_lasso", "cost_ordered", "cost_aware_boosting")
METHODS = (*SEARCHES, *RIVALS)
_PAPER_RIVALS = ("greedy_miser", "cstc", "cact_lasso", "cost_ordered")
_TUNED, _CURVE = "tuned", "curve"  # the setting that a rival deploys, and those to choose from
_EVERY = 10**6  # more settings than any grid has
_EXACT_SECONDS = 1800.0  # an exact search of one split may take so long
_MAX_DESIGNS = 10**10  # in larger spaces, exact search has fewer stages:
_EXACT_STAGES = 4  # as many as in the paper's own proofs
_FEWER = 5  # times fewer repeats of "excluding", which the paper does not have
_SPREAD = ("synthetic50",)  # a search fits some 150,000 subsets: repeats are spread over splits
_ROUNDING = 1e-9
_ABOUT_DUELS = (
    "Mean gains of EMSCO over splits: accuracy and coverage in points, and cost. Bold gains are "
    "significant at 5 % in a paired t-test over splits (Nadeau and Bengio's, since splits share "
    "rows). Holm's method corrects all tests of a contestant on a set. *Dominates* means as good "
    "on average in all three and significantly better in one."
)
_ABOUT_EQUAL_COST = (
    "Here each rival is tuned for EMSCO's budget. Among its settings that cost no more than EMSCO "
    "on the scored rows of a split, it deploys the one with the largest coverage² + accuracy² "
    "there. (The balanced score would also reward settings that buy next to nothing.) Gains and "
    "tests are as above."
)
_OURS: dict[str, Any] = {"marker": "o", "color": STYLES[0]["color"], "markersize": 4}
_RIVALS: dict[str, Any] = {"marker": "s", "color": STYLES[1]["color"], "markersize": 4}
_PRINTED: dict[str, Any] = {"marker": "D", "color": "0.4", "markersize": 5, "fillstyle": "none"}


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method and its rule for the design to deploy: a line of the table."""

    method: str
    rule: str

    @property
    def is_emsco(self) -> bool:
        """Whether it is one of EMSCO's searches."""
        return self.method in SEARCHES

    @property
    def label(self) -> str:
        """Name in tables and drawings."""
        return f"EMSCO {self.method}, {self.rule}" if self.is_emsco else label_of(self.method)


CONTESTANTS = tuple(
    Contestant(method, rule)
    for method in METHODS
    for rule in (RULES if method in SEARCHES else (_TUNED,))
)
PAPERS = Contestant("paper", "fittest")  # the contestant that the paper deploys
Place: TypeAlias = tuple[str, Contestant]  # a contestant on a set
Duels: TypeAlias = dict[Contestant, Duel]  # of one contestant on one set, by rival
Gains: TypeAlias = dict[str, tuple[float, ...]]  # in coverage, accuracy and cost, by rival


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the comparison to do.

    Attributes
    ----------
    sets, methods : tuple of str
    splits : int
        Random splits of each set.
    runs : int
        Repeats of EMSCO's searches on a split; on Synthetic50, on all splits together.
    generations : int
        Generations of each search.
    max_settings : int
        Largest number of settings to try of each rival's grid.
    """

    sets: tuple[str, ...] = SETS
    methods: tuple[str, ...] = METHODS
    splits: int = 10
    runs: int = 50
    generations: int = 150
    max_settings: int = _EVERY

    def __post_init__(self) -> None:
        """Refuse unknown sets and methods, and numbers below 1."""
        for name in self.sets:
            check_choice("sets", name, SETS)
        for method in self.methods:
            check_choice("methods", method, METHODS)
        check_whole("splits", self.splits, 1, SPLITS_PER_SEED)
        for field in ("runs", "generations", "max_settings"):
            check_whole(field, getattr(self, field), 1)

    def jobs(self, seed: int) -> list[PaperJob]:
        """All jobs, split by split, so that early results cover all sets and methods."""
        jobs = []
        for split, name, method in product(range(self.splits), self.sets, self.methods):
            if method not in SEARCHES:
                jobs.append(PaperJob(name, split, method, seed, most=self.max_settings))
                continue
            # Rounded up, so that there is a repeat on every split.
            runs = -(-self.runs // self.splits) if name in _SPREAD else self.runs
            runs = {"exact": 1, "excluding": -(-runs // _FEWER)}.get(method, runs)
            jobs.append(
                PaperJob(name, split, method, seed, generations=self.generations, runs=runs)
            )
        return jobs


QUICK = Extent(sets=("heart", "pima"), splits=2, runs=2, generations=40, max_settings=4)


@dataclass(frozen=True, slots=True)
class PaperJob(TrialJob):
    """One method on one split of one set; `runs` are repeats of one of EMSCO's searches.

    Fields that a method does not use keep their defaults, so that its results stay valid.
    """

    most: int = _EVERY
    generations: int = 1
    runs: int = 1

    @property
    def title(self) -> str:
        """Set, split and method."""
        return f"{self.data} split {self.split} {self.method}"

    @property
    def effort(self) -> tuple[int, int, int]:
        """Repeats, generations and settings, to prefer the more thorough of two results."""
        return self.runs, self.generations, self.most


def reproduce_comparison(
    folder: PathLike,
    extent: Extent | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    report: Report | None = None,
) -> PaperComparison:
    """Try every method on every split of every set, and keep each result as it comes.

    Parameters
    ----------
    folder : path
        Keeps results; those that it already has are not computed again.
    extent : Extent, optional
        How much to do; by default everything, which takes hours. `QUICK` takes a minute or two.
    seed : int
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    started = perf_counter()
    jobs = (extent or Extent()).jobs(check_whole("seed", seed, 0, LARGEST_STUDY_SEED))
    fields, complete = finish_jobs(jobs, _do_job, ResultStore(Path(folder)), n_jobs, report)
    return PaperComparison(_read(fields), seed, perf_counter() - started, complete)


def known_comparison(folder: PathLike, seed: int = 0) -> PaperComparison:
    """Read the results in a folder, of one command or many, without computing anything.

    Of several results of a method on a split, the one with the most repeats and settings counts.
    """
    best: dict[tuple[int, int, int], tuple[PaperJob, Fields]] = {}
    for job, fields in ResultStore(Path(folder)).every(PaperJob):
        if job.data not in SETS or job.method not in METHODS:
            continue  # written by another version
        place = job.split, SETS.index(job.data), METHODS.index(job.method)
        if job.seed == seed and (place not in best or job.effort > best[place][0].effort):
            best[place] = job, fields
    if not best:
        raise FileError(
            f"{folder} must hold results of a comparison of seed {seed}, got none; those of "
            "versions before 0.3 must be computed again."
        )
    results = _read(dict(best[place] for place in sorted(best)))
    return PaperComparison(results, seed, seconds=0.0, complete=True)


def _read(fields: Mapping[PaperJob, Fields]) -> dict[PaperJob, Answers]:
    return {job: Answers.from_dict(one, questions=None) for job, one in fields.items()}


def _do_job(job: PaperJob) -> dict[str, Any]:
    """Try one method on one split."""
    data = _data(job.data, job.seed)
    started = process_time()
    if job.method in SEARCHES:
        answers = _search(job, data)
    else:
        threshold, seed = threshold_of(data), split_seed(job.split, job.seed)
        rival = paper_rival(job.method, data, threshold, seed)
        answers = tune_rival(rival, split_parts(data, job.split, job.seed), job.most)
    return replace(answers, seconds=process_time() - started).to_dict()


@lru_cache(maxsize=2)
def _data(name: str, seed: int) -> Dataset:
    """Load a set once per process, since some take a while to make."""
    return load(name, seed)


@lru_cache(maxsize=1)
def _banks(name: str, split: int, seed: int) -> SplitBanks:
    """Open the banks of a split, which all searches on it share."""
    return SplitBanks(split_parts(_data(name, seed), split, seed))


def _search(job: PaperJob, data: Dataset) -> Answers:
    """Repeat one of EMSCO's searches on a split, with the paper's settings for the set."""
    # The seed of a repeat names its place, so repeats can be added without changing others.
    words = [job.seed, job.split, SETS.index(job.data), SEARCHES.index(job.method)]
    seeds = [[*words, repeat] for repeat in range(job.runs)]
    n_features = data.X.shape[1]
    settings = SearchSettings(
        default_max_stages(n_features),
        generations=job.generations,
        patience=job.generations,
        **SETTINGS[job.data],
    )
    search, note, time_limit = job.method, "", None
    if search == "excluding":
        if job.data in _SPREAD:
            return Answers((), "left out: it would take as long as all other methods together")
        search, settings = "evolution", replace(settings, allow_exclusion=True)
    elif search == "exact":
        time_limit = _EXACT_SECONDS
        if settings.space(n_features).size > _MAX_DESIGNS:
            settings = replace(settings, max_stages=_EXACT_STAGES)
            note = f"at most {_EXACT_STAGES} stages"
    banks = _banks(job.data, job.split, job.seed)
    answers = repeat_search(banks, search, settings, threshold_of(data), seeds, time_limit)
    return replace(answers, note="; ".join(filter(None, (note, answers.note))))


def repeat_search(
    banks: SplitBanks,
    search: str,
    settings: SearchSettings,
    min_confidence: float,
    seeds: Sequence[Sequence[int]],
    time_limit: float | None = None,
) -> Answers:
    """Repeat one of EMSCO's searches on one split, once per seed, and choose by every rule.

    An exact search runs once, since it draws nothing at random. If it is out of reach, the note
    says why.
    """
    offers = []
    for seed in seeds[:1] if search == "exact" else seeds:
        rng = np.random.default_rng(seed)
        try:
            result = banks.search(search, settings, min_confidence, rng, time_limit)
        except ParameterError as obstacle:
            return Answers((), str(obstacle))
        if search == "exact" and not result.proven:
            return Answers((), f"exact search was given up: {result.stop_reason}")
        for rule in RULES:
            choice = banks.choose(result, rule, min_confidence)
            offers.append(_offer(str(choice.design), choice.scored, choice.seen, rule))
    return Answers(tuple(offers))


def _offer(setting: str, scored: Objectives, seen: Objectives, rule: str) -> Offer:
    return Offer(ANYTHING, setting, scored, Seen(seen.coverage, seen.accuracy, seen.cost), rule)


def paper_rival(method: str, data: Dataset, min_confidence: float, seed: int) -> CostedClassifier:
    """Make a rival, with the threshold only if it declines rows by default."""
    rival = new_rival(method, data.costs, random_state=seed)
    if rival.get_params(deep=False).get("min_confidence") is not None:
        rival.set_params(min_confidence=min_confidence)
    return rival


def tune_rival(rival: CostedClassifier, parts: Parts, max_settings: int = _EVERY) -> Answers:
    """Tune a rival on the scored rows, and test it.

    At most `max_settings` settings of its grid are tried, evenly from the first to the last.
    Besides the best setting, offers have those that no other one dominates on the scored rows,
    from the cheapest up; of equal ones the first.
    """
    from moocore import is_nondominated

    train, val, test = (parts.rows(part) for part in ("train", "val", "test"))
    grid = spread(rival.grid(parts.costs, len(parts.train)), max_settings)
    tuned = tune(rival, train, val, test=test, grid=grid)
    points = [
        [one.evaluation.coverage, one.evaluation.accuracy, -one.evaluation.cost]
        for one in tuned.trials
    ]
    undominated = is_nondominated(np.array(points), maximise=True)
    curve = [trial for trial, kept in zip(tuned.trials, undominated, strict=True) if kept]
    curve.sort(key=lambda trial: trial.evaluation.cost)
    offers = []
    for rule, trials in ((_TUNED, [tuned.best]), (_CURVE, curve)):
        for trial in trials:
            if trial.test is None:
                raise AssertionError("tuning was given test rows")
            words, scored = setting_words(trial.settings), trial.evaluation.objectives
            offers.append(_offer(words, scored, trial.test.objectives, rule))
    return Answers(tuple(offers))


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A claim of the paper about EMSCO, and the sets on which it holds here.

    Attributes
    ----------
    text : str
    holds_on, fails_on : tuple of str
        Sets, judged by the means over splits.
    needed : int
        Number of sets on which it has to hold.
    """

    text: str
    holds_on: tuple[str, ...]
    fails_on: tuple[str, ...]
    needed: int

    @property
    def holds(self) -> bool:
        """Whether the claim holds on as many sets as the paper says."""
        return len(self.holds_on) >= self.needed

    def sentence(self) -> str:
        """The claim and its verdict in words."""
        n_holds, n_sets = len(self.holds_on), len(self.holds_on) + len(self.fails_on)
        word = "holds" if self.holds else "does not hold"
        but = f", not on {', '.join(self.fails_on)}" if self.fails_on else ""
        return f"{self.text}: {word} (on {n_holds} of {n_sets} sets{but}; {self.needed} needed)"


def _undominated(gains: Gains, rivals: Iterable[str]) -> bool:
    return not any(max(gains[rival]) <= 0 and any(gains[rival]) for rival in rivals)


# A claim, the number of sets that it needs, and whether it holds on one.
_CLAIMS: tuple[tuple[str, str, Callable[[Gains], bool]], ...] = (
    (
        "not dominated by any rival of the paper",
        "all",
        lambda gains: _undominated(gains, _PAPER_RIVALS),
    ),
    ("not dominated by any rival at all", "all", lambda gains: _undominated(gains, gains)),
    (
        "more accurate than Greedy Miser and CSTC",
        "all",
        lambda gains: all(gains[rival][1] > 0 for rival in _PAPER_RIVALS[:2]),
    ),
    (
        "cheaper than Greedy Miser and CSTC",
        "three",
        lambda gains: all(gains[rival][2] > 0 for rival in _PAPER_RIVALS[:2]),
    ),
    (
        "ahead of every rival of the paper in two of three objectives",
        "majority",
        lambda gains: all(sum(one > 0 for one in gains[rival]) >= 2 for rival in _PAPER_RIVALS),
    ),
)


@dataclass(frozen=True, eq=False)
class PaperComparison:
    """Results of the comparison so far.

    Attributes
    ----------
    results : dict of PaperJob to Answers
    seed : int
    seconds : float
        Time of this call, without that of earlier results.
    complete : bool
    """

    results: Mapping[PaperJob, Answers]
    seed: int
    seconds: float
    complete: bool

    @property
    def sets(self) -> tuple[str, ...]:
        """Sets with results, in the order of the paper's table."""
        there = {job.data for job in self.results}
        return tuple(name for name in SETS if name in there)

    def contestants(self, name: str) -> list[Contestant]:
        """Contestants with results on a set."""
        return [one for one in CONTESTANTS if (name, one) in self.standings]

    def _by_split(self, name: str, method: str) -> dict[int, Answers]:
        """Answers of a method on a set, split by split."""
        answers = {
            job.split: one
            for job, one in self.results.items()
            if (job.data, job.method) == (name, method)
        }
        return dict(sorted(answers.items()))

    @cached_property
    def standings(self) -> dict[Place, Standing]:
        """Standing of every contestant on every set it has results for."""
        standings = {}
        for name in self.sets:
            for contestant in CONTESTANTS:
                offers = {
                    split: chosen
                    for split, answers in self._by_split(name, contestant.method).items()
                    if (chosen := answers.by_rule(contestant.rule))
                }
                if offers:
                    standings[name, contestant] = Standing(offers)
        return standings

    @cached_property
    def duels(self) -> dict[Place, Duels]:
        """Duels of every contestant with its rivals, corrected together for each contestant."""
        return {
            (name, first): _fought(
                standing,
                {
                    other: self.standings[name, other]
                    for other in self.contestants(name)
                    if not other.is_emsco and other != first
                },
            )
            for (name, first), standing in self.standings.items()
        }

    @cached_property
    def affordable(self) -> dict[Place, dict[Contestant, Standing]]:
        """Rivals that may spend as much as one of EMSCO's contestants does.

        On every split a rival deploys the setting with the largest coverage² + accuracy² on the
        scored rows, among those that cost no more there than the contestant does on average.
        Splits without such a setting do not count.
        """
        affordable = {}
        for (name, first), standing in self.standings.items():
            if not first.is_emsco:
                continue
            # What EMSCO spends on scored rows: rivals are chosen there, too.
            budgets = dict(zip(standing.splits, standing.promised[:, 2].tolist(), strict=True))
            affordable[name, first] = {
                rival: Standing(offers)
                for rival in CONTESTANTS
                if not rival.is_emsco and (offers := self._within(name, rival.method, budgets))
            }
        return affordable

    def _within(
        self, name: str, method: str, budgets: Mapping[int, float]
    ) -> dict[int, list[Offer]]:
        """The best setting of a rival within a budget, by split."""
        offers = {}
        for split, answers in self._by_split(name, method).items():
            budget = budgets.get(split, -math.inf) * (1 + _ROUNDING)
            within = [one for one in answers.by_rule(_CURVE) if one.promised.cost <= budget]
            if within:
                best = max(
                    within, key=lambda one: math.hypot(one.promised.coverage, one.promised.accuracy)
                )
                offers[split] = [best]
        return offers

    @cached_property
    def duels_at_equal_cost(self) -> dict[Place, Duels]:
        """Duels of EMSCO with rivals that may spend as much as it does."""
        return {
            place: _fought(self.standings[place], rivals)
            for place, rivals in self.affordable.items()
        }

    @cached_property
    def claims(self) -> dict[Contestant, list[PaperClaim]]:
        """The paper's claims, checked for each of EMSCO's contestants.

        Only sets with results of all the paper's rivals count.
        """
        claims = {}
        for first in (one for one in CONTESTANTS if one.is_emsco):
            needed = [first, *(Contestant(method, _TUNED) for method in _PAPER_RIVALS)]
            gains: dict[str, Gains] = {
                name: {rival.method: duel.gains for rival, duel in self.duels[name, first].items()}
                for name in self.sets
                if all((name, one) in self.standings for one in needed)
            }
            if gains:
                n = len(gains)
                n_needed = {"all": n, "three": min(3, n), "majority": n // 2 + 1}
                claims[first] = [
                    PaperClaim(
                        text,
                        tuple(name for name in gains if holds(gains[name])),
                        tuple(name for name in gains if not holds(gains[name])),
                        n_needed[on],
                    )
                    for text, on, holds in _CLAIMS
                ]
        return claims

    @property
    def notes(self) -> dict[tuple[str, str], str]:
        """Reasons for missing or restricted results, by set and method."""
        return {(job.data, job.method): one.note for job, one in self.results.items() if one.note}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        seconds: dict[str, list[float]] = {}
        for job, answers in self.results.items():
            seconds.setdefault(f"{job.data} {job.method}", []).append(answers.seconds)
        return {
            "experiment": "comparison",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
            "standings": [
                {
                    "set": name,
                    **asdict(contestant),
                    "splits": list(standing.splits),
                    "repeats": standing.n_repeats,
                    "mean": asdict(standing.mean),
                    "margin": asdict(standing.margin),
                    "margin_over_repeats": asdict(standing.repeat_margin),
                    "by_split": standing.by_split.round(6).tolist(),
                    "paper": published(name, contestant),
                }
                for (name, contestant), standing in self.standings.items()
            ],
            "duels": list(_duel_dicts(self.duels)),
            "at_equal_cost": [
                {**duel, "rival": asdict(standing.mean)}
                for duel, standing in zip(
                    _duel_dicts(self.duels_at_equal_cost),
                    (one for rivals in self.affordable.values() for one in rivals.values()),
                    strict=True,
                )
            ],
            "claims": {
                first.label: [{**asdict(claim), "holds": claim.holds} for claim in some]
                for first, some in self.claims.items()
            },
            "seconds_by_method": {
                key: round(sum(some) / len(some), 2) for key, some in seconds.items()
            },
            "notes": {f"{name} {method}": why for (name, method), why in self.notes.items()},
        }

    def to_markdown(self) -> str:
        """A table for every set, the duels, and the paper's claims."""
        n_splits = max((len(one.splits) for one in self.standings.values()), default=0)
        lines = [
            f"# Comparison over {n_splits} random splits (seed {self.seed})",
            "",
            "Means over splits on test rows, ± 95 % margins of error. Tuning and choice used "
            "scored rows only. The paper's splits are not published, so its numbers, in the last "
            "columns, are of other rows.",
        ]
        for name in self.sets:
            rows = []
            for contestant in self.contestants(name):
                standing, printed = self.standings[name, contestant], published(name, contestant)
                margins = _in_print_order(standing.margin) if len(standing.splits) > 1 else None
                paper = ["–", "–", "–"]
                if printed:
                    paper = _cells(printed, MARGINS[name] if contestant.is_emsco else None)
                cells = _cells(_in_print_order(standing.mean), margins)
                rows.append([contestant.label, *cells, *paper])
            objectives = ["accuracy %", "coverage %", "cost"]
            heads = ["method", *objectives, *(f"paper: {objective}" for objective in objectives)]
            table = markdown_table(heads, rows)
            lines += ["", f"## {name}", "", table]
        for title, about, fought in (
            ("EMSCO beside each rival", _ABOUT_DUELS, self.duels),
            ("Rivals at EMSCO's cost", _ABOUT_EQUAL_COST, self.duels_at_equal_cost),
        ):
            lines += ["", f"## {title}", "", about, "", self._duel_table(fought)]
        lines += ["", "## The paper's claims", ""]
        for first, claims in self.claims.items():
            lines += [f"**{first.label}**", ""]
            lines += [*(f"- {claim.sentence()}" for claim in claims), ""]
        if notes := self.notes:
            lines += ["", "## Notes", ""]
            lines += [f"- {name}, {method}: {why}" for (name, method), why in notes.items()]
        return "\n".join(lines)

    def _duel_table(self, duels: Mapping[Place, Duels]) -> str:
        lines = []
        for name in self.sets:
            # The paper's contestant, our best search, and "excluding".
            there = self.contestants(name)
            balanced = [one for one in there if one.rule == "balanced"]
            best = [one for one in balanced if one.method in ("evolution", "exact")][-1:]
            excluding = [one for one in balanced if one.method == "excluding"]
            for first in [one for one in there if one == PAPERS] + best + excluding:
                for second, duel in duels[name, first].items():
                    coverage, accuracy, cost = (
                        f"**{gain * factor:+.1f}**" if p < ALPHA else f"{gain * factor:+.1f}"
                        for gain, factor, p in zip(
                            duel.gains, (100, 100, 1), duel.p_values, strict=True
                        )
                    )
                    won = f"{duel.n_won} : {duel.n_lost} of {duel.n_splits}"
                    figures = [accuracy, coverage, cost, duel.verdict, won]
                    lines.append([name, first.label, second.label, *figures])
        heads = ["set", "contestant", "rival", "accuracy", "coverage", "cost"]
        return markdown_table([*heads, "verdict", "splits won : lost"], lines)


def published(name: str, contestant: Contestant) -> tuple[float, float, float] | None:
    """Accuracy, coverage and cost that the paper prints for a contestant; None if it has none."""
    if contestant.is_emsco:
        return TABLE[name]["emsco"] if contestant == PAPERS else None
    return TABLE[name].get(contestant.method)


def _fought(first: Standing, others: Mapping[Contestant, Standing]) -> Duels:
    return dict(zip(others, duels(first, list(others.values())), strict=True))


def _duel_dicts(duels: Mapping[Place, Duels]) -> Iterator[dict[str, Any]]:
    for (name, first), fought in duels.items():
        for second, duel in fought.items():
            yield {
                "set": name,
                "first": [first.method, first.rule],
                "second": second.method,
                "gains": duel.gains,
                "p_values": duel.p_values,
                "n_splits": duel.n_splits,
                "n_won": duel.n_won,
                "n_lost": duel.n_lost,
                "verdict": duel.verdict,
            }


def _in_print_order(one: Objectives) -> tuple[float, float, float]:
    """Accuracy, coverage and cost: the order of the paper's table."""
    return one.accuracy, one.coverage, one.cost


def _cells(
    values: tuple[float, float, float], margins: tuple[float, float, float] | None
) -> list[str]:
    """Accuracy and coverage in percent, and cost, each with its margin if there is one."""
    cells = [f"{value * factor:.1f}" for value, factor in zip(values, (100, 100, 1), strict=True)]
    if margins:
        margin_cells = _cells(margins, None)
        cells = [f"{cell} ± {margin}" for cell, margin in zip(cells, margin_cells, strict=True)]
    return cells


def draw_paper_comparison(result: PaperComparison) -> Figure:
    """Draw accuracy, coverage and cost of every contestant on every set, a line each.

    Bars are 95 % margins of error over splits. An empty diamond is a number printed in the paper.
    """
    names = result.sets
    if not names:
        raise refused("result", "be of at least one set", result, got="none")
    heights = [len(result.contestants(name)) + 2 for name in names]
    figure = new_figure(7.2, 0.17 * sum(heights) + 0.5)
    grid = figure.subplots(len(names), 3, squeeze=False, height_ratios=heights)
    factors = (100, 100, 1)  # of accuracy, coverage and cost
    for name, panels in zip(names, grid, strict=True):
        contestants = result.contestants(name)
        for place, contestant in enumerate(contestants):
            standing, printed = result.standings[name, contestant], published(name, contestant)
            means, margins = _in_print_order(standing.mean), _in_print_order(standing.margin)
            look = _OURS if contestant.is_emsco else _RIVALS
            bar = {"ecolor": "0.6", "elinewidth": 1.0, "zorder": 2, **look}
            for i, (panel, factor) in enumerate(zip(panels, factors, strict=True)):
                panel.errorbar(factor * means[i], place, xerr=factor * margins[i], **bar)
                if printed:
                    panel.plot(factor * printed[i], place, zorder=1, **_PRINTED)
        labels = [contestant.label for contestant in contestants]
        for panel in panels:
            soften(panel, 6.5)
            shown = labels if panel is panels[0] else [""] * len(labels)
            panel.set_yticks(range(len(labels)), shown)
            panel.set_ylim(len(labels) - 0.4, -0.6)
        panels[0].set_title(name, fontsize=9, loc="left", fontweight="bold")
        panels[2].set_xlim(left=min(0, -0.03 * panels[2].get_xlim()[1]))  # bars may reach below 0
    for panel, objective in zip(grid[-1], ("accuracy, %", "coverage, %", "mean cost"), strict=True):
        panel.set_xlabel(objective, fontsize=8)
    looks = {"EMSCO": _OURS, "rivals": _RIVALS, "printed in the paper": _PRINTED}
    for label, look in looks.items():
        grid[0][0].plot([], [], linestyle="none", label=label, **look)
    name_marks(figure, grid[0], columns=3)
    return figure
