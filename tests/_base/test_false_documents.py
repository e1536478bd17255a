"""Documents with a correct checksum and false values: refused by name, or usable."""

from __future__ import annotations

import copy
import re

import pytest
from support.documents import (
    CASCADE_BODY,
    FRONT_BODY,
    assert_same_cascade,
    at,
    changed,
    load_body,
    paths_of,
)
from support.handmade import make_cascade

from emsco import Cascade, FileError, ParetoFront
from emsco._base.documents import document_text
from emsco.cascade.format import FORMAT
from emsco.models.calibration import SigmoidMap

pytestmark = pytest.mark.usefixtures("without_fsync")

KINDS = [Cascade, ParetoFront]
N, P, T = ("stages", 1), ("points", 0, "scored"), ("points", 0, "seen")
SHARED = ("parts", 0)
NUMBERS = "must be numbers of models that read the features bought by then, got"
C = (*T, "by_class", "counts")
B, V, R = (*P, "by_class"), (*P, "versus_everything"), ("references", 1)
RANGE = "from -1e+100 to 1e+100"
WRONG_CASCADES = [
    (("features",), list("abcc"), "'features' must be a list of different names"),
    (("features",), [], "'features' must be a list of different names, got []"),
    (("features", 0), 5, "'features' must be a list of different names"),
    (("features",), "abcd", "'features' must be a list, got 'abcd'"),
    (
        ("features", 3),
        "unknown",
        "'features' must be those of the encoding, got ['age', 'pulse', 's",
    ),
    (("costs",), [1, 2, 3], "'costs' must be 4 finite numbers, got [1, 2, 3]"),
    (("costs", 0), -1, "'costs' must be costs that can be used"),
    (("costs",), [0, 0, 0, 0], "'costs' must be costs that can be used"),
    (("costs", 0), 1e101, "'costs' must be costs that can be used"),
    (("costs", 0), "1", "'costs' must be 4 finite numbers"),
    (("costs", 0), True, "'costs' must be 4 finite numbers"),
    (("costs", 0), None, "'costs' must be 4 finite numbers"),
    (("costs", 0), 10**400, "'costs' must be 4 finite numbers"),
    (
        (
            *SHARED,
            "mean",
        ),
        [0] * 5,
        f"'mean' must be 4 finite numbers {RANGE}, got [0, 0, 0, 0, 0]",
    ),
    ((*SHARED, "mean", 1), 1e101, f"'mean' must be 4 finite numbers {RANGE}"),
    ((*SHARED, "mean", 1), [0], f"'mean' must be 4 finite numbers {RANGE}"),
    ((*SHARED, "deviation", 1), 0, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    ((*SHARED, "deviation", 1), -1.0, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    (
        (*SHARED, "deviation", 1),
        1e-310,
        "'deviation' must be 4 finite numbers from 1e-300 to 1e+100",
    ),
    (
        (*SHARED, "deviation", 1),
        1e101,
        "'deviation' must be 4 finite numbers from 1e-300 to 1e+100",
    ),
    (
        (
            *SHARED,
            "deviation",
        ),
        {},
        "'deviation' must be a list, got {}",
    ),
    (("min_confidence",), -0.1, "'min_confidence' must be a finite number from 0 to 1, got -0.1"),
    (("min_confidence",), 1.01, "'min_confidence' must be a finite number from 0 to 1, got"),
    (("min_confidence",), "0.8", "'min_confidence' must be a finite number from 0 to 1, got"),
    (
        (
            *SHARED,
            "family",
        ),
        "forest",
        "'family' must be 'logistic', 'spline', 'boosting' or 'estimator', got 'forest'",
    ),
    (
        (
            *SHARED,
            "family",
        ),
        1,
        "'family' must be text, got 1",
    ),
    (("parts",), [], "'parts' must be a list of objects, got []"),
    (("parts",), [1], "'parts' must be a list of objects, got [1]"),
    (("parts",), None, "'parts' must be a list, got None"),
    (
        ("parts",),
        CASCADE_BODY["parts"] * 2,
        "'stages' 0, 'models' must be 2 whole numbers from 0 up, got [0]",
    ),
    ((*N, "thresholds"), 0.9, "'stages' 1, 'thresholds' must be null, as at the first stage, got"),
    (("stages", 0, "thresholds"), 0.9, "'stages' 1, 'thresholds' must be a finite number from 0 "),
    (("stages", 0, "thresholds"), 1.5, "'stages' 0, 'thresholds' must be a finite number from 0 "),
    (("stages", 0, "thresholds"), "1", "'stages' 0, 'thresholds' must be a finite number from 0 "),
    (("stages", 0, "thresholds"), [1], "'stages' 0, 'thresholds' must be 2 finite numbers from 0 "),
    (("stages", 0, "thresholds"), [0, -1], "'thresholds' must be 2 finite numbers from 0 to 1"),
    ((*N, "models"), [], "'stages' 1, 'models' must be 1 whole numbers from 0 up, got []"),
    ((*N, "models"), [True], "'stages' 1, 'models' must be 1 whole numbers from 0 up, got [True]"),
    ((*N, "models"), [-1], "'stages' 1, 'models' must be 1 whole numbers from 0 up, got [-1]"),
    ((*N, "models"), [3], f"'stages' 1, 'models' {NUMBERS} [3]"),
    ((*N, "models"), [0], f"'stages' 1, 'models' {NUMBERS} [0]"),
    ((*SHARED, "models"), [], "'parts' 0, 'models' must be a list of objects, got []"),
    ((*SHARED, "models", 0, "inputs"), [1, 0], "'inputs' must be rising numbers, at least one"),
    ((*SHARED, "models", 0, "inputs"), [4], "'inputs' must be 1 whole numbers from 0 to 3, got"),
    ((*SHARED, "models", 0, "inputs"), [0, 2], f"'stages' 0, 'models' {NUMBERS} [0]"),
    (
        (*SHARED, "models", 0, "calibration"),
        {"kind": "sigmoid", "maps": [SigmoidMap(1.0, 0.0).to_dict()]},
        "'models' 0, 'calibration' must be there for all models or none, got '1 models'",
    ),
    ((*N, "models"), {}, "'stages' 1, 'models' must be a list, got {}"),
    (
        (*N, "models"),
        [1, 1, 1],
        "'stages' 1, 'models' must be 1 whole numbers from 0 up, got [1, 1, 1]",
    ),
    (("classes",), [0, 0], "'classes' must be 2 to 255 different labels, got [0, 0]"),
    (("classes",), [1, True], "'classes' must be 2 to 255 different labels, got [1, True]"),
    (("classes",), [0, 1, 2], "0, 'outputs' must be a list of 3, got '1'"),
    (("classes",), [0], "'classes' must be 2 to 255 different labels, got [0]"),
    (("classes",), [None, 1], "'classes' must be 2 to 255 different labels, got [None, 1]"),
    (("classes",), [[0], [1]], "'classes' must be 2 to 255 different labels, got [[0], [1]]"),
    (("classes",), ["0", "1"], "'classes' must be labels of type int64, got ['0', '1']"),
    (("classes",), [0, 2**63], "'classes' must be labels of type int64, got [0, 9223372036854775"),
    (("classes",), [0, 0.5], "'classes' must be labels of type int64, got [0, 0.5]"),
    (("class_type",), "complex128", "'class_type' must be a type of labels, got 'complex128'"),
    (("class_type",), "U1", "'classes' must be labels of type U1, got [0, 1]"),
    (("class_type",), "O, O", "'class_type' must be a type of labels, got 'O, O'"),
    (("class_type",), 5, "'class_type' must be text, got 5"),
    (("stages",), [], "'stages' must be a list of objects, got []"),
    (("stages",), [1], "'stages' must be a list of objects, got [1]"),
    (("stages",), [{}] * 5, "'stages' must be at most 4 stages, got '5'"),
    (("classes",), list(range(256)), "'classes' must be 2 to 255 different labels, got [0, 1"),
    (("evaluation_cost",), -1, "'evaluation_cost' must be a finite number from 0 up, got -1"),
    (("evaluation_cost",), None, "'evaluation_cost' must be a finite number from 0 up, got None"),
    (("encoding",), [], "'encoding' must be an object, got []"),
    (("encoding", "gaps"), "drop", "'gaps' must be one of refuse, impute, skip, got 'drop'"),
    (("encoding", "features"), ["age"], "1, 'feature' must be one of the features, got 'pulse'"),
    (("encoding", "columns"), [], "'columns' must be a list of objects, got []"),
    (("encoding", "columns", 0, "kind"), "date", "'columns' 0, 'kind' must be"),
    (("encoding", "columns", 0, "feature"), "pulse", "columns of all features, 'age' too"),
    (("encoding", "columns", 0, "name"), "pulse", "'name' must be different from those before"),
    (("min_confidence",), [0.8], "'min_confidence' must be 2 finite numbers from 0 to 1"),
    (("min_confidence",), [0.8, -1], "'min_confidence' must be 2 finite numbers from 0 to 1"),
    (("stages",), CASCADE_BODY["stages"][1:], f"'stages' 0, 'models' {NUMBERS} [1]"),
    ((*N, "buys"), [], "'stages' 1, 'buys' must be a list of different names, got []"),
    ((*N, "buys"), ["age"], "'stages' 1, 'buys' must be features, each bought once, got 'age'"),
    ((*N, "buys"), ["x"], "'stages' 1, 'buys' must be features, each bought once, got 'x'"),
    (
        (*SHARED, "models", 1, "outputs", 0, "weights"),
        [1, 2],
        f"0, 'weights' must be 3 finite numbers {RANGE}, got [1,",
    ),
    (
        (*SHARED, "models", 1, "outputs", 0, "weights", 0),
        1e308,
        f"0, 'weights' must be 3 finite numbers {RANGE}",
    ),
    (
        (*SHARED, "models", 1, "outputs", 0, "weights", 0),
        False,
        f"0, 'weights' must be 3 finite numbers {RANGE}",
    ),
    (
        (*SHARED, "models", 1, "outputs", 0, "intercept"),
        [1],
        f"0, 'intercept' must be a finite number {RANGE}, got [1]",
    ),
    (
        (*SHARED, "models", 1, "outputs", 0, "intercept"),
        -1e101,
        f"0, 'intercept' must be a finite number {RANGE}, got -1",
    ),
]
UP = "must be a finite number from 0 up, got"
SHARE = "must be a finite number from 0 to 1, got"
LISTS = "must be 2 lists of 3 numbers, all at least 0, got"
PAIR = "must be a difference and its standard error, got"
ALL_OR_NONE = "must be judged by class all or none, got"
WRONG_FRONTS = [
    (("points",), [], "'points' must be a list of objects, got []"),
    (("points",), {}, "'points' must be a list, got {}"),
    (("points", 1, "seen"), None, "'points' must be evaluated all or none, got '1 evaluations'"),
    (("points", 1, "seen"), [], "'points' 1, 'seen' must be an object, got []"),
    (("proven",), 1, "'proven' must be true or false, got 1"),
    (("metric",), None, "'metric' must be text, got None"),
    (("metric",), "f1", "'metric' must be one of accuracy, balanced_accuracy, got 'f1'"),
    (("by_fitness",), 1, "'by_fitness' must be true or false, got 1"),
    ((*P, "coverage"), 1.5, f"'points' 0, 'scored', 'coverage' {SHARE} 1.5"),
    ((*P, "accuracy"), -0.1, f"'points' 0, 'scored', 'accuracy' {SHARE} -0.1"),
    ((*P, "cost"), -1, f"'points' 0, 'scored', 'cost' {UP} -1"),
    ((*P, "n_tied"), 0, "'n_tied' must be a whole number from 1 up, got 0"),
    ((*P, "n_tied"), 2**63, "'n_tied' must be a whole number from 1 up, got 9223372036854775808"),
    ((*P, "n_tied"), 1.0, "'n_tied' must be a whole number from 1 up, got 1.0"),
    ((*P, "n_rows"), 0, "'scored', 'n_rows' must be above 0, got 0"),
    ((*P, "n_rows"), 30, "'exits' must be 3 finite numbers from 0 to 30, got [40, 30, 20]"),
    ((*P, "exits"), [1, 2], "'exits' must be 3 finite numbers from 0 to 100, got [1, 2]"),
    ((*P, "exits", 0), -1, "'exits' must be 3 finite numbers from 0 to 100, got [-1, 30, 20]"),
    (
        (*P, "correct_exits", 0),
        True,
        "'correct_exits' must be 3 finite numbers from 0 to 100, got [True, 28, 13]",
    ),
    ((*P, "correct_exits", 0), 41, "'correct_exits' must be at most the exits, got [41, 28, 13]"),
    ((*T, "n_rows"), -1, "'points' 0, 'seen', 'n_rows' must be a finite number from 0 up, got -1"),
    ((*T, "coverage"), 2, f"'points' 0, 'seen', 'coverage' {SHARE} 2"),
    ((*T, "accuracy"), "1", f"'points' 0, 'seen', 'accuracy' {SHARE} '1'"),
    ((*T, "cost"), None, f"'points' 0, 'seen', 'cost' {UP} None"),
    (
        (*T, "exits"),
        FRONT_BODY["points"][0]["seen"]["exits"][1:],
        "'exits' must be 4 exits, got '3'",
    ),
    ((*T, "exits", 0, "stage"), 2, "'exits' 0, 'stage' must be 1, as in the design, got 2"),
    ((*T, "exits", 3, "stage"), 4, "'exits' 3, 'stage' must be None, as in the design, got 4"),
    (
        (*T, "exits", 1, "features"),
        ["x"],
        "'features' must be ['scan'], as in the design, got ['x']",
    ),
    ((*T, "exits", 1, "cost"), -1, f"'exits' 1, 'cost' {UP} -1"),
    (
        (*T, "exits", 1, "n_rows"),
        None,
        "'exits' 1, 'n_rows' must be a finite number from 0 up, got N",
    ),
    (
        (*T, "exits", 0, "n_correct"),
        61,
        "'exits' 0, 'n_correct' must be a finite number from 0 to ",
    ),
    ((*T, "by_class"), [], "'points' 0, 'seen', 'by_class' must be an object, got []"),
    ((*C, 0), [1, 2], "'by_class', 'counts' must be 2 lists of 3 numbers, all at least 0, got [1"),
    ((*C, 0, 0), -1, "'by_class', 'counts' must be 2 lists of 3 numbers, all at least 0, got [-1"),
    ((*C, 0, 0), 10**400, "'counts' must be 2 lists of 3 numbers, all at least 0, got [1000"),
    ((*C, 0, 0), True, "'counts' must be 2 lists of 3 numbers, all at least 0, got [True"),
    (("points", 1, "scored", "by_class"), None, f"'points' {ALL_OR_NONE} '1 results by class'"),
    (B, {}, "'points' 0, 'scored', 'by_class' must be a list, got {}"),
    (B, [[1, 2, 3]], f"'scored', 'by_class' {LISTS} [[1, 2, 3]]"),
    ((*B, 1), [1, 2], f"'scored', 'by_class' {LISTS} [1, 2]"),
    ((*B, 0, 2), -0.5, f"'scored', 'by_class' {LISTS} ["),
    ((*B, 0, 2), "1", f"'scored', 'by_class' {LISTS} ["),
    (V, None, "'points' 0, 'scored', 'versus_everything' must be an object, got None"),
    ((*V, "coverage"), 0.1, "'versus_everything', 'coverage' must be a list, got 0.1"),
    ((*V, "coverage"), [0.1], f"'versus_everything', 'coverage' {PAIR} [0.1]"),
    ((*V, "accuracy", 0), 10**400, f"'versus_everything', 'accuracy' {PAIR} [1000"),
    ((*V, "accuracy", 1), True, f"'versus_everything', 'accuracy' {PAIR} ["),
    ((*V, "cost", 1), -1, "'versus_everything', 'cost' must be a standard error of at least 0, g"),
    ((*V, "recall"), [[0, 0]], "'recall' must be a pair for each of 2 classes, got [[0, 0]]"),
    ((*V, "recall", 1), 0.5, f"'versus_everything', 'recall' {PAIR} 0.5"),
    ((*V, "missed", 0), [0, None], f"'versus_everything', 'missed' {PAIR} [0, None]"),
    ((*V, "missed", 0, 1), -0.1, "'missed' must be a standard error of at least 0, got ["),
    ((*P, "exit_confidence"), None, "'scored', 'exit_confidence' must be a list, got None"),
    (
        (*P, "exit_confidence"),
        [0.9, 0.9],
        "'exit_confidence' must be 3 finite numbers from 0 to 1, got [0.9, 0.9]",
    ),
    (
        (*P, "exit_confidence", 1),
        1.5,
        "'exit_confidence' must be 3 finite numbers from 0 to 1, got [0.95, 1.5, 0.8125]",
    ),
    ((*P, "shortlisted"), 0, "'scored', 'shortlisted' must be true or false, got 0"),
    ((*P, "is_simplified"), None, "'scored', 'is_simplified' must be true or false, got None"),
    (
        (*P, "is_simplified"),
        True,
        "'points' must be simplified at most once, got 'points 0 and more'",
    ),
    (("everything",), {}, "'everything' must be a list, got {}"),
    (("everything",), [], "'everything' must be a stage, since there are references, got []"),
    (("everything", 0), 5, "'everything' must be a list of objects, got [5]"),
    (
        ("everything",),
        FRONT_BODY["points"][1]["stages"],
        "'everything' must be one stage that buys all features, got",
    ),
    (("everything", 0, "buys"), ["x"], "'everything' 0, 'buys' must be features, each bought once"),
    (("everything", 0, "models"), [1], f"'everything' 0, 'models' {NUMBERS} [1]"),
    (("references",), None, "'references' must be a list, got None"),
    (("references",), [], "'seen_references' must be empty without 'references', got '3 ref"),
    (("references",), [5, 5, 5], "'references' must be a list of objects, got [5, 5, 5]"),
    (
        ("references",),
        FRONT_BODY["references"][1:],
        "'references' 0, 'kind' must be 'commonest', got 'everything'",
    ),
    ((*R, "kind"), "answered", "'references' 1, 'kind' must be 'everything', got 'answered'"),
    ((*R, "kind"), None, "'references' 1, 'kind' must be text, got None"),
    ((*R, "coverage"), 1.5, f"'references' 1, 'coverage' {SHARE} 1.5"),
    ((*R, "cost"), -1, f"'references' 1, 'cost' {UP} -1"),
    ((*R, "by_class"), None, "'references' 1, 'by_class' must be a list, got None"),
    ((*R, "by_class", 0), [1], f"'references' 1, 'by_class' {LISTS} [1]"),
    (("seen_references",), "none", "'seen_references' must be a list, got 'none'"),
    (
        ("seen_references",),
        FRONT_BODY["seen_references"] * 2,
        "'seen_references' must be 2 or 3 references, or none, got '6'",
    ),
    (("seen_references", 2, "accuracy"), 2, f"'seen_references' 2, 'accuracy' {SHARE} 2"),
    (
        ("seen_references", 0, "by_class", 1, 1),
        -3,
        f"'seen_references' 0, 'by_class' {LISTS} [",
    ),
]


COUNTED = ", as the counts say, got"
S, X = ("points", 1, "scored"), ("points", 1, "seen")
CONTRADICTIONS = [
    ((*P, "coverage"), 0.8, f"'points' 0, 'scored', 'coverage' must be 0.9{COUNTED} 0.8"),
    ((*P, "accuracy"), 0.9, f"'scored', 'accuracy' must be 0.8888888889{COUNTED} 0.9"),
    ((*P, "cost"), 15.0, f"'scored', 'cost' must be 21.5{COUNTED} 15.0"),
    ((*P, "exits"), [60, 60, 60], "'exits' must be at most 100 rows together, got 180.0"),
    ((*P, "n_rows"), 90, f"'coverage' must be 1{COUNTED} 0.9"),
    ((*S, "cost"), 0, f"'points' 1, 'scored', 'cost' must be 53{COUNTED} 0.0"),
    ((*X, "n_rows"), 61, f"'points' 1, 'seen', 'n_rows' must be 60{COUNTED} 61"),
    ((*X, "coverage"), 0.123, "'seen', 'coverage' must be "),
    ((*X, "accuracy"), 0.123, "'seen', 'accuracy' must be "),
    ((*X, "cost"), 0.5, "'seen', 'cost' must be "),
    ((*X, "exits", 0, "cost"), 0.5, "'exits' must be at the costs of the design, 52.5 here, got"),
    ((*X, "by_class", "counts", 0, 0), 59, "'by_class' must be counts that add up to those of"),
    ((*R, "coverage"), 0.123, "'references' 1, 'coverage' must be "),
    ((*R, "accuracy"), 0.123, "'references' 1, 'accuracy' must be "),
    ((*R, "cost"), 53.0, f"'references' 1, 'cost' must be 53.5{COUNTED} 53.0"),
    (("references", 0, "cost"), 1, f"'references' 0, 'cost' must be 0{COUNTED} 1.0"),
]


class TestContradictions:
    """Figures that do not follow from their own counts."""

    @pytest.mark.parametrize(("path", "value", "said"), CONTRADICTIONS)
    def test_are_refused_by_name(self, tmp_path, path, value, said):
        with pytest.raises(FileError, match=f"^'.*body.json', .*{re.escape(said)}"):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, path, value))

    def test_of_points_on_different_rows_are_refused(self, tmp_path):
        scored = copy.deepcopy(FRONT_BODY["points"][0]["scored"])
        for name in ("n_rows", "exits", "correct_exits"):
            value = scored[name]
            scored[name] = 2 * value if name == "n_rows" else [2 * one for one in value]
        body = changed(FRONT_BODY, P, scored)
        with pytest.raises(FileError, match=r"'points' must be scored on the same rows, got '100"):
            load_body(tmp_path, ParetoFront, body)

    def test_correct_labels_of_rejected_rows_are_refused(self, tmp_path):
        exits = copy.deepcopy(FRONT_BODY["points"][1]["seen"]["exits"])
        exits[0]["n_rows"] -= 1
        exits[-1] |= {"n_rows": exits[-1]["n_rows"] + 1, "n_correct": 1}
        with pytest.raises(FileError, match="'exits' must be without correct labels for rejected"):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, (*X, "exits"), exits))

    @pytest.mark.parametrize(("name", "most"), [("accuracy", "1"), ("cost", r"1e\+150")])
    def test_expected_figures_out_of_reach_are_refused(self, tmp_path, name, most):
        expected = {one: [0.5, 0.4, 0.6] for one in ("coverage", "accuracy", "cost")}
        body = changed(FRONT_BODY, (*P, "expected"), expected)
        assert load_body(tmp_path, ParetoFront, body)[0].expected.cost.high == 0.6
        expected[name] = [0.5, 0.4, 1e300]
        with pytest.raises(FileError, match=f"'expected', '{name}' must be at most {most}, got"):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, (*P, "expected"), expected))

    def test_within_rounding_are_none(self, tmp_path):
        body = changed(FRONT_BODY, (*P, "cost"), 21.5 * (1 + 1e-12))
        assert load_body(tmp_path, ParetoFront, body)[0].cost == pytest.approx(21.5)


class TestLies:
    """Files with a correct checksum, but with values that no cascade or front can have."""

    @pytest.mark.parametrize(
        ("kind", "path", "value", "said"),
        [
            *[(Cascade, *case) for case in WRONG_CASCADES],
            *[(ParetoFront, *case) for case in WRONG_CASCADES if case[0][0] != "stages"],
            *[(ParetoFront, *case) for case in WRONG_FRONTS],
        ],
        ids=lambda one: "-".join(map(str, one)) if isinstance(one, tuple) else "",
    )
    def test_are_refused_by_name(self, tmp_path, kind, path, value, said):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        with pytest.raises(FileError, match=f"^'.*body.json', .*{re.escape(said)}"):
            load_body(tmp_path, kind, changed(body, path, value))

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_value_may_be_an_object_of_another_make_or_be_left_out(self, tmp_path, kind):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        # One point is enough, features may be left out, everything need not reject rows, and older
        # files lack fitness, fingerprints and expected figures.
        optional = {("points", 0), ("points", 1), ("stages", 2), ("by_fitness",), ("searched",)}
        optional |= {("references", 1), ("seen_references", 1)}
        for path in paths_of(body):
            with pytest.raises(FileError, match=r"body\.json'"):
                load_body(tmp_path, kind, changed(body, path, {"some": "thing"}))
            lacking = copy.deepcopy(body)
            del at(lacking, path[:-1])[path[-1]]
            if path not in optional and path[-1] not in ("expected", "is_economical"):
                with pytest.raises(FileError, match=r"body\.json'"):
                    load_body(tmp_path, kind, lacking)

    @pytest.mark.parametrize(
        ("kind", "labels"),
        [
            ("float16", [70000.0, 1.0]),
            ("float32", [1e300, 1.0]),
            ("float64", [10**400, 1]),
            ("uint8", [256, 1]),
            ("bool", [2, 0]),
            ("U2", ["abc", "ab"]),
        ],
    )
    def test_labels_that_their_type_cannot_hold_are_refused(self, tmp_path, kind, labels):
        body = CASCADE_BODY | {"classes": labels, "class_type": kind}
        with pytest.raises(FileError, match=f"'classes' must be labels of type {kind}, got "):
            load_body(tmp_path, Cascade, body)

    def test_too_large_numbers_are_found_in_every_place(self, tmp_path):
        content = document_text(
            "cascade", FORMAT, changed(CASCADE_BODY, (*SHARED, "mean", 0), 12345.5)
        )
        (tmp_path / "body.json").write_text(content.replace("12345.5", "1e999"))
        with pytest.raises(FileError, match=r"body.json' must be unchanged since it was written"):
            Cascade.load(tmp_path / "body.json")

    def test_an_unknown_field_of_a_friendly_writer_does_no_harm(self, tmp_path):
        loaded = load_body(tmp_path, Cascade, CASCADE_BODY | {"note": "from the ward"})
        assert_same_cascade(loaded, make_cascade())


def test_a_model_that_sees_everything_has_no_threshold_of_its_own(tmp_path):
    body = changed(FRONT_BODY, ("everything", 0, "thresholds"), 0.5)
    with pytest.raises(FileError, match="'everything' must be one stage that buys all features"):
        load_body(tmp_path, ParetoFront, body)
