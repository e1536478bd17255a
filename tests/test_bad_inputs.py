"""Bad input of every reader and every group of parameters: one sentence, with name and value."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GroupKFold
from support.encodings import COLUMNS, learn
from support.handmade import make_assessed_front, make_cascade, make_rows
from support.sentences import assert_is_a_sentence
from support.settings import PLAIN

from emsco import (
    Cascade,
    Design,
    EMSCOClassifier,
    EMSCOError,
    FeatureCosts,
    Fee,
    Monitor,
    PaperSearch,
    ParetoFront,
)
from emsco.app.files.sources import FitFiles
from emsco.metrics import make_selective_scorer
from emsco.paid_features import PaidFeature, PaidFeatures
from emsco.scoring import Answers
from emsco.search import (
    choose,
    count_designs,
    find_front,
    mutate,
    start_search,
)

NAN = math.nan
X = np.random.default_rng(0).normal(size=(40, 4))
Y = np.arange(40) % 2
QUICK = {**PLAIN, "generations": 1, "max_stages": 2, "random_state": 0}
CASCADE, FRONT = make_cascade(classes=("ill", "well")), make_assessed_front()
ROWS, TRUTH = make_rows(400, seed=3), np.arange(400) % 2
FRAME = pd.DataFrame(X, columns=list("abcd"))
WORDS = PaidFeature("words", len, returns="score", price=1)


def fit(X=X, y=Y, sample_weight=None, groups=None, **settings):
    EMSCOClassifier(**{**QUICK, **settings}).fit(X, y, sample_weight, groups=groups)


def holding(value):
    """Rows of which one value is this."""
    frame = FRAME.astype({"c": object if isinstance(value, str) else float})
    frame.loc[7, "c"] = value
    return frame


def run(ids=(1, 2), acquire=lambda *_: ROWS[:2, :2], **settings):
    CASCADE.run(ids, acquire, **settings)


def certify(**settings):
    FRONT.certify(ROWS, **{"y": TRUTH, "min_accuracy": 0.6} | settings)


def asked(**settings):
    PaidFeature.chat("small", "m", **{"prompt": "Who? {input}", "labels": ["a", "b"]} | settings)


SPLIT = np.arange(20), np.arange(20, 40)


def answers(**settings):
    return Answers(**{"X": X, "y": Y, "costs": None, "split": SPLIT} | settings)


ANSWERS = answers()
SEARCH = {"kind": "evolution", "answers": ANSWERS, "min_confidence": 0.8}
MUTANT = {"designs": [[0, 1, 2]], "rate": 0.2, "stage_bias": 2, "max_stages": 3, "rng": 0}
FOUND = find_front(**SEARCH, rng=0, generations=1)


def search(**settings):
    find_front(**SEARCH | settings)


def mutant(**settings):
    mutate(**MUTANT | settings)


# (what is called, its arguments, and what the sentence must show beside the names of arguments)
BAD = [
    (fit, {"max_stages": 0}, "0"),
    (fit, {"max_stages": 2.5}, "2.5"),
    (fit, {"min_confidence": 0.5}, "0.5"),
    (fit, {"min_confidence": 1.01}, "1.01"),
    (fit, {"min_confidence": "high"}, "'high'"),
    (fit, {"min_confidence": {0: 0.9}}, "1"),
    (fit, {"min_confidence": {0: 0.9, 1: 0.9, 2: 0.9}}, "2"),
    (fit, {"min_confidence": {0: 0.9, 1: 0}}, "class 1"),
    (fit, {"always_answer": 1}, "1"),
    (fit, {"metric": "f1"}, "'f1'"),
    (fit, {"error_cost": -5}, "-5"),
    (fit, {"error_cost": {"ill": 5}}, "'ill'"),
    (fit, {"error_cost": [[0, 1]]}, "2"),
    (fit, {"error_cost": 5, "reject_cost": "free"}, "'free'"),
    (fit, {"prefer": "cheapest"}, "'cheapest'"),
    (fit, {"prefer": ["balanced"]}, "['balanced']"),
    (fit, {"prefer": {"min_accuracy": 97}}, "97"),
    (fit, {"prefer": {"max_cost": "low"}}, "'low'"),
    (fit, {"prefer": {"max_price": 3}}, "'max_price'"),
    (fit, {"prefer": {"min_recall": {"ill": 0.5}}}, "'ill'"),
    (fit, {"branches": 5}, "5"),
    (fit, {"branches": "many"}, "'many'"),
    (fit, {"estimator": "forest"}, "'forest'"),
    (fit, {"estimator": KMeans()}, "KMeans"),
    (fit, {"estimator": Perceptron()}, "predict_proba"),
    (fit, {"class_weight": "even"}, "'even'"),
    (fit, {"class_weight": {5: 1}}, "5"),
    (fit, {"class_weight": {1: -1}}, "-1"),
    (fit, {"gaps": "drop"}, "'drop'"),
    (fit, {"constraints": {"last": ["x0"]}}, "'last'"),
    (fit, {"constraints": {"first": ["x9"]}}, "'x9'"),
    (fit, {"constraints": {"max_mean_cost": 0.5}}, "0.5"),
    (fit, {"constraints": {"max_worst_cost": -1}}, "-1"),
    (fit, {"constraints": {"max_mean_delay": 3}}, "delay"),
    (fit, {"search": "greedy"}, "'greedy'"),
    (fit, {"search": PaperSearch(stage_bias=0)}, "stage_bias"),
    (fit, {"search": PaperSearch(mutation_rate=1.5)}, "1.5"),
    (fit, {"search": PaperSearch(crossover_rate=-0.1)}, "-0.1"),
    (fit, {"search": PaperSearch(elite_fraction=2)}, "elite_fraction"),
    (fit, {"search": PaperSearch(epsilon=0)}, "epsilon"),
    (fit, {"search": PaperSearch(growth=True)}, "True"),
    (fit, {"cv": 1}, "1"),
    (fit, {"cv": 0.0}, "0.0"),
    (fit, {"cv": "many"}, "'many'"),
    (fit, {"cv": 30}, "30"),
    (fit, {"cv": []}, "cv"),
    (fit, {"cv": [(np.arange(20), [])]}, "cv"),
    (fit, {"cv": [(np.arange(0, 20, 2), np.arange(20, 40))]}, "0"),
    (fit, {"cv": GroupKFold(2)}, "groups"),
    (fit, {"refit": "yes"}, "'yes'"),
    (fit, {"screen_rows": 3}, "3"),
    (fit, {"time_limit": 0}, "0"),
    (fit, {"memory_limit": "lots"}, "'lots'"),
    (fit, {"memory_limit": 100}, "100"),
    (fit, {"n_jobs": 0}, "0"),
    (fit, {"n_jobs": "all"}, "'all'"),
    (fit, {"device": "tpu"}, "'tpu'"),
    (fit, {"checkpoint": 3}, "3"),
    (fit, {"random_state": "luck"}, "luck"),
    (fit, {"verbose": -1}, "-1"),
    (fit, {"costs": [1, 2, -3, 4]}, "-3"),
    (fit, {"costs": [1, NAN, 3, 4]}, "'x1'"),
    (fit, {"costs": [1, 2]}, "2"),
    (fit, {"costs": {"x0": 1, "x9": 2}}, "'x9'"),
    (fit, {"costs": {"x0": 1}}, "'x3'"),
    (fit, {"costs": "cheap"}, "costs"),
    (fit, {"X": holding(NAN)}, "'c'"),
    (fit, {"X": holding(-math.inf)}, "row 7"),
    (fit, {"X": holding("old")}, "'old'"),
    (fit, {"X": X + 1j}, "omplex"),
    (fit, {"X": X[:, 0]}, "(40,)"),
    (fit, {"X": None}, "None"),
    (fit, {"X": sparse.csr_matrix(X)}, "sparse"),
    (fit, {"X": FRAME.set_axis(["a", 1, 2, 3], axis=1)}, "names"),
    (fit, {"X": FRAME.set_axis(list("aabc"), axis=1)}, "'a'"),
    (fit, {"X": FRAME.assign(d=[["list"]] * 40)}, "'d'"),
    (fit, {"y": Y * 0}, "0"),
    (fit, {"y": np.linspace(0, 1, 40)}, "classes"),
    (fit, {"y": np.arange(40) == 3}, "True"),
    (fit, {"y": [1, "a"] * 20}, "'a'"),
    (fit, {"y": [{}, {"a": 1}] * 20}, "dict"),
    (fit, {"y": np.column_stack([Y, Y])}, "(40, 2)"),
    (fit, {"y": [None, *Y[1:]]}, "row 0"),
    (fit, {"sample_weight": [1, 2]}, "(2,)"),
    (fit, {"sample_weight": np.full(40, -1)}, "-1"),
    (fit, {"sample_weight": np.zeros(40)}, "40"),
    (fit, {"sample_weight": ["x"] * 40}, "numbers"),
    (fit, {"groups": np.array([1, "a"] * 20, dtype=object)}, "type"),
    (FeatureCosts.from_array, {"costs": [-1, 2]}, "-1"),
    (FeatureCosts.from_array, {"costs": [1, math.inf]}, "inf"),
    (FeatureCosts.from_array, {"costs": ["cheap", 1]}, "cheap"),
    (FeatureCosts.from_array, {"costs": [[1, 2]]}, "(1, 2)"),
    (FeatureCosts.from_array, {"costs": [1, 2], "names": ["a", "a"]}, "'a'"),
    (FeatureCosts.from_mapping, {"costs": {"agee": 1}, "names": ["age"]}, "'agee'"),
    (FeatureCosts.from_mapping, {"costs": {"age": 1}, "names": ["age", "sex"]}, "'sex'"),
    (FeatureCosts.from_mapping, {"costs": {"a": 0}, "names": ["a"]}, "0"),
    (Fee, {"name": "draw", "cost": -2, "features": ["a"]}, "-2"),
    (Design, {"stages": [0, 2], "names": ["a", "b"]}, "2"),
    (Design, {"stages": [0, 1], "names": ["a"]}, "1"),
    (Design, {"stages": [0.5], "names": ["a"]}, "0.5"),
    (Design, {"stages": [0, 1], "names": ["a", "b"], "thresholds": (0.9,)}, "1"),
    (Design, {"stages": [0, 1], "names": ["a", "b"], "thresholds": (0.9, 1.1)}, "1.1"),
    (Design, {"stages": [0], "names": ["a"], "thresholds": ({"ill": 2},)}, "'ill'"),
    (CASCADE.decide, {"X": ROWS[:, :3]}, "3"),
    (CASCADE.decide, {"X": [["a"] * 4]}, "'age'"),
    (CASCADE.decide, {"X": np.where(ROWS[5, 1] == ROWS, NAN, ROWS)}, "'pulse'"),
    (CASCADE.decide, {"X": pd.DataFrame(ROWS[:, :3], columns=["age", "pulse", "pet"])}, "'scan'"),
    (CASCADE.evaluate, {"X": ROWS, "y": ["ill"]}, "400"),
    (CASCADE.evaluate, {"X": ROWS, "y": ["dead"] * 400}, "'dead'"),
    (CASCADE.evaluate, {"X": ROWS, "y": ["ill"] * 400, "by": "ward"}, "by"),
    (CASCADE.evaluate, {"X": ROWS, "y": ["ill"] * 400, "groups": [NAN] * 400}, "row 0"),
    (CASCADE.reliability, {"X": ROWS, "y": ["ill"] * 400, "n_bins": 0}, "0"),
    (CASCADE.open, {"budget": -1}, "-1"),
    (CASCADE.open().give, {"values": {"age": 1}}, "'pulse'"),
    (CASCADE.open().give, {"values": {"age": 1, "pulse": "old"}}, "'old'"),
    (CASCADE.open().give, {"values": {"age": 1, "pulse": 2, "scan": 3}}, "'scan'"),
    (CASCADE.open().give, {"values": [1]}, "[1]"),
    (CASCADE.open().reject, {"reason": ""}, "reason"),
    (CASCADE.resume, {"text": "{}"}, "case"),
    (CASCADE.to_onnx, {"path": __file__}, "test_bad_inputs.py"),
    (run, {"ids": 5}, "5"),
    (run, {"ids": "patient 7"}, "'patient 7'"),
    (run, {"acquire": None}, "None"),
    (run, {"budget": "5"}, "'5'"),
    (run, {"batch_size": 0}, "0"),
    (run, {"retries": True}, "True"),
    (run, {"pause": -0.1}, "-0.1"),
    (Cascade.load, {"path": "nowhere.json"}, "nowhere.json"),
    (Cascade.load, {"path": __file__}, "test_bad_inputs.py"),
    (ParetoFront.load, {"path": "."}, "."),
    (FRONT.plot, {"kind": "4d"}, "'4d'"),
    (FRONT.plot, {"width": 1}, "1"),
    (FRONT.select, {"max_cost": "low"}, "'low'"),
    (FRONT.select, {"min_recall": {"dead": 0.5}}, "'dead'"),
    (FRONT.select, {"error_cost": 5}, "reject_cost"),
    (FRONT.cascade, {"point": 9}, "9"),
    (certify, {"delta": 0}, "0"),
    (certify, {"order": 7}, "7"),
    (certify, {"order": []}, "order"),
    (certify, {"prefer": "best"}, "'best'"),
    (certify, {"random_state": None}, "None"),
    (certify, {"max_weight": 2}, "sample_weight"),
    (certify, {"sample_weight": np.ones(400)}, "max_weight"),
    (certify, {"sample_weight": np.full(400, 3.0), "max_weight": 2}, "3"),
    (certify, {"groups": [1, 2]}, "2"),
    (certify, {"y": np.full(400, NAN)}, "row 0"),
    (certify, {"y": np.zeros(3)}, "400"),
    (certify, {"min_accuracy": 0.999}, "0.999"),
    (certify, {"min_recall": {1: 0.995}}, "0.995"),
    (certify, {"min_accuracy": None}, "min_coverage"),
    (certify, {"max_total": 5}, "error_cost"),
    (Monitor, {"cascade": CASCADE}, "min_accuracy"),
    (Monitor, {"cascade": CASCADE, "min_accuracy": 95}, "95"),
    (Monitor, {"cascade": CASCADE, "min_coverage": -0.1}, "-0.1"),
    (Monitor, {"cascade": CASCADE, "max_cost": NAN}, "nan"),
    (Monitor, {"cascade": CASCADE, "min_recall": {"dead": 0.9}}, "'dead'"),
    (Monitor, {"cascade": CASCADE, "min_accuracy": 0.9, "delta": 1}, "1"),
    (learn, {"table": pa.table({"a": [datetime.date(2026, 1, 1)]})}, "'a'"),
    (learn, {"table": pa.table({"a": [b"a"]})}, "binary"),
    (learn(pd.DataFrame(COLUMNS)).rows, {"table": pd.DataFrame({**COLUMNS, "ill": "no"})}, "'ill'"),
    (make_selective_scorer, {"metric": "price"}, "'price'"),
    (make_selective_scorer, {"metric": "cost", "greater_is_better": True}, "greater_is_better"),
    (asked, {"url": "https://me:secret@host"}, "url"),
    (asked, {"options": {"api_key": "secret"}}, "'api_key'"),
    (asked, {"prompt": "Whose?"}, "{input}"),
    (asked, {"labels": ["a"]}, "labels"),
    (asked, {"returns": "answer"}, "'answer'"),
    (asked, {"price": "cheap"}, "'cheap'"),
    (PaidFeatures, {"features": [WORDS, WORDS]}, "'words'"),
    (PaidFeatures([WORDS]).collect, {"inputs": "one text"}, "'one text'"),
    (answers, {"y": Y[:30]}, "(30,)"),
    (answers, {"X": X[:0]}, "none"),
    (answers, {"split": SPLIT[:1]}, "split"),
    (answers, {"split": 3}, "split"),
    (answers, {"split": ([0, 1], [500])}, "500"),
    (answers, {"split": ([0, 1], [0.5])}, "[0.5]"),
    (answers, {"split": ([0, 1], [])}, "scored"),
    (answers, {"split": ([0, 2, 4], [1])}, "1"),
    (answers, {"memory_limit": "lots"}, "'lots'"),
    (answers, {"n_jobs": 0}, "0"),
    (ANSWERS.on, {"rows": [500]}, "500"),
    (ANSWERS.of, {"bought": [[0, 0, 0, 0]]}, "[[0, 0, 0, 0]]"),
    (ANSWERS.of, {"bought": [1, 0]}, "[1, 0]"),
    (ANSWERS.of, {"bought": [0, 1, 1, 2]}, "[0, 1, 1, 2]"),
    (ANSWERS.of, {"bought": [[1, 0], [1]]}, "[1]"),
    (ANSWERS.score, {"designs": "abc", "min_confidence": 0.8}, "'abc'"),
    (ANSWERS.score, {"designs": [[0.5] * 4], "min_confidence": 0.8}, "0.5"),
    (ANSWERS.score, {"designs": [[[0] * 4]], "min_confidence": 0.8}, "[[[0"),
    (ANSWERS.score, {"designs": [0] * 4, "min_confidence": 0.1}, "0.1"),
    (ANSWERS.score, {"designs": [0] * 4, "min_confidence": "x"}, "'x'"),
    (search, {"search": "exact"}, "'search'"),
    (search, {"generation": 3}, "'generations'"),
    (search, {"growth": 3}, "'evolution'"),
    (search, {"buy_all": "no"}, "'no'"),
    (search, {"time_limit": -1}, "-1"),
    (search, {"time_limit": "x"}, "'x'"),
    (search, {"rng": "x"}, "'x'"),
    (search, {"min_confidence": 0.1}, "0.1"),
    (start_search, {"kind": "paper", "costs": ANSWERS.costs, "rng": -1}, "-1"),
    (count_designs, {"answers": ANSWERS, "min_confidence": 0.8, "max_stages": 0}, "0"),
    (count_designs, {"answers": ANSWERS, "min_confidence": 0.8, "max_stages": 2, "n_jobs": 0}, "0"),
    (mutant, {"rate": 2}, "2"),
    (mutant, {"stage_bias": -2}, "-2"),
    (mutant, {"max_stages": 2}, "[[0, 1, 2]]"),
    (mutant, {"rng": "x"}, "'x'"),
    (choose, {"rule": "fittest", "front": FOUND, "costs": FeatureCosts.from_array([1, 2])}, "2"),
    (FitFiles, {"target": "sick"}, "data"),
    (FitFiles, {"target": "sick", "data": "a.csv", "val": "b.csv"}, "a.csv"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("call", "arguments", "shown"),
    BAD,
    ids=[f"{call.__qualname__}-{'-'.join(given)}-{shown}" for call, given, shown in BAD],
)
def test_bad_input_is_named_in_a_sentence(call, arguments, shown):
    with pytest.raises(EMSCOError) as caught:
        call(**arguments)
    assert_is_a_sentence(str(caught.value), shown)
    assert "secret" not in str(caught.value)
