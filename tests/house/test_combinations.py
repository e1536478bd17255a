"""Whatever is combined: many classes, groups, categories, gaps, weights, limits, any classifier."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from support.handmade import assert_same_bits

from emsco import Cascade, EMSCOClassifier, FeatureCosts, ParetoFront, ParetoPoint
from emsco.errors import EMSCOWarning, NoSuchDesign

TRAIN, HELD_OUT, NEW = np.arange(70), np.arange(70, 120), np.arange(120, 140)
TRUSTED = ["sklearn.tree._tree.Tree"]
REPEATS = np.arange(140) // 4 % 3
GROUPS = {"panel": ["iron", "glucose"], "history": ["smokes", "region"]}
COLUMNS = ["age", "iron", "smokes", "glucose", "region", "scan"]
COSTS = {"age": 0, "panel": 2.5, "history": 1, "scan": 10}
FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def make_table(n_classes: int, with_gaps: bool, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a truth value and a category, some of them informative, some missing."""
    rng = np.random.default_rng(seed)
    labels = np.arange(140) % n_classes
    noise = rng.normal(size=(140, 4))
    frame = pd.DataFrame(
        {
            "age": 40 + 10 * (labels == 0) + 9 * noise[:, 0],
            "iron": labels + 0.9 * noise[:, 1],
            "smokes": (labels + noise[:, 2]) > 0.5,
            "glucose": noise[:, 3],
            "region": np.array(["north", "south", "west"])[(labels + rng.integers(0, 2, 140)) % 3],
            "scan": 3 * labels + rng.normal(size=140),
        }
    )
    if with_gaps:
        frame = frame.astype({"smokes": "boolean"}).mask(rng.random(frame.shape) < 0.08)
    names = np.array(["mild", "severe", "none", "acute"])
    return frame, names[labels]


@dataclass(frozen=True)
class Setting:
    """A classifier to fit, and what to fit it on."""

    frame: str
    table: pd.DataFrame = field(repr=False)
    y: np.ndarray = field(repr=False)
    weights: Any = field(repr=False)
    options: dict[str, Any]

    def rows(self, which: np.ndarray) -> Any:
        return FRAMES[self.frame](self.table.iloc[which])

    def fit(self, **more: Any) -> EMSCOClassifier:
        options = {"max_stages": 3, "generations": 3, "population_size": 20, "random_state": 0}
        costs = more.pop("costs", COSTS)
        known = np.concatenate([TRAIN, HELD_OUT])
        weights = None if self.weights is None else self.weights[known]
        classifier = EMSCOClassifier(
            FeatureCosts.from_mapping(costs, COLUMNS, GROUPS),
            cv=[(TRAIN, HELD_OUT)],
            **{**options, **self.options, **more},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EMSCOWarning)  # no design accepts a row
            return classifier.fit(self.rows(known), self.y[known], weights)


@st.composite
def problems(draw, by_stage=False):
    """Any combination of everything; `by_stage`: with thresholds that stages do not share too."""
    n_classes, gaps = draw(st.integers(2, 4)), draw(st.sampled_from(["refuse", "impute", "skip"]))
    table, y = make_table(n_classes, gaps != "refuse", draw(st.integers(0, 3)))
    labels = np.unique(y).tolist()
    weights = draw(
        st.sampled_from([None, REPEATS, np.arange(140) % 5 / 2 + 0.25, np.sqrt(np.arange(140))])
    )
    exclusion = draw(st.booleans())
    limits = [{}, {"max_mean_cost": 9}] + [{"max_worst_cost": 12}] * exclusion
    rules = [{}, {"first": ["age"]}, {"together": [["age", "scan"]]}]
    options = {
        "search": draw(st.sampled_from(["exact", "evolution", "paper"])),
        "gaps": gaps,
        "min_confidence": draw(
            st.sampled_from([0.55, 0.8, dict.fromkeys(labels, 0.6) | {labels[0]: 0.9}])
        ),
        "allow_exclusion": exclusion,
        "evaluation_cost": draw(st.sampled_from([0, 0.5])),
        "constraints": draw(st.sampled_from(limits)) | draw(st.sampled_from(rules)),
        "class_weight": draw(st.sampled_from([None, "balanced", {labels[0]: 2.0}])),
        "estimator": draw(
            st.sampled_from([None, None, None, DecisionTreeClassifier(max_depth=3), GaussianNB()])
        ),
    }
    if by_stage and options["search"] == "evolution":
        answers = [{}, {"reject_below": 0.45}] + [{"always_answer": True}] * (gaps != "skip")
        options |= draw(st.sampled_from([{}, {"min_confidence": "auto"}]))
        options |= draw(st.sampled_from(answers))
    frame = draw(st.sampled_from(sorted(FRAMES)))
    return Setting(frame, table, y, weights, options)


def fitted(problem: Setting, **more: Any) -> EMSCOClassifier | None:
    """The classifier, or None where no design is within the limits: a search need not find one."""
    try:
        return problem.fit(**more)
    except NoSuchDesign:
        return None


any_combination = settings(
    deadline=None,
    derandomize=True,
    max_examples=8,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


@any_combination
@given(problems(by_stage=True))
def test_a_cascade_does_on_the_scored_rows_just_what_the_front_says(problem):
    clf = fitted(problem)
    assume(clf is not None)
    weights = None if problem.weights is None else problem.weights[HELD_OUT]
    for point in clf.front_:
        evaluation = clf.front_.cascade(point).evaluate(
            problem.rows(HELD_OUT), problem.y[HELD_OUT], weights
        )
        exits = [leave.n_rows for leave in evaluation.exits[:-1]]
        assert exits == pytest.approx(point.exits, rel=1e-5)  # weights may have been rounded
        assert [leave.n_correct for leave in evaluation.exits[:-1]] == pytest.approx(
            point.correct_exits, rel=1e-5
        )
        assert evaluation.cost == pytest.approx(point.cost, rel=1e-5)


@any_combination
@given(problems(by_stage=True))
def test_files_sessions_and_runs_decide_as_the_table_does(tmp_path_factory, problem):
    clf = fitted(problem)
    assume(clf is not None)
    new, folder = problem.rows(NEW), tmp_path_factory.mktemp("files")
    decided = clf.decide(new)
    clf.cascade_.save(folder / "cascade.json")
    clf.front_.save(folder / "front.json")
    loaded = Cascade.load(folder / "cascade.json", TRUSTED)
    assert_same_bits(loaded.decide(new), decided)
    front = ParetoFront.load(folder / "front.json", TRUSTED)
    assert front.points == clf.front_.points
    assert_same_bits(front.cascade(clf.point_).decide(new), decided)

    lines = problem.table.iloc[NEW].to_dict("records")

    def acquire(names, ids):
        return {name: [lines[i][name] for i in ids] for name in names}

    assert_same_bits(loaded.run(range(len(NEW)), acquire), decided)
    for i in (0, 7):
        case = loaded.open()
        while case.needs:
            case = loaded.resume(case.to_json())
            case.give({name: lines[i][name] for name in case.needs})
        assert case.decision.accepted == decided.accepted[i]
        assert case.decision.confidence == decided.confidence[i]
        assert case.decision.cost == decided.cost[i]


@pytest.mark.thorough
@any_combination
@given(problems())
def test_no_search_beats_the_exact_front(problem):
    # A free feature is bought first by all but the paper's search, so none is free here.
    more = {"costs": COSTS | {"age": 0.1}}
    others = [fitted(problem, search=search, **more) for search in ("evolution", "paper")]
    exact = fitted(problem, search="exact", **more)
    assert exact is not None or others == [None, None]
    if exact is None:
        return
    assert exact.front_.proven
    best = np.array([(p.coverage, p.accuracy, -p.cost) for p in exact.front_])
    for other in filter(None, others):
        for point in other.front_:
            reached = best >= np.array([point.coverage, point.accuracy, -point.cost]) - 1e-9
            assert reached.all(axis=1).any()


@any_combination
@given(problems())
def test_whole_weights_count_as_repeated_rows(problem):
    repeats = REPEATS
    weighted = Setting(problem.frame, problem.table, problem.y, repeats, problem.options)
    assume(problem.options["estimator"] is None)  # others have their own idea of weights
    one = fitted(weighted, prefer="balanced")
    train, held_out = np.repeat(TRAIN, repeats[TRAIN]), np.repeat(HELD_OUT, repeats[HELD_OUT])
    every = np.concatenate([train, held_out])
    split = [(np.arange(len(train)), np.arange(len(train), len(every)))]
    two = _fit_rows(problem, every, split)
    assert (one is None) == (two is None)
    if one is not None:
        assert [p.exits for p in one.front_] == [p.exits for p in two.front_]
        for weighed, repeated in zip(one.front_, two.front_, strict=True):
            assert _without_noise(weighed) == _without_noise(repeated)
            assert weighed.exit_confidence == pytest.approx(repeated.exit_confidence)


def _without_noise(point: ParetoPoint) -> ParetoPoint:
    """A point without what depends on how many rows there are, whatever their weight."""
    assert point.versus_everything is not None
    noisy = {"exit_confidence": None, "versus_everything": None, "expected": None}
    return replace(point, **noisy, shortlisted=True)


def _fit_rows(problem: Setting, rows: np.ndarray, split: list[Any]) -> EMSCOClassifier | None:
    classifier = EMSCOClassifier(
        FeatureCosts.from_mapping(COSTS, COLUMNS, GROUPS),
        cv=split,
        max_stages=3,
        generations=3,
        population_size=20,
        random_state=0,
        prefer="balanced",
        **problem.options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)  # no design accepts a row
        try:
            return classifier.fit(problem.rows(rows), problem.y[rows])
        except NoSuchDesign:
            return None
