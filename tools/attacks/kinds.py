"""The kinds of files: where each sample lies, how it is damaged, and how it is read and used."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.util import find_spec
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from emsco_lab import ComparisonReport, MethodComparison, ThresholdSweep
from emsco_lab.compare import Baseline, TrialJob
from emsco_lab.jobs import ResultStore
from emsco_lab.parts import EVERY_RULE, Choice
from emsco_lab.sweep import SweepJob, SweepRepeat
from emsco_lab.trials import ANYTHING, QUESTIONS, Answers, Offer, Seen

from emsco import Cascade, Certificate, EMSCOClassifier, FeatureCosts, Monitor, ParetoFront
from emsco._base.documents import write_document
from emsco._base.objectives import Objectives
from emsco._base.text import visible
from emsco._base.typing import AnyArray
from emsco.app.cli.inspect import show
from emsco.app.cli.output import print_deployed, print_design, print_front
from emsco.app.files.reading import Reading
from emsco.app.files.sources import FitFiles
from emsco.app.runs.certify import certify_run
from emsco.app.runs.decide import decide_file
from emsco.app.runs.evaluate import evaluate_run
from emsco.app.runs.fit import fit_files
from emsco.app.runs.inspect import inspect_file
from emsco.app.runs.monitor import monitor_file, target_of
from emsco.app.runs.run import BEGUN, CASCADE, FORMAT, RUN, Run, file_digest
from emsco.app.runs.views import explore_run
from emsco.app.service.cases import CaseService
from emsco.app.service.messages import RefusalError
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore
from emsco.errors import EMSCOError, FileError
from emsco.front.rules import RULES
from emsco.search.settings import SearchSettings
from emsco.stats.error_costs import ErrorCosts

NAMES = ("age", "pulse", "panel", "scan")
COLUMNS = (*NAMES, "scan_price")
ROWS, FRESH = "rows.csv", "fresh.csv"
MESSY = ("age", "panel", "ward")
_COSTS = (1.0, 2.0, 10.0, 40.0)
_SETTINGS: dict[str, Any] = {
    "estimator": "logistic",
    "cv": 1 / 3,
    "refit": "first",
    "max_stages": 2,
    "population_size": 8,
    "generations": 2,
    "min_confidence": 0.8,
    "n_jobs": 1,
}
_PRICES: dict[str, Any] = {"age": 1.0, "pulse": 2.0, "panel": 10.0, "scan": "scan_price"}


@dataclass(frozen=True)
class MadeUpJob:
    """A job whose result is made up here."""

    title: str


JOBS: dict[str, Any] = {
    "sweep": SweepJob("made up", "paper", SearchSettings(max_stages=2), 0.75, 0, 0),
    "method": MadeUpJob("method"),
    "comparison": TrialJob("made up", 0, "emsco", 0, 1, 1),
}


def make_samples(folder: Path, names: Collection[str]) -> None:
    """Write valid files of some kinds, by the names of `_MAKERS`, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ROWS).exists():
        for name, n_rows, seed in (("data.csv", 120, 1), (ROWS, 30, 2), (FRESH, 90, 3)):
            pyarrow.csv.write_csv(pa.table(_made_table(n_rows, seed)), folder / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # results on so few rows are doubtful, as they should be
        for name in names:
            if not (done := folder / f".{name}").exists():
                _MAKERS[name](folder)
                done.touch()


def _training_rows(columns: Sequence[str] = NAMES) -> tuple[pa.Table, AnyArray]:
    """Return the rows and labels that samples are fitted on."""
    table = _made_table(120, 1)
    return pa.table({name: table[name] for name in columns}), table["sick"]


def fit_with_checkpoint(folder: Path) -> EMSCOClassifier:
    """Fit with a checkpoint in a folder, or go on with the one there."""
    options = {"search": "evolution", "min_confidence": "auto", "generations": 3}
    return _classifier(checkpoint=folder / "checkpoint", **options).fit(*_training_rows())


def fit_with_cache(folder: Path) -> EMSCOClassifier:
    """Fit a classifier whose outcomes a folder keeps."""
    from sklearn.naive_bayes import GaussianNB

    options = {"search": "evolution", "generations": 1, "population_size": 4}
    fitted = _classifier(estimator=GaussianNB(), cache=folder / "cache", **options)
    return fitted.fit(*_training_rows())


def _made_table(n_rows: int, seed: int) -> dict[str, AnyArray]:
    """Rows of two noisy classes, and what each row pays for a scan."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    X = rng.normal(size=(n_rows, 4)) + y[:, None] * np.array([0.6, 0.9, 1.3, 1.8])
    prices = rng.uniform(20, 60, n_rows).round(2)
    return {**dict(zip(NAMES, X.T, strict=True)), "scan_price": prices, "sick": y}


def _classifier(**settings: Any) -> EMSCOClassifier:
    return EMSCOClassifier(**{"costs": list(_COSTS), "random_state": 0, **_SETTINGS, **settings})


def _costs(folder: Path) -> None:
    lines = ["feature,cost,group,fee,fee_cost,delay"]
    lines += ["age,1,,,,", "pulse,2,,visit,3,", "panel,10,lab,visit;draw,3;2,2", "more,,lab,,,"]
    lines += ["scan,scan_price,,,,5"]
    (folder / "costs.csv").write_text("\n".join(lines) + "\n")
    entries = {
        "costs": {"age": 1, "pulse": 2.5, "panel": 10, "scan": 40},
        "fees": {"visit": {"cost": 3, "features": ["pulse", "panel"]}},
        "delays": {"scan": 5},
    }
    (folder / "costs.json").write_text(json.dumps(entries))


def _run(folder: Path) -> None:
    """Fit on files, then certify and watch the result."""
    costs = folder / "run_costs.csv"
    prices = (f"{name},{cost}\n" for name, cost in zip(NAMES, _COSTS, strict=True))
    costs.write_text("feature,cost\n" + "".join(prices))
    data, test = folder / "data.csv", folder / ROWS
    files = FitFiles("sick", data, test=test, costs=costs, drop=("scan_price",))
    run = fit_files(files, folder / "run", **{**_SETTINGS, "prefer": {"max_cost": 30}})
    certificate = certify_run(run, folder / FRESH, min_accuracy=0.55, min_coverage=0.3)
    certificate.save(run.folder / "certificate.json")
    monitor = Monitor(run.cascade, min_accuracy=0.6, max_cost=50.0)
    table = pyarrow.csv.read_csv(folder / FRESH)
    for first in (0, 30, 60):
        part = table.slice(first, 30)
        decisions = run.cascade.decide(part.select(NAMES))
        monitor = monitor.update(decisions, np.asarray(part["sick"]))
    monitor.save(run.folder / "monitor.json")
    about = run.choose(run.chosen, {"error_cost": 500.0, "reject_cost": 40.0}).about
    # As if a later choice had been killed half-way.
    begun = {"cascade": file_digest(run.folder / CASCADE), "error_costs": about["error_costs"]}
    about = {**about, "error_costs": {"error_cost": 9.0, "reject_cost": 1.0}, BEGUN: begun}
    write_document(run.folder / RUN, "run", FORMAT, about)


def _saving(name: str, **settings: Any) -> Callable[[Path], None]:
    """Return a function that fits and saves a cascade."""

    def make(folder: Path) -> None:
        fitted = _classifier(**settings).fit(*_training_rows())
        fitted.cascade_.save(folder / f"{name}.json")

    return make


def _priced(folder: Path) -> None:
    """Save a cascade with fees, prices by row and delays, and one of its cases."""
    fees, delays = {"visit": (3.0, ["pulse", "panel"])}, {"panel": 2.0, "scan": 5.0}
    costs = FeatureCosts.from_mapping(_PRICES, COLUMNS, fees=fees, delays=delays)
    rows = _training_rows(COLUMNS)
    cascade = _classifier(costs=costs, prefer="accurate").fit(*rows).cascade_
    cascade.save(folder / "priced.json")
    case = cascade.open(budget=500.0, prices={"scan": 31.0})
    case.give(dict.fromkeys(case.needs, 0.2))
    (folder / "case.json").write_text(case.to_json())


def _estimator(folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    _saving("estimator", estimator=LogisticRegression(), generations=1, population_size=4)(folder)


def _results(folder: Path) -> None:
    """Keep made-up results of a sweep, of a method and of a comparison."""
    store, one = ResultStore(folder / "results"), Objectives(0.9, 0.8, 12.0)
    choices = tuple(Choice(rule, one, one, (0, 0, 1, -1)) for rule in EVERY_RULE)
    repeat = SweepRepeat(0.75, 0, 7, choices, "all generations", 0.5)
    store.keep(JOBS["sweep"], asdict(repeat))
    tuned = Offer(ANYTHING, "penalty 0.1", one, Seen(0.9, 0.8, 1.0), "tuned")
    store.keep(JOBS["method"], Answers((tuned,), "", 1.0).to_dict())
    seen = Seen(0.9, 0.8, 12.0, 0.4)
    offers = tuple(Offer(question, "made up", one, seen) for question in QUESTIONS)
    store.keep(JOBS["comparison"], Answers(offers, "", 1.5).to_dict())


def _messy_table(n_rows: int, seed: int) -> dict[str, AnyArray]:
    """Rows of three classes with texts, missing values and dates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n_rows)
    age = (40 + 8 * y + rng.normal(0, 6, n_rows)).round(1)
    panel = np.where(rng.random(n_rows) < 0.15, np.nan, (y + rng.normal(0, 0.6, n_rows)).round(2))
    ward = np.array(["north", "south", "east"])[(y + rng.integers(0, 2, n_rows)) % 3]
    visit = np.array(
        [f"{1 + d % 28:02}/{1 + d % 12:02}/2026" for d in rng.integers(0, 300, n_rows)]
    )
    return {"age": age, "panel": panel, "ward": ward, "visit": visit, "state": _STATES[y]}


def _encoded(folder: Path) -> None:
    """Save a cascade of three classes with texts, missing values and costs of errors."""
    table = _messy_table(150, 4)
    rows = pa.table({name: table[name] for name in MESSY})
    options = {"costs": [1.0, 10.0, 2.0], "gaps": "impute", "min_confidence": 0.6}
    cascade = _classifier(**options).fit(rows, table["state"]).cascade_
    cascade.with_error_costs({"well": 5.0, "ill": 50.0, "ünwell": 20.0}).save(
        folder / "encoded.json"
    )


def _messy(folder: Path) -> None:
    """Write a table as a spreadsheet of another country has it, and what it was fitted on."""
    table = _messy_table(24, 5)
    lines = [";".join(table)]
    for row in zip(*table.values(), strict=True):
        cells = ("?" if str(value) == "nan" else str(value).replace(".", ",") for value in row)
        lines.append(";".join(cells))
    (folder / "messy.csv").write_text("\n".join(lines), encoding="utf-8")
    make_samples(folder, ["encoded"])


def _parquet(folder: Path) -> None:
    pq.write_table(pa.table(_made_table(30, 2)), folder / "rows.parquet")
    make_samples(folder, ["run"])


def _cases(folder: Path) -> None:
    """Keep open and decided cases in the database of a service."""
    make_samples(folder, ["priced"])
    cascade = Cascade.load(folder / "priced.json")

    async def keep() -> None:
        store = CaseStore(folder / "cases.sqlite", cascade.stages.identity)
        service = CaseService(cascade, store, Settings())
        for i in range(4):
            said = await service.open({"id": f"c{i}", "prices": {"scan": 31.0}})
            for _ in range(i):
                if said["needs"]:
                    values = dict.fromkeys(said["needs"], 0.2)
                    said = await service.give(f"c{i}", {"values": values})
        await store.close()

    asyncio.run(keep())


_STATES = np.array(["well", "ill", "ünwell"])
_SPLINE = {"estimator": "spline", "calibration": "sigmoid", "min_confidence": {0: 0.7, 1: 0.8}}
_BOOSTED = {"estimator": "boosting", "generations": 1, "population_size": 4}
_AVERAGED = {"cv": 2, "refit": "average", "min_confidence": "auto"}
_MAKERS: dict[str, Callable[[Path], object]] = {
    "costs": _costs,
    "run": _run,
    "averaged": _saving("averaged", **_AVERAGED),
    "boosted": _saving("boosted", **_BOOSTED),
    "spline": _saving("spline", **_SPLINE),
    "priced": _priced,
    "estimator": _estimator,
    "checkpoint": fit_with_checkpoint,
    "cache": fit_with_cache,
    "results": _results,
    "encoded": _encoded,
    "messy": _messy,
    "parquet": _parquet,
    "cases": _cases,
}


_ROUNDING = 1e-6


class NonsenseError(Exception):
    """A file was read although its figures contradict each other."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    sample : str
        Name of the samples that it is among.
    pattern : str
        Place of the file in the folder of samples; it may hold a ``*``.
    form : {"document", "json", "text", "table", "store", "cases"}
        How it is damaged: as JSON with a checksum, as JSON without, as bytes, as cells and lines,
        or as SQLite, that of a checkpoint or that of a service.
    use : callable
        Reads the file in a folder of samples, uses it, and returns what came out as text.
    """

    sample: str
    pattern: str
    form: str
    use: Callable[[Path], str]

    def path(self, folder: Path) -> Path:
        """Path of the file in a folder of samples."""
        return next(folder.glob(self.pattern))


def _table(folder: Path, name: str = ROWS) -> Any:
    return pyarrow.csv.read_csv(folder / name)


def _use_cascade(name: str) -> Callable[[Path], str]:
    def use(folder: Path) -> str:
        cascade = Cascade.load(folder / f"{name}.json")
        table = _table(folder)
        columns = COLUMNS if name == "priced" else NAMES
        decisions = cascade.decide(table.select(columns))
        evaluation = cascade.evaluate(table.select(columns), np.asarray(table["sick"]))
        case = cascade.open(prices={"scan": 25.0} if name == "priced" else None)
        while case.needs:
            case.give(dict.fromkeys(case.needs, 0.1))
        said = [repr(cascade), cascade._repr_html_(), repr(decisions), repr(evaluation), repr(case)]
        return "\n".join([*said, decisions.to_pandas().to_csv()])

    return use


def _use_front(folder: Path) -> str:
    front = ParetoFront.load(folder / "run" / "front.json")
    _check_sense(front)
    table = _table(folder)
    rows, y = table.select(NAMES), np.asarray(table["sick"])
    said = [repr(front), front.to_pandas().to_csv(), repr(front.to_dicts()), front.to_html()]
    said += [repr(front.prefer(rule)) for rule in RULES]
    said += [repr(front.cascade(i).evaluate(rows, y)) for i in (0, len(front) - 1)]
    return "\n".join(said)


def _check_sense(front: ParetoFront) -> None:
    """Refuse figures that do not follow from their own counts."""
    for point in front:
        n_exits, n_correct = sum(point.exits), sum(point.correct_exits)
        _check_same("coverage", point.coverage, n_exits / point.n_rows)
        if point.metric == "accuracy":
            _check_same("accuracy", point.accuracy, n_correct / (n_exits or 1))
        subsets = point.design.subsets()
        paid = front.costs.after_stages(subsets)
        spent = sum(a * b for a, b in zip(point.exits, paid, strict=True))
        rejected = point.n_rows - n_exits
        if not front.costs.prices:
            _check_same("cost", point.cost, (spent + rejected * paid[-1]) / point.n_rows)
    for one in front.seen or ():
        answered = sum(report.n_rows for report in one.exits if report.stage is not None)
        _check_same("seen coverage", one.coverage, answered / (one.n_rows or 1))
        spent = sum(report.n_rows * report.cost for report in one.exits)
        _check_same("seen cost", one.cost, spent / (one.n_rows or 1))
        _check_same("seen rows", one.n_rows, float(one.by_class.rows.sum()))
    for ref in (*front.references, *front.seen_references):
        rows = float(ref.by_class.rows.sum()) or 1.0
        _check_same("coverage", ref.coverage, float(ref.by_class.answered.sum()) / rows)
        _check_same("accuracy", ref.accuracy, ref.by_class.accuracy)


def _check_same(name: str, figure: float, counted: float) -> None:
    if not isclose(figure, counted, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        raise NonsenseError(f"{name} {figure} where the counts say {counted}")


def _use_case(folder: Path) -> str:
    cascade = Cascade.load(folder / "priced.json")
    case = cascade.resume((folder / "case.json").read_bytes())
    said = repr(case)
    while case.needs:
        case.give(dict.fromkeys(case.needs, 0.1), {"scan": 25.0} if "scan" in case.needs else None)
    return f"{said}\n{case!r}\n{case.decision!r}\n{case.to_json()}"


@cache
def _whole_run(folder: Path) -> Run:
    """Open a run whose own files are whole, once for all trials of another file."""
    return Run.open(folder / "run")


def _use_certificate(folder: Path) -> str:
    run = _whole_run(folder)
    certificate = Certificate.load(folder / "run" / "certificate.json")
    for test in certificate.tests:
        _check_same("coverage", test.point.coverage, sum(test.point.exits) / test.point.n_rows)
    monitor = ""
    if certificate.covers(run.cascade):
        monitor = repr(Monitor.from_certificate(certificate, run.cascade))
    return f"{certificate!r}\n{certificate.to_dict()}\n{certificate.certified}\n{monitor}"


def _use_monitor(folder: Path) -> str:
    run = _whole_run(folder)
    monitor = Monitor.load(folder / "run" / "monitor.json", run.cascade)
    said = f"{monitor!r}\n{monitor.to_dict()}\n{monitor.tracks()}"
    try:
        monitor = monitor_file(monitor, folder / ROWS, "sick")
    except EMSCOError as error:
        return f"{said}\n{error}"
    return f"{said}\n{monitor!r}"


def _use_spent(folder: Path) -> str:
    run = _whole_run(folder)
    told = [repr(certify_run(run, folder / FRESH, min_accuracy=0.55, min_coverage=0.3))]
    return "\n".join([*told, repr(certify_run(run, folder / ROWS, min_accuracy=0.7))])


def _use_run(folder: Path) -> str:
    run = Run.open(folder / "run")
    said = StringIO()
    with redirect_stdout(said):
        print_front(run)
        print_design(run, run.chosen)
        print_deployed(run)
    table, y, weights = run.labelled(folder / ROWS)
    facts = [said.getvalue(), run.figures(), run.references(), run.is_weighted, run.about]
    facts += [target_of(run, folder / ROWS, None), table.num_rows, y.tolist(), weights]
    facts += [evaluate_run(run, folder / ROWS).to_dict(), explore_run(run)]
    with _aside(folder / "run" / "spent.json"):
        facts.append(certify_run(run, folder / FRESH, min_accuracy=0.55))
    facts += [run.given_error_costs, run.error_costs(), run.preference]
    with _back(folder / "run" / RUN), _back(folder / "run" / CASCADE):
        facts.append(run.choose(0).given_error_costs)
        run.choose(0, {"error_cost": 7.0, "reject_cost": 1.0})
        facts.append(Run.open(run.folder).given_error_costs)
    return "\n".join(map(str, facts))


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Put a file aside, and put it back afterwards."""
    with _back(path):
        path.unlink()
        yield


@contextmanager
def _back(path: Path) -> Iterator[None]:
    """Put a file back as it was."""
    content = path.read_bytes()
    try:
        yield
    finally:
        path.write_bytes(content)


def _use_history(folder: Path) -> str:
    run = _whole_run(folder)
    about = {name: fact for name, fact in run.about.items() if name != "history"}
    # As if its checksum were right.
    return repr(replace(run, about=about).convergence)


def _use_sweep(folder: Path) -> str:
    result = ResultStore(folder / "results").find(JOBS["sweep"])
    if result is None:
        return "done again"
    costs = FeatureCosts.from_array([1.0, 2.0, 3.0, 4.0], NAMES)
    sweep = ThresholdSweep(
        (SweepRepeat.from_dict(JOBS["sweep"], result),),
        ("fittest", "knee"),
        "paper",
        SearchSettings(max_stages=2),
        costs,
        (60, 30, 30),
        0,
        1.0,
        complete=True,
        of={},
    )
    return f"{sweep.to_markdown()}\n{sweep.to_dict()}\n{sweep.to_pandas().to_csv()}"


def _use_method(folder: Path) -> str:
    result = ResultStore(folder / "results").find(JOBS["method"])
    return "done again" if result is None else repr(Answers.from_dict(result, questions=None))


def _use_comparison(folder: Path) -> str:
    result = ResultStore(folder / "results").find(JOBS["comparison"])
    if result is None:
        return "done again"
    answers = {"emsco": {0: Answers.from_dict(result)}}
    prices = ErrorCosts.from_parameters(10.0, 0.0)
    commonest = Offer(ANYTHING, "", Objectives(1.0, 0.6, 0.0), Seen(1.0, 0.6, 0.0))
    comparison = MethodComparison(
        name="made up",
        answers=answers,
        total_cost=10.0,
        n_rows=(90, 30),
        n_effective=30.0,
        classes=("ill", "well"),
        baselines={0: Baseline((commonest,), np.array([18, 12]), np.array([0.6, 0.4]))},
        error_costs=prices,
    )
    report = ComparisonReport(comparison)
    return f"{report.to_markdown()}\n{report.to_dict()}"


def _use_fit(fit: Callable[[Path], Any]) -> Callable[[Path], str]:
    def use(folder: Path) -> str:
        front = fit(folder).front_
        _check_sense(front)
        return repr(front.to_dicts())

    return use


def _use_costs(name: str) -> Callable[[Path], str]:
    def use(folder: Path) -> str:
        names = (*NAMES, "more", "scan_price") if name.endswith("csv") else NAMES
        costs = FeatureCosts.from_file(folder / name, names)
        return f"{costs!r} {costs.total} {costs.after_stages(np.ones((1, len(costs.names)), bool))}"

    return use


def _use_encoded(folder: Path) -> str:
    cascade = Cascade.load(folder / "encoded.json")
    rows = {"age": [40.0, 55.0, 70.0], "panel": [0.1, None, 2.0], "ward": ["north", "other", None]}
    decisions = cascade.decide(pa.table(rows))
    return f"{cascade!r}\n{cascade._repr_html_()}\n{decisions.to_pandas().to_csv()}"


def _use_messy(dates: str | None) -> Callable[[Path], str]:
    def use(folder: Path) -> str:
        path, reading = folder / "messy.csv", Reading(dates=dates)
        inspection = inspect_file(FitFiles("state", path, reading=reading))
        said = StringIO()
        with redirect_stdout(said):
            show(inspection)
        if visible(said.getvalue()) != said.getvalue():
            raise NonsenseError("a control character reaches the terminal")
        told = f"{inspection.to_dict()}\n{said.getvalue()}"
        cascade = Cascade.load(folder / "encoded.json")
        with _aside_if_there(folder / "decided.csv") as out:
            try:
                decided = repr(decide_file(cascade, path, out, ("state",), reading=reading))
            except EMSCOError as error:
                decided = str(error)
        return f"{told}\n{decided}"

    return use


def _use_parquet(folder: Path) -> str:
    run, path = _whole_run(folder), folder / "rows.parquet"
    said = repr(evaluate_run(run, path).to_dict())
    with _aside_if_there(folder / "decided.csv") as out:
        return f"{said}\n{decide_file(run.cascade, path, out)!r}"


@contextmanager
def _aside_if_there(path: Path) -> Iterator[Path]:
    """Lend a path, and remove what is written there."""
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _use_cases(folder: Path) -> str:
    cascade = Cascade.load(folder / "priced.json")

    async def ask() -> str:
        store = CaseStore(folder / "cases.sqlite", cascade.stages.identity)
        try:
            service = CaseService(cascade, store, Settings())
            told = [service.metrics.text(), await _settled(store.expire(7.0))]
            for case in ("c0", "c1", "c2", "c3"):
                values = {"values": dict.fromkeys(NAMES, 0.1)}
                told.append(await _settled(service.look(case)))
                told.append(await _settled(service.give(case, values)))
                told.append(await _settled(service.reject(case, {"reason": "x"})))
        finally:
            await store.close()
        return "\n".join(map(str, told))

    return asyncio.run(ask())


async def _settled(step: Awaitable[Any]) -> Any:
    """Return an answer without its times, or the refusal."""
    try:
        said = await step
    except RefusalError as error:
        if error.status == 500:  # a stored case that is not whole
            raise FileError(str(error)) from None
        return str(error)
    except EMSCOError as error:
        return str(error)
    if not isinstance(said, dict):
        return said
    return {key: one for key, one in said.items() if key != "changed"}


KINDS: dict[str, Kind] = {
    "cascade, logistic": Kind("run", "run/cascade.json", "document", _use_cascade("run/cascade")),
    "cascade, averaged": Kind("averaged", "averaged.json", "document", _use_cascade("averaged")),
    "cascade, boosted": Kind("boosted", "boosted.json", "document", _use_cascade("boosted")),
    "cascade, spline": Kind("spline", "spline.json", "document", _use_cascade("spline")),
    "cascade, priced": Kind("priced", "priced.json", "document", _use_cascade("priced")),
    "cascade, estimator": Kind(
        "estimator", "estimator.json", "document", _use_cascade("estimator")
    ),
    "front": Kind("run", "run/front.json", "document", _use_front),
    "case": Kind("priced", "case.json", "document", _use_case),
    "certificate": Kind("run", "run/certificate.json", "document", _use_certificate),
    "monitor": Kind("run", "run/monitor.json", "document", _use_monitor),
    "spent rows": Kind("run", "run/spent.json", "document", _use_spent),
    "run": Kind("run", "run/run.json", "document", _use_run),
    "history": Kind("run", "run/history.csv", "text", _use_history),
    "result of a sweep": Kind("results", "results/threshold-*.json", "document", _use_sweep),
    "result of a method": Kind("results", "results/method-*.json", "document", _use_method),
    "result of a comparison": Kind(
        "results", "results/made-up-*.json", "document", _use_comparison
    ),
    "journal": Kind(
        "checkpoint", "checkpoint/journal.sqlite", "store", _use_fit(fit_with_checkpoint)
    ),
    "outcome cache": Kind("cache", "cache/*.sqlite", "store", _use_fit(fit_with_cache)),
    "costs, CSV": Kind("costs", "costs.csv", "text", _use_costs("costs.csv")),
    "cascade, encoded": Kind("encoded", "encoded.json", "document", _use_encoded),
    "table, CSV": Kind("messy", "messy.csv", "table", _use_messy(None)),
    "table, CSV with dates": Kind("messy", "messy.csv", "table", _use_messy("day-first")),
    "table, Parquet": Kind("parquet", "rows.parquet", "text", _use_parquet),
    "cases of a service": Kind("cases", "cases.sqlite", "cases", _use_cases),
    "costs, JSON": Kind("costs", "costs.json", "json", _use_costs("costs.json")),
}
if find_spec("skops") is None:
    del KINDS["cascade, estimator"]
