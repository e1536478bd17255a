"""EMSCO and its rivals on one data set: all methods answer the same questions on random splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from time import process_time
from typing import Any

import numpy as np

from emsco._base.checks import check_whole
from emsco._base.documents import PathLike
from emsco._base.text import first_line
from emsco._base.typing import FloatArray, IntArray
from emsco.errors import DataError, EMSCOError, Parameter
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.tests import standard_error
from emsco_lab.jobs import Begin, Report, ResultStore, finish_jobs, opened_store
from emsco_lab.methods import (
    CHAINS,
    EMSCO,
    METHODS,
    answer_with_emsco,
    answer_with_nothing,
    answer_with_rival,
    check_methods,
    label_of,
    new_rival,
)
from emsco_lab.parts import LARGEST_STUDY_SEED, SPLITS_PER_SEED, EncodedParts, Parts
from emsco_lab.standings import DIGITS, SHARED, Duel, Standing, corrected_p_values, ranks_of
from emsco_lab.trials import (
    BUDGETS,
    LOWEST_TOTAL,
    QUESTIONS,
    Answers,
    CostedRows,
    Offer,
    Prices,
    Question,
    TrialRows,
)

SPLITS = 3
TESTED = tuple(budget for budget in BUDGETS if budget < 1)  # buying everything is only shown
VOLUME, TOTAL = "volume", "total"  # keys of hypervolumes and totals, beside those of tasks
_MIN_ROWS, _MIN_FITTED = 10, 5  # rows of a class: in all, or to fit on if test rows are given


@dataclass(frozen=True, slots=True)
class TuningEffort:
    """How thoroughly methods are tuned.

    Attributes
    ----------
    max_settings : int
        Largest number of settings to try of a rival's grid.
    generations : int
        Generations of each of EMSCO's searches.
    """

    max_settings: int = 48
    generations: int = 150


FULL, QUICK = TuningEffort(), TuningEffort(6, 30)


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One method on one split of some data.

    Attributes
    ----------
    data : str
        Name or digest of the data.
    split : int
    method : str
    seed : int
        Seed of the splits and of every method.
    most, generations : int
        See `TuningEffort`.
    """

    data: str
    split: int
    method: str
    seed: int
    most: int
    generations: int

    @property
    def title(self) -> str:
        """Data, split and method."""
        return f"{self.data} split {self.split} {label_of(self.method)}"


@dataclass(frozen=True, slots=True)
class PricedTrialJob(TrialJob):
    """The same where errors have a price: the method also offers the lowest total.

    Attributes
    ----------
    lines : tuple of tuple of float
        As `ErrorCosts.costs`, for the classes of the data in their order.
    may_reject : bool
        Whether rejections have a price; without one, every row gets a label.
    """

    lines: tuple[tuple[float, ...], ...]
    may_reject: bool


@dataclass(frozen=True, slots=True)
class Task:
    """Questions of one coverage at all budgets.

    Attributes
    ----------
    key : str
        Name in JSON.
    coverage : float
    title : str
        Heading of tables and panels.
    """

    key: str
    coverage: float
    title: str

    @property
    def questions(self) -> tuple[Question, ...]:
        """One question for each tested budget."""
        return tuple(Question(self.coverage, budget) for budget in TESTED)


EVERYONE = Task("everyone", 1.0, "Every row must be answered")
MOST = Task("most", 0.9, "At least 90 % of the rows must be answered")
TASKS = (EVERYONE, MOST)


@dataclass(frozen=True, slots=True)
class KeptPromise:
    """Accuracy that a method promised beside what it kept, over all budgets and splits.

    Attributes
    ----------
    promised, kept : float
        Means.
    error : float or None
        Standard error of their difference over splits that share rows; None for a single split.
    overspent, short : float
        Mean overrun of budgets, as a share of the cost of everything, and of the coverage asked
        for.
    """

    promised: float
    kept: float
    error: float | None
    overspent: float
    short: float

    @property
    def gap(self) -> float:
        """Promised less kept."""
        return self.promised - self.kept

    @property
    def in_errors(self) -> float | None:
        """The gap in standard errors, if that is defined."""
        return self.gap / self.error if self.error else None


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """What is known about a split's test rows before any method answers.

    Attributes
    ----------
    offers : tuple of Offer
        The commonest class for everyone and, if errors have a price, the label or rejection that
        costs least for everyone.
    class_rows : ndarray of shape (n_classes,)
        Test rows of each class.
    class_shares : ndarray of shape (n_classes,)
        Their shares, by weight.
    """

    offers: tuple[Offer, ...]
    class_rows: IntArray
    class_shares: FloatArray

    @classmethod
    def from_trial(cls, trial: TrialRows, prices: Prices | None = None) -> Baseline:
        """Measure a split."""
        counts, members = trial.test.counts, trial.members
        return cls(
            answer_with_nothing(trial, prices),
            class_rows=members.sum(axis=1),
            class_shares=members @ counts / counts.sum(),
        )


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Results of all methods on random splits of one data set.

    Attributes
    ----------
    name : str
        Name of the data, for headings.
    answers : dict of str to dict of int to Answers
        By method and split.
    total_cost : float
        Cost of everything.
    n_rows : tuple of int
        Fitted and test rows of a split.
    n_effective : float
        Kish's effective number of test rows, the mean over splits; without weights, all of them.
    classes : tuple
        Labels of the classes.
    baselines : dict of int to Baseline
        What needs no method, by split.
    error_costs : ErrorCosts
        What errors about each class and rejections cost, where results are shown in money.
    of : dict
        Digests and settings that identify the comparison.
    complete : bool
        Whether all jobs were done.
    quick : bool
        Whether methods were tuned less thoroughly than usual.
    """

    name: str
    answers: Mapping[str, Mapping[int, Answers]]
    total_cost: float
    n_rows: tuple[int, int]
    n_effective: float
    classes: tuple[object, ...]
    baselines: Mapping[int, Baseline]
    error_costs: ErrorCosts
    of: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    quick: bool = False

    @classmethod
    def from_answers(
        cls,
        name: str,
        data: CostedRows,
        answers: Mapping[TrialJob, Answers],
        error_costs: ErrorCosts | None = None,
        of: Mapping[str, Any] | None = None,
        complete: bool = True,
    ) -> MethodComparison:
        """Collect the answers of jobs on the same data."""
        by_method: dict[str, dict[int, Answers]] = {}
        # By split, so that tables list them in order however jobs ended.
        for job, one in sorted(answers.items(), key=lambda item: item[0].split):
            by_method.setdefault(job.method, {})[job.split] = one
        prices = next((_prices_of(job, data) for job in answers), None)
        baselines, sizes, n_rows = {}, [], (0, 0)
        for split, seed in dict.fromkeys((job.split, job.seed) for job in answers):
            trial = data.trial(split, seed)
            baselines[split] = Baseline.from_trial(trial, prices)
            counts = trial.test.counts
            sizes.append(counts.sum() ** 2 / (counts**2).sum())  # Kish's formula
            n_rows = len(trial.fitted.y), len(trial.test.y)
        return cls(
            name,
            by_method,
            total_cost=data.costs.total,
            n_rows=n_rows,
            n_effective=float(np.mean(sizes)),
            classes=tuple(np.unique(data.rows.y).tolist()),
            baselines=baselines,
            error_costs=error_costs or check_prices(data),
            of=of or {},
            complete=complete,
            quick=any(
                job.most < FULL.max_settings or job.generations < FULL.generations
                for job in answers
            ),
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods to compare, in the order of `answers`."""
        return self._common[0]

    @property
    def splits(self) -> tuple[int, ...]:
        """Splits that all `methods` have answered."""
        return self._common[1]

    @cached_property
    def _common(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Methods and their splits in common; who has the most splits counts first."""
        answered = {
            method: {split for split, one in answers.items() if one.offers}
            for method, answers in self.answers.items()
        }
        # A method that ran on few splits must not take splits from those that ran on many, so they
        # come first, and whoever shares no split with them is left out.
        kept: set[str] = set()
        common: set[int] = set()
        for method in sorted(answered, key=lambda one: -len(answered[one])):
            shared = common & answered[method] if kept else answered[method]
            if shared:
                common = shared
                kept.add(method)
        return tuple(one for one in self.answers if one in kept), tuple(sorted(common))

    @property
    def left_out(self) -> dict[str, str]:
        """Reasons for the methods that could not run, or not on the splits of the others."""
        reasons = {}
        for method, answers in self.answers.items():
            if method not in self.methods:
                notes = [one.note for one in answers.values() if not one.offers]
                reasons[method] = (
                    notes[0] if notes else "it has no split in common with the others."
                )
        return reasons

    @property
    def missing(self) -> dict[str, tuple[int, str]]:
        """Number of splits that a compared method could not answer, and why."""
        missing = {}
        for method in self.methods:
            notes = [one.note for one in self.answers[method].values() if not one.offers]
            if notes:
                missing[method] = len(notes), notes[0]
        return missing

    @property
    def commonest(self) -> Standing:
        """The standing of the commonest class, which buys nothing and answers every question."""
        return self._constant(0)

    @property
    def nothing(self) -> Standing:
        """The standing of what costs least for everyone without features.

        If errors have no price, this is `commonest`.
        """
        return self._constant(-1)

    def _constant(self, place: int) -> Standing:
        # If nothing is shared, all splits say how hard the data is.
        splits = self.splits or tuple(self.baselines)
        return Standing(
            {split: [self.baselines[split].offers[place]] for split in splits}, self.total_cost
        )

    def recall(self, standing: Standing) -> FloatArray | None:
        """Share of each class that gets its correct label; see `Standing.recall`."""
        return standing.recall({split: one.class_shares for split, one in self.baselines.items()})

    @property
    def class_rows(self) -> list[int]:
        """Test rows of each class in a split, on average."""
        rows = [one.class_rows for one in self.baselines.values()]
        means: list[int] = np.mean(rows, axis=0).round().astype(int).tolist()
        return means

    def seconds(self, method: str) -> float:
        """Mean processor time of a method on a split."""
        return float(np.mean([one.seconds for one in self.answers[method].values()]))

    @cached_property
    def standings(self) -> dict[tuple[str, Question], Standing]:
        """The standing of every method in every question."""
        standings: dict[tuple[str, Question], Standing] = {}
        for method in self.methods:
            offers = [
                {one.question: one for one in self.answers[method][split].by_rule("")}
                for split in self.splits
            ]
            for question in offers[0]:
                by_split = {
                    split: [some[question]] for split, some in zip(self.splits, offers, strict=True)
                }
                standings[method, question] = Standing(by_split, self.total_cost)
        return standings

    def standing(self, method: str, coverage: float, budget: float) -> Standing:
        """The standing of a method in one question."""
        return self.standings[method, Question(coverage, budget)]

    @cached_property
    def lowest_totals(self) -> dict[str, Standing]:
        """The standing of every method by the lowest total, the lowest first.

        Empty unless errors have a price.
        """
        standings = {}
        for method in self.methods:
            offers = {
                split: self.answers[method][split].by_rule(LOWEST_TOTAL) for split in self.splits
            }
            if all(offers.values()):
                standings[method] = Standing(offers, self.total_cost)
        totals = {one: round(self._totals(standings[one]).mean(), DIGITS) for one in standings}
        return {method: standings[method] for method in sorted(totals, key=totals.__getitem__)}

    def _totals(self, standing: Standing) -> FloatArray:
        return standing.money(self.error_costs)

    @cached_property
    def total_ranks(self) -> dict[str, FloatArray]:
        """Rank of every method by its lowest total, on each split."""
        totals = {method: self._totals(one) for method, one in self.lowest_totals.items()}
        by_split = [
            ranks_of({method: -some[place] for method, some in totals.items()})
            for place in range(len(self.splits))
        ]
        return {method: np.array([ranks[method] for ranks in by_split]) for method in totals}

    @cached_property
    def volumes(self) -> dict[str, FloatArray]:
        """Hypervolume of each method's offers on the test rows of every split.

        A point is coverage, accuracy and the share of the cost saved; the reference is 0 in all.
        """
        from moocore import hypervolume

        volumes = {}
        for method in self.methods:
            by_split = []
            for split in self.splits:
                seen = [one.seen for one in self.answers[method][split].by_rule("")]
                points = [[s.coverage, s.accuracy, 1 - s.cost / self.total_cost] for s in seen]
                # Several stages may cost more than everything in one: nothing is saved then.
                inside = np.maximum(0.0, np.array(points))
                by_split.append(float(hypervolume(inside, ref=[0.0] * 3, maximise=True)))
            volumes[method] = np.array(by_split)
        return volumes

    @cached_property
    def duels(self) -> dict[str, list[Duel]]:
        """Duels of EMSCO with every rival, by the key of a task; "volume" is of hypervolumes.

        If errors have a price, "total" is of totals: a gain is what a row costs less with EMSCO.
        All duels of a task are corrected together.
        """
        if not self.methods:
            return {}
        rivals = [one for one in self.methods if one != EMSCO] if EMSCO in self.methods else []
        duels = {
            task.key: self._tested(
                {
                    (rival, question.budget): self.standings[EMSCO, question].accuracy
                    - self.standings[rival, question].accuracy
                    for rival in rivals
                    for question in task.questions
                }
            )
            for task in TASKS
        }
        volumes: dict[tuple[str, float | None], FloatArray] = {
            (rival, None): self.volumes[EMSCO] - self.volumes[rival] for rival in rivals
        }
        duels[VOLUME] = self._tested(volumes)
        lowest = self.lowest_totals
        if EMSCO in lowest:
            mine = self._totals(lowest[EMSCO])
            totals: dict[tuple[str, float | None], FloatArray] = {
                (rival, None): self._totals(one) - mine
                for rival, one in lowest.items()
                if rival != EMSCO
            }
            duels[TOTAL] = self._tested(totals, unit=float(self.error_costs.costs.max()))
        return duels

    def _tested(
        self, gains: Mapping[tuple[str, float | None], FloatArray], unit: float = 1.0
    ) -> list[Duel]:
        """Duels from the gains of EMSCO on every split, by rival and budget.

        A single row can change a gain by about `unit` divided by the number of test rows.
        """
        if not gains:
            return []
        # Rounded, so that gains that are equal on paper are equal here.
        table = np.column_stack(list(gains.values())).round(DIGITS)
        # An accuracy is a whole number of test rows, so equal gains on a few splits may be chance.
        (p_values,) = corrected_p_values(
            [table], min_deviation=unit / (np.sqrt(12) * self.n_effective)
        )
        return [
            Duel(
                gains=(gain,),
                p_values=(p_value,),
                n_splits=len(table),
                n_won=int((column > 0).sum()),
                n_lost=int((column < 0).sum()),
                method=EMSCO,
                rival=rival,
                budget=budget,
            )
            for (rival, budget), column, gain, p_value in zip(
                gains, table.T, table.mean(axis=0).tolist(), p_values, strict=True
            )
        ]

    @cached_property
    def ranks(self) -> dict[str, dict[str, dict[str, float]]]:
        """Ranks by task, budget and method; those of hypervolumes have the budget ""."""
        if not self.methods:
            return {}
        ranks = {
            task.key: {
                f"{question.budget:g}": ranks_of(
                    {one: self.standings[one, question].mean.accuracy for one in self.methods}
                )
                for question in task.questions
            }
            for task in TASKS
        }
        volumes = {method: float(one.mean()) for method, one in self.volumes.items()}
        return {**ranks, VOLUME: {"": ranks_of(volumes)}}

    @cached_property
    def promises(self) -> dict[str, KeptPromise]:
        """What every method promised and kept, on average over tasks."""
        promises = {}
        for method in self.methods:
            cells = [self.standings[method, one] for task in TASKS for one in task.questions]
            promised = np.mean([cell.promised[:, 1] for cell in cells], axis=0)
            kept = np.mean([cell.accuracy for cell in cells], axis=0)
            # Splits share rows, so their gaps are not independent; the error allows for it.
            gaps = (promised - kept)[:, None]
            promises[method] = KeptPromise(
                float(promised.mean()),
                float(kept.mean()),
                float(standard_error(gaps, SHARED)[0]) if len(gaps) > 1 else None,
                float(np.mean([cell.overspent for cell in cells])),
                float(np.mean([cell.short for cell in cells])),
            )
        return promises


def check_prices(data: CostedRows, error_cost: Any = None, reject_cost: Any = None) -> ErrorCosts:
    """Check what errors and rejections cost; by default an error as much as everything."""
    # If errors alone have a price, no row is rejected; if nothing has one, rejections are free.
    free = 0.0 if error_cost is None else None
    return ErrorCosts.from_parameters(
        data.costs.total if error_cost is None else error_cost,
        free if reject_cost is None else reject_cost,
        np.unique(data.rows.y).tolist(),
        may_reject=False,
    )


def compare_methods(
    data: CostedRows,
    name: str = "your data",
    methods: Sequence[str] = METHODS,
    splits: int = SPLITS,
    effort: TuningEffort = FULL,
    seed: int = 0,
    error_cost: Any = None,
    reject_cost: float | Mapping[Any, float] | None = None,
    folder: PathLike | None = None,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
) -> MethodComparison:
    """Let every method answer the same questions on the same splits.

    Parameters
    ----------
    data : CostedRows
    name : str
        Name of the data, for headings.
    methods : sequence of str
        "emsco" and rivals; see `METHODS`.
    splits : int
        Random splits; 1 if `data` says which rows to test on.
    effort : TuningEffort
        How thoroughly methods are tuned.
    seed : int
    error_cost : float, mapping or array-like, optional
        Cost of an error: a number, one for each true label, or a matrix with true labels down and
        labels given across; see `ErrorCosts.from_parameters`. Then every method also
        offers the lowest mean total of a row that it finds, with labels of least expected cost, and
        methods are ranked by it. By default errors cost as much as everything where results are
        shown in money.
    reject_cost : float or mapping, optional
        Cost of a rejection, or one for each true label. If only errors have a price, no row is
        rejected where the lowest total counts.
    folder : path, optional
        Keeps results; those that it already has are not computed again.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with the digests and settings of the comparison, after all checks and before any
        computation; may refuse.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    methods = check_methods(methods)
    check_whole("splits", splits, 1, SPLITS_PER_SEED)
    prices = check_prices(data, error_cost, reject_cost)
    # Given test rows leave only one way to split.
    numbers = range(splits if data.test is None else 1)
    _check_splits(data, numbers, check_whole("seed", seed, 0, LARGEST_STUDY_SEED))
    # The split in the digest is that of the given test rows; others follow from the seed.
    rows, none = data.rows, np.zeros(0, dtype=np.intp)
    test = none if data.test is None else data.test
    rest = np.setdiff1d(np.arange(len(rows.y)), test)
    parts = Parts(rows.X, rows.y, data.costs, rest, none, test, rows.weights)
    digests = EncodedParts.from_parts(parts, gaps="impute")
    of = {
        **digests.facts(),
        "seed": seed,
        "settings tried": effort.max_settings,
        "generations": effort.generations,
    }
    if begin:
        begin(of)
    # The digest keeps results of other data under the same name apart.
    known = f"{name} {digests.digest()[:10]}"
    jobs = [
        TrialJob(known, split, method, seed, effort.max_settings, effort.generations)
        for split in numbers
        for method in methods
    ]
    if error_cost is not None or reject_cost is not None:
        lines = tuple(map(tuple, prices.costs.tolist()))
        may_reject = reject_cost is not None
        jobs = [PricedTrialJob(**asdict(job), lines=lines, may_reject=may_reject) for job in jobs]

    def brief_report(done: int, total: int, title: str) -> None:
        if report:  # all titles begin with the name of the data
            report(done, total, title.removeprefix(f"{known} "))

    with opened_store(folder) as store:
        answers, complete = run_trials(
            jobs, partial(try_job, data=data), store, n_jobs, brief_report
        )
    # In the order of the jobs, not in that in which processes ended.
    ordered = {job: answers[job] for job in jobs if job in answers}
    return MethodComparison.from_answers(name, data, ordered, prices, of, complete)


def run_trials(
    jobs: Sequence[TrialJob],
    work: Callable[[TrialJob], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> tuple[dict[TrialJob, Answers], bool]:
    """Do all jobs, or read their results if the store has them; also whether all are done.

    A method without an answer is asked again: a library may have been installed since.
    """
    for job in jobs:
        known = store.find(job)
        if known is not None and not known.items("offers"):
            store.forget(job)
    results, complete = finish_jobs(jobs, work, store, n_jobs, report)
    return {job: Answers.from_dict(fields) for job, fields in results.items()}, complete


def try_job(job: TrialJob, data: CostedRows) -> dict[str, Any]:
    """Let one method answer all questions on one split.

    If it refuses the data or fails in an unforeseen way, that is its result, and others go on.
    """
    started = process_time()
    note, prices = "", _prices_of(job, data)
    try:
        trial = data.trial(job.split, job.seed)
        if job.method in (EMSCO, CHAINS):
            settings = {"branches": 1} if job.method == CHAINS else {}
            offers, note = answer_with_emsco(
                trial, QUESTIONS, prices, generations=job.generations, **settings
            )
        else:
            rival = new_rival(job.method, trial.costs, random_state=trial.seed, gaps="impute")
            offers = answer_with_rival(rival, trial, QUESTIONS, job.most, prices)
    except EMSCOError as obstacle:
        offers, note = [], str(obstacle)
    except Exception as error:
        offers, note = [], f"it failed with {type(error).__name__}: {first_line(error)}."
    return Answers(tuple(offers), note, process_time() - started).to_dict()


def _prices_of(job: TrialJob, data: CostedRows) -> Prices | None:
    """What errors and rejections cost in a job, if they have a price."""
    if not isinstance(job, PricedTrialJob):
        return None
    return Prices(np.unique(data.rows.y), np.array(job.lines), job.may_reject)


def _check_splits(data: CostedRows, splits: Sequence[int], seed: int) -> None:
    """Refuse data that cannot be split, and splits whose weights leave nothing to learn or test."""
    # Every class needs rows for the splits, and for the folds that methods choose on.
    y = data.rows.y
    labels, counts = np.unique(y, return_counts=True)
    fewest, rule = _MIN_ROWS, f"DATA must have {_MIN_ROWS} rows or more of every class"
    if data.test is not None:
        fitted = np.delete(y, data.test)
        counts = np.array([np.count_nonzero(fitted == label) for label in labels])
        fewest = _MIN_FITTED
        rule = f"the rows to fit on must have {fewest} or more of every class"
    if (counts < fewest).any():
        rarest = int(counts.argmin())
        raise DataError(f"{rule}, got {counts[rarest]} of {labels.tolist()[rarest]!r}.")
    for split in splits:
        trial = data.trial(split, seed)
        if not trial.test.counts.any():
            raise DataError(Parameter("weights"), " must be above 0 for some test row, got none.")
        learnt = trial.fitted.y[trial.fitted.counts > 0]
        missing = np.setdiff1d(trial.fitted.y, learnt).tolist()
        if missing:
            raise DataError(
                Parameter("weights"),
                f" must be above 0 for some fitted row of every class, got none of {missing[0]!r}.",
            )
