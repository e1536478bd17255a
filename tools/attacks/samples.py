"""Small valid files of every kind, as a fit and its commands write them."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from emsco import Cascade, EMSCOClassifier, FeatureCosts
from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray
from emsco.app.files.sources import FitFiles
from emsco.app.runs.certify import certify_run
from emsco.app.runs.fit import fit_files
from emsco.app.service.cases import Desk
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore
from emsco.cascade.monitor import Monitor
from emsco.lab.contests import Answers, ContestJob
from emsco.lab.jobs import ResultStore
from emsco.lab.methods import Attempt, MethodResult, Outcome
from emsco.lab.questions import QUESTIONS, Offer, Seen
from emsco.lab.searching import EVERY_RULE, Choice
from emsco.lab.sweep_records import SweepRepeat

__all__ = [
    "COLUMNS",
    "FRESH",
    "JOBS",
    "MESSY",
    "NAMES",
    "ROWS",
    "MadeUpJob",
    "fit_with_cache",
    "fit_with_checkpoint",
    "make_samples",
]

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
    "sweep": MadeUpJob("sweep"),
    "method": MadeUpJob("method"),
    "contest": ContestJob("made up", 0, "emsco", 0, 1, 1),
}


def make_samples(folder: Path, names: Collection[str]) -> None:
    """Write valid files of some kinds, by the names of `_MAKERS`, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ROWS).exists():
        for name, n_rows, seed in (("data.csv", 120, 1), (ROWS, 30, 2), (FRESH, 90, 3)):
            pyarrow.csv.write_csv(pa.table(_table(n_rows, seed)), folder / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # results on so few rows are doubtful, as they should be
        for name in names:
            if not (done := folder / f".{name}").exists():
                _MAKERS[name](folder)
                done.touch()


def _training_rows(columns: Sequence[str] = NAMES) -> tuple[pa.Table, AnyArray]:
    """Return the rows and labels that samples are fitted on."""
    table = _table(120, 1)
    return pa.table({name: table[name] for name in columns}), table["sick"]


def fit_with_checkpoint(folder: Path) -> EMSCOClassifier:
    """Fit with a checkpoint in a folder, or go on with the one there."""
    own = {"search": "evolution", "min_confidence": "auto", "generations": 3}
    return _classifier(checkpoint=folder / "checkpoint", **own).fit(*_training_rows())


def fit_with_cache(folder: Path) -> EMSCOClassifier:
    """Fit a classifier whose outcomes a folder keeps."""
    from sklearn.naive_bayes import GaussianNB

    own = {"search": "evolution", "generations": 1, "population_size": 4}
    fitted = _classifier(estimator=GaussianNB(), cache=folder / "cache", **own)
    return fitted.fit(*_training_rows())


def _table(n_rows: int, seed: int) -> dict[str, AnyArray]:
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
    """Keep made-up results of a sweep, of a method and of a contest."""
    store, one = ResultStore(folder / "results"), Objectives(0.9, 0.8, 12.0)
    choices = tuple(Choice(rule, one, one, (0, 0, 1, -1)) for rule in EVERY_RULE)
    repeat = SweepRepeat(0.75, 0, 7, choices, "all generations", 0.5)
    store.keep(JOBS["sweep"], asdict(repeat))
    tried, setting = Attempt({"penalty": 0.1}, one, one), {"penalty": 0.1}
    outcome = Outcome("fittest", 0, one, one)
    store.keep(JOBS["method"], MethodResult((outcome,), (tried,), setting, "", 1.0).to_dict())
    seen = Seen(0.9, 0.8, 12.0, 0.4)
    offers = tuple(Offer(question, "made up", one, seen) for question in QUESTIONS)
    store.keep(JOBS["contest"], Answers(offers, "", 1.5).to_dict())


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
    own = {"costs": [1.0, 10.0, 2.0], "gaps": "impute", "min_confidence": 0.6}
    cascade = _classifier(**own).fit(rows, table["state"]).cascade_
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
    pq.write_table(pa.table(_table(30, 2)), folder / "rows.parquet")
    make_samples(folder, ["run"])


def _cases(folder: Path) -> None:
    """Keep open and decided cases in the database of a service."""
    make_samples(folder, ["priced"])
    cascade = Cascade.load(folder / "priced.json")

    async def keep() -> None:
        store = CaseStore(folder / "cases.sqlite", cascade.stages.identity)
        desk = Desk(cascade, store, Settings())
        for i in range(4):
            said = await desk.open({"id": f"c{i}", "prices": {"scan": 31.0}})
            for _ in range(i):
                if said["needs"]:
                    values = dict.fromkeys(said["needs"], 0.2)
                    said = await desk.give(f"c{i}", {"values": values})
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
