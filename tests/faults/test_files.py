"""Damaged files: refused in one sentence, or read and usable."""

from __future__ import annotations

import asyncio
import shutil
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from support.clinic import COSTS, NAMES, patients
from support.documents import ROWS, TRUTH
from support.handmade import (
    make_assessed_front,
    make_cascade,
    make_protocol,
    make_rich_cascade,
)

from emsco import Cascade, Certificate, EMSCOClassifier, FeatureCosts, Monitor, ParetoFront
from emsco.app.files.reading import Reading
from emsco.app.files.sources import FitFiles
from emsco.app.runs.certify import certify_run
from emsco.app.runs.decide import decide_file
from emsco.app.runs.evaluate import evaluate_run
from emsco.app.runs.inspect import inspect_file
from emsco.app.runs.monitor import monitor_file
from emsco.app.runs.run import Run
from emsco.app.runs.views import explore_run
from emsco.app.service import Settings
from emsco.app.service.cases import CaseService
from emsco.app.service.store import CaseStore
from emsco.front.rules import RULES
from faults import refusal, trial, trials
from faults.damage import damage
from faults.runs import QUICK

pytestmark = pytest.mark.usefixtures("without_fsync", "few_bags")

VALUES = {"number": 0.5, "truth": True, "category": "ICU"}
CASCADE, RICH = make_cascade(classes=("ill", "well")), make_rich_cascade()
GIVEN = {"values": {"age": 0.1, "pulse": 0.2}}
COSTS_CSV = "feature,cost,group,fee,fee_cost,delay\nage,1,,,,\npulse,2,,visit,3,\n"
COSTS_CSV += "panel,10,lab,visit;draw,3;2,2\nsex,,lab,,,\nscan,paid,,,,5\n"
COSTS_JSON = '{"costs": {"age": 1, "pulse": 2.5, "panel": 10, "scan": 40, "sex": 0}}'
ABROAD = "age;sodium;potassium;ward;smokes;visit;state\n" + "".join(
    f"{30 + i},5;0,{i};?;{'ICU' if i % 3 else ''};{'yes' if i % 2 else 'no'};"
    f"{1 + i:02}/0{1 + i % 9}/2026;{'well' if i % 2 else 'ünwell'}\n"
    for i in range(24)
)


@pytest.fixture(scope="module")
def promised(run, tmp_path_factory):
    """The folder of a run that is certified and monitored."""
    folder = shutil.copytree(run, tmp_path_factory.mktemp("files") / "run")
    run, fresh = Run.open(folder), folder / "fresh.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what so few rows say is doubtful
        certify_run(run, fresh, min_accuracy=0.55).save(folder / "certificate.json")
        monitor = Monitor(run.cascade, min_accuracy=0.6, max_cost=50.0)
        monitor_file(monitor, fresh, "sick").save(folder / "monitor.json")
        run.choose(run.chosen, {"error_cost": 500.0, "reject_cost": 40.0})
    return folder


def classifier(**settings):
    """Fit rows with fees, delays and prices of their own."""
    X, y = patients(120, 2)
    table = pd.DataFrame(X, columns=NAMES).assign(paid=np.linspace(20, 60, len(X)))
    fees, delays = {"visit": (3.0, ["pulse", "panel"])}, {"panel": 2.0}
    prices = {**COSTS, "scan": "paid"}
    costs = FeatureCosts.from_mapping(prices, list(table), fees=fees, delays=delays)
    return EMSCOClassifier(costs, **{**QUICK, "random_state": 0, **settings}).fit(table, y)


def save_fitted(path, **settings):
    classifier(**settings).cascade_.save(path)


async def ask(path, *steps):
    """Let cases of a database go through steps of a service."""
    store = CaseStore(path, CASCADE.stages.identity)
    try:
        service = CaseService(CASCADE, store, Settings())
        for step, *given in steps:
            await getattr(service, step)(*given)
        assert service.metrics.text()
    finally:
        await store.close()


def save_cases(path):
    opened = [("open", {"id": "a"}), ("open", {"id": "b"}), ("open", {"id": "c"})]
    asyncio.run(ask(path, *opened, ("give", "b", GIVEN), ("reject", "c", {"reason": "x"})))


def fit_from(path):
    """Fit with what a file keeps of an earlier fit, if it is there."""
    assert len(classifier(checkpoint=path, estimator=DecisionTreeClassifier()).front_)


def use_cascade(path):
    cascade = Cascade.load(path)
    kinds = cascade.encoding.kinds
    case = cascade.open(prices=dict.fromkeys(cascade.stages.prices.features, 30.0))
    while case.needs:
        case.give({name: VALUES[kinds[name]] for name in case.needs})
    row = {name: VALUES[kind] for name, kind in kinds.items()}
    decisions = cascade.decide(pd.DataFrame([{**row, "paid": 30.0}] * 5))
    assert len(decisions) == 5
    assert repr([cascade, cascade._repr_html_(), decisions, case])
    cascade.save(path)
    assert Cascade.load(path).stages.identity == cascade.stages.identity


def use_front(path):
    front = ParetoFront.load(path)
    for point in front:
        assert point.coverage == pytest.approx(sum(point.exits) / point.n_rows)
    for rule in RULES:
        front.prefer(rule)
    assert len(front.cascade(0).decide(ROWS)) == len(ROWS)
    assert repr([front, front.to_dicts(), front.to_html()])


def use_run(path):
    """Use a run, and above all one of its files."""
    run, rows = Run.open(path.parent), path.with_name("rows.csv")
    match path.name:
        case "certificate.json":
            certificate = Certificate.load(path)
            if certificate.covers(run.cascade):
                Monitor.from_certificate(certificate, run.cascade)
            assert repr(certificate)
        case "monitor.json":
            monitor = Monitor.load(path, run.cascade)
            assert repr(monitor_file(monitor, rows, "sick").tracks())
        case "history.csv":
            assert run.convergence
        case "spent.json" | "rows.csv":
            certify_run(run, rows, min_accuracy=0.5)
        case "more.parquet":
            evaluate_run(run, path)
            decide_file(run.cascade, path, path.with_name("out.parquet"))
        case _:
            assert repr([evaluate_run(run, rows).to_dict(), explore_run(run)])
            run.choose(0, {"error_cost": 7.0, "reject_cost": 1.0})
            assert Run.open(path.parent).chosen == 0


def use_cases(path):
    asyncio.run(ask(path, ("expire",), ("look", "b"), ("look", "c")))
    asyncio.run(ask(path, ("give", "a", GIVEN)))


def use_costs(path):
    costs = FeatureCosts.from_file(path, [*NAMES, "paid"] if path.suffix == ".csv" else NAMES)
    assert repr([costs, costs.after_stages(np.ones((1, len(costs.names)), bool))])


def use_table(path):
    reading = Reading(dates="day-first")
    inspect_file(FitFiles("state", path, reading=reading))
    decide_file(RICH, path, path.with_name("out.csv"), reading=reading)


def writing(text):
    return lambda path: path.write_text(text, "utf-8")


KINDS = {  # name of the file, what makes it, and what uses it
    "chain": ("one.json", CASCADE.save, use_cascade),
    "branches": ("one.json", make_protocol(n_models=2).save, use_cascade),
    "categories": ("one.json", RICH.save, use_cascade),
    "prices": ("one.json", partial(save_fitted, prefer="accurate"), use_cascade),
    "spline": ("one.json", partial(save_fitted, estimator="spline"), use_cascade),
    "boosting": ("one.json", partial(save_fitted, estimator="boosting"), use_cascade),
    "estimator": ("one.json", partial(save_fitted, estimator=LogisticRegression()), use_cascade),
    "assessed": ("one.json", make_assessed_front().with_seen(ROWS, TRUTH).save, use_front),
    "cases": ("cases.sqlite", save_cases, use_cases),
    "checkpoint": ("answers.sqlite", fit_from, fit_from),
    "costs": ("costs.csv", writing(COSTS_CSV), use_costs),
    "costs in JSON": ("costs.json", writing(COSTS_JSON), use_costs),
    "table": ("table.csv", writing(ABROAD), use_table),
}
OF_RUN = ("run", "front", "cascade", "certificate", "monitor", "spent")
for file in (*map("{}.json".format, OF_RUN), "history.csv", "rows.csv", "more.parquet"):
    KINDS[file] = file, None, use_run


@pytest.mark.parametrize("kind", KINDS)
@trials(6, 400)
def test_a_damaged_file_is_refused_or_can_be_used(kind, numbers, promised, tmp_path, monkeypatch):
    monkeypatch.setattr("emsco.app.explorer.page._library", lambda: "")  # slow to make
    name, make, use = KINDS[kind]
    folder = shutil.copytree(promised, tmp_path / "run") if make is None else tmp_path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (make or use)(folder / name)
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    path, n_refused = folder / name, 0
    assert refusal(use, path) is None
    for number in numbers:
        for one in folder.iterdir():
            if one not in whole:
                one.unlink()
        for one, content in whole.items():
            one.write_bytes(content)
        with trial(number) as rng:
            damage(path, rng)
            n_refused += refusal(use, path, size=path.stat().st_size) is not None
    assert n_refused > len(numbers) / 5
