"""The kinds of files: where each sample lies, how it is damaged, and how it is read and used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from attacks.samples import (
    COLUMNS,
    FRESH,
    JOBS,
    NAMES,
    ROWS,
    fit_with_cache,
    fit_with_checkpoint,
)
from emsco import Cascade, Certificate, FeatureCosts, Monitor, ParetoFront
from emsco._base.text import visible
from emsco.app.cli.inspect import show
from emsco.app.cli.output import print_deployed, print_details, print_front
from emsco.app.files.reading import Reading
from emsco.app.files.sources import FitFiles
from emsco.app.runs.certify import certify_run
from emsco.app.runs.decide import decide_file
from emsco.app.runs.evaluate import evaluate_run
from emsco.app.runs.explore import explore_run
from emsco.app.runs.inspect import inspect_file
from emsco.app.runs.monitor import monitor_file, target_of
from emsco.app.runs.run import Run
from emsco.app.service.cases import Desk
from emsco.app.service.messages import RefusalError
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore
from emsco.errors import EMSCOError, FileError
from emsco.front.rules import RULES
from emsco.lab.contest_records import Contest
from emsco.lab.contest_report import ContestReport
from emsco.lab.contests import Answers
from emsco.lab.jobs import ResultStore
from emsco.lab.methods import MethodResult
from emsco.lab.sweep_records import SweepRepeat, ThresholdSweep
from emsco.search.settings import SearchSettings

__all__ = ["KINDS", "Kind", "NonsenseError"]

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
        print_details(run, run.chosen)
        print_deployed(run)
    table, y, weights = run.labelled(folder / ROWS)
    facts = [said.getvalue(), run.figures(), run.references(), run.is_weighted, run.about]
    facts += [target_of(run, folder / ROWS, None), table.num_rows, y.tolist(), weights]
    facts += [evaluate_run(run, folder / ROWS).to_dict(), explore_run(run)]
    with _aside(folder / "run" / "spent.json"):
        facts.append(certify_run(run, folder / FRESH, min_accuracy=0.55))
    return "\n".join(map(str, facts))


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Put a file aside, and put it back afterwards."""
    content = path.read_bytes()
    path.unlink()
    try:
        yield
    finally:
        path.write_bytes(content)


def _use_history(folder: Path) -> str:
    return repr(_whole_run(folder).convergence)


def _use_sweep(folder: Path) -> str:
    found = ResultStore(folder / "results").find(JOBS["sweep"])
    if found is None:
        return "done again"
    costs = FeatureCosts.from_array([1.0, 2.0, 3.0, 4.0], NAMES)
    sweep = ThresholdSweep(
        (SweepRepeat.from_dict(found),),
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
    found = ResultStore(folder / "results").find(JOBS["method"])
    return "done again" if found is None else repr(MethodResult.from_dict(found))


def _use_contest(folder: Path) -> str:
    found = ResultStore(folder / "results").find(JOBS["contest"])
    if found is None:
        return "done again"
    answers = {"emsco": {0: Answers.from_dict(found)}}
    contest = Contest("made up", answers, 10.0, (90, 30), 30.0, {0: 0.6}, 10.0)
    report = ContestReport(contest)
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
        found = inspect_file(FitFiles("state", path, reading=reading))
        said = StringIO()
        with redirect_stdout(said):
            show(found)
        if visible(said.getvalue()) != said.getvalue():
            raise NonsenseError("a control character reaches the terminal")
        told = f"{found.to_dict()}\n{said.getvalue()}"
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
            desk = Desk(cascade, store, Settings())
            told = [desk.metrics.text({}), await _settled(store.expire(7.0))]
            for case in ("c0", "c1", "c2", "c3"):
                values = {"values": dict.fromkeys(NAMES, 0.1)}
                told.append(await _settled(desk.look(case)))
                told.append(await _settled(desk.give(case, values)))
                told.append(await _settled(desk.reject(case, {"reason": "x"})))
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
    "result of a sweep": Kind("results", "results/sweep-*.json", "document", _use_sweep),
    "result of a method": Kind("results", "results/method-*.json", "document", _use_method),
    "result of a contest": Kind("results", "results/made-up-*.json", "document", _use_contest),
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
