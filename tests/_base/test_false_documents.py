"""Documents with a correct checksum and false values: refused by name, or usable."""

from __future__ import annotations

import copy

import pytest
from support.documents import (
    CASCADE_BODY,
    FRONT_BODY,
    at,
    changed,
    load_body,
    paths_of,
)

from emsco import Cascade, FileError, ParetoFront
from emsco._base.documents import document_text
from emsco.cascade.format import FORMAT

pytestmark = pytest.mark.usefixtures("without_fsync")

KINDS = [Cascade, ParetoFront]
N, P, T = ("stages", 1), ("points", 0, "scored"), ("points", 0, "seen")
SHARED = ("parts", 0)
C = (*T, "by_class", "counts")
B, V, R = (*P, "by_class"), (*P, "versus_everything"), ("references", 1)
WRONG_CASCADES = [
    (("features",), list("abcc")),
    (("features",), []),
    (("features", 0), 5),
    (("features",), "abcd"),
    (("features", 3), "unknown"),
    (("costs",), [1, 2, 3]),
    (("costs", 0), -1),
    (("costs",), [0, 0, 0, 0]),
    (("costs", 0), 1e101),
    (("costs", 0), "1"),
    (("costs", 0), True),
    (("costs", 0), None),
    (("costs", 0), 10**400),
    (
        (
            *SHARED,
            "mean",
        ),
        [0] * 5,
    ),
    ((*SHARED, "mean", 1), 1e101),
    ((*SHARED, "mean", 1), [0]),
    ((*SHARED, "deviation", 1), 0),
    ((*SHARED, "deviation", 1), -1.0),
    ((*SHARED, "deviation", 1), 1e-310),
    ((*SHARED, "deviation", 1), 1e101),
    (
        (
            *SHARED,
            "deviation",
        ),
        {},
    ),
    (("min_confidence",), -0.1),
    (("min_confidence",), 1.01),
    (("min_confidence",), "0.8"),
    (
        (
            *SHARED,
            "family",
        ),
        "forest",
    ),
    (
        (
            *SHARED,
            "family",
        ),
        1,
    ),
    (("parts",), []),
    (("parts",), [1]),
    (("parts",), None),
    (("parts",), CASCADE_BODY["parts"] * 2),
    ((*N, "thresholds"), 0.9),
    (("stages", 0, "thresholds"), 0.9),
    (("stages", 0, "thresholds"), 1.5),
    (("stages", 0, "thresholds"), "1"),
    (("stages", 0, "thresholds"), [1]),
    (("stages", 0, "thresholds"), [0, -1]),
    ((*N, "models"), []),
    ((*N, "models"), [True]),
    ((*N, "models"), [-1]),
    ((*N, "models"), [3]),
    ((*N, "models"), [0]),
    ((*SHARED, "models"), []),
    ((*SHARED, "models", 0, "inputs"), [1, 0]),
    ((*SHARED, "models", 0, "inputs"), [4]),
    ((*SHARED, "models", 0, "inputs"), [0, 2]),
    (
        (*SHARED, "models", 0, "calibration"),
        {"kind": "sigmoid", "maps": []},
    ),
    ((*N, "models"), {}),
    ((*N, "models"), [1, 1, 1]),
    (("classes",), [0, 0]),
    (("classes",), [1, True]),
    (("classes",), [0, 1, 2]),
    (("classes",), [0]),
    (("classes",), [None, 1]),
    (("classes",), [[0], [1]]),
    (("classes",), ["0", "1"]),
    (("classes",), [0, 2**63]),
    (("classes",), [0, 0.5]),
    (("class_type",), "complex128"),
    (("class_type",), "U1"),
    (("class_type",), "O, O"),
    (("class_type",), 5),
    (("stages",), []),
    (("stages",), [1]),
    (("stages",), [{}] * 5),
    (("classes",), list(range(256))),
    (("evaluation_cost",), -1),
    (("evaluation_cost",), None),
    (("encoding",), []),
    (("encoding", "gaps"), "drop"),
    (("encoding", "features"), ["age"]),
    (("encoding", "columns"), []),
    (("encoding", "columns", 0, "kind"), "date"),
    (("encoding", "columns", 0, "feature"), "pulse"),
    (("encoding", "columns", 0, "name"), "pulse"),
    (("min_confidence",), [0.8]),
    (("min_confidence",), [0.8, -1]),
    (("stages",), CASCADE_BODY["stages"][1:]),
    ((*N, "buys"), []),
    ((*N, "buys"), ["age"]),
    ((*N, "buys"), ["x"]),
    ((*SHARED, "models", 1, "outputs", 0, "weights"), [1, 2]),
    ((*SHARED, "models", 1, "outputs", 0, "weights", 0), 1e308),
    ((*SHARED, "models", 1, "outputs", 0, "weights", 0), False),
    ((*SHARED, "models", 1, "outputs", 0, "intercept"), [1]),
    ((*SHARED, "models", 1, "outputs", 0, "intercept"), -1e101),
]
WRONG_FRONTS = [
    (("points",), []),
    (("points",), {}),
    (("points", 1, "seen"), None),
    (("points", 1, "seen"), []),
    (("proven",), 1),
    (("metric",), None),
    (("metric",), "f1"),
    (("by_fitness",), 1),
    ((*P, "coverage"), 1.5),
    ((*P, "accuracy"), -0.1),
    ((*P, "cost"), -1),
    ((*P, "n_tied"), 0),
    ((*P, "n_tied"), 2**63),
    ((*P, "n_tied"), 1.0),
    ((*P, "n_rows"), 0),
    ((*P, "n_rows"), 30),
    ((*P, "exits"), [1, 2]),
    ((*P, "exits", 0), -1),
    ((*P, "correct_exits", 0), True),
    ((*P, "correct_exits", 0), 41),
    ((*T, "n_rows"), -1),
    ((*T, "coverage"), 2),
    ((*T, "accuracy"), "1"),
    ((*T, "cost"), None),
    ((*T, "exits"), FRONT_BODY["points"][0]["seen"]["exits"][1:]),
    ((*T, "exits", 0, "stage"), 2),
    ((*T, "exits", 3, "stage"), 4),
    ((*T, "exits", 1, "features"), ["x"]),
    ((*T, "exits", 1, "cost"), -1),
    ((*T, "exits", 1, "n_rows"), None),
    ((*T, "exits", 0, "n_correct"), 61),
    ((*T, "by_class"), []),
    ((*C, 0), [1, 2]),
    ((*C, 0, 0), -1),
    ((*C, 0, 0), 10**400),
    ((*C, 0, 0), True),
    (("points", 1, "scored", "by_class"), None),
    (B, {}),
    (B, [[1, 2, 3]]),
    ((*B, 1), [1, 2]),
    ((*B, 0, 2), -0.5),
    ((*B, 0, 2), "1"),
    (V, None),
    ((*V, "values"), 0.1),
    ((*V, "values"), [0.1]),
    ((*V, "values", 1), 10**400),
    ((*V, "errors", 1), True),
    ((*V, "errors", 2), -1),
    ((*V, "errors"), [[0, 0]]),
    ((*P, "exit_confidence"), None),
    ((*P, "exit_confidence"), [0.9, 0.9]),
    ((*P, "exit_confidence", 1), 1.5),
    ((*P, "shortlisted"), 0),
    ((*P, "is_simplified"), None),
    ((*P, "is_simplified"), True),
    (("everything",), {}),
    (("everything",), []),
    (("everything", 0), 5),
    (("everything",), FRONT_BODY["points"][1]["stages"]),
    (("everything", 0, "buys"), ["x"]),
    (("everything", 0, "models"), [1]),
    (("references",), None),
    (("references",), []),
    (("references",), [5, 5, 5]),
    (("references",), FRONT_BODY["references"][1:]),
    ((*R, "kind"), "answered"),
    ((*R, "kind"), None),
    ((*R, "coverage"), 1.5),
    ((*R, "cost"), -1),
    ((*R, "by_class"), None),
    ((*R, "by_class", 0), [1]),
    (("seen_references",), "none"),
    (("seen_references",), FRONT_BODY["seen_references"] * 2),
    (("seen_references", 2, "accuracy"), 2),
    (("seen_references", 0, "by_class", 1, 1), -3),
]


S, X = ("points", 1, "scored"), ("points", 1, "seen")
CONTRADICTIONS = [
    ((*P, "coverage"), 0.8),
    ((*P, "accuracy"), 0.9),
    ((*P, "cost"), 15.0),
    ((*P, "exits"), [60, 60, 60]),
    ((*P, "n_rows"), 90),
    ((*S, "cost"), 0),
    ((*X, "n_rows"), 61),
    ((*X, "coverage"), 0.123),
    ((*X, "accuracy"), 0.123),
    ((*X, "cost"), 0.5),
    ((*X, "exits", 0, "cost"), 0.5),
    ((*X, "by_class", "counts", 0, 0), 59),
    ((*R, "coverage"), 0.123),
    ((*R, "accuracy"), 0.123),
    ((*R, "cost"), 53.0),
    (("references", 0, "cost"), 1),
]


class TestContradictions:
    """Figures that do not follow from their own counts."""

    @pytest.mark.parametrize(("path", "value"), CONTRADICTIONS)
    def test_are_refused_by_name(self, tmp_path, path, value):
        with pytest.raises(FileError, match=r"body\.json"):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, path, value))

    def test_of_points_on_different_rows_are_refused(self, tmp_path):
        scored = copy.deepcopy(FRONT_BODY["points"][0]["scored"])
        for name in ("n_rows", "exits", "correct_exits"):
            value = scored[name]
            scored[name] = 2 * value if name == "n_rows" else [2 * one for one in value]
        body = changed(FRONT_BODY, P, scored)
        with pytest.raises(FileError, match="'points'"):
            load_body(tmp_path, ParetoFront, body)

    def test_correct_labels_of_rejected_rows_are_refused(self, tmp_path):
        exits = copy.deepcopy(FRONT_BODY["points"][1]["seen"]["exits"])
        exits[0]["n_rows"] -= 1
        exits[-1] |= {"n_rows": exits[-1]["n_rows"] + 1, "n_correct": 1}
        with pytest.raises(FileError, match="'exits'"):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, (*X, "exits"), exits))

    @pytest.mark.parametrize("name", ["accuracy", "cost"])
    def test_expected_figures_out_of_reach_are_refused(self, tmp_path, name):
        expected = {one: [0.5, 0.4, 0.6] for one in ("coverage", "accuracy", "cost")}
        body = changed(FRONT_BODY, (*P, "expected"), expected)
        assert load_body(tmp_path, ParetoFront, body)[0].expected.cost.high == 0.6
        expected[name] = [0.5, 0.4, 1e300]
        with pytest.raises(FileError):
            load_body(tmp_path, ParetoFront, changed(FRONT_BODY, (*P, "expected"), expected))

    def test_within_rounding_are_none(self, tmp_path):
        body = changed(FRONT_BODY, (*P, "cost"), 21.5 * (1 + 1e-12))
        assert load_body(tmp_path, ParetoFront, body)[0].cost == pytest.approx(21.5)


class TestLies:
    """Files with a correct checksum, but with values that no cascade or front can have."""

    @pytest.mark.parametrize(
        ("kind", "path", "value"),
        [
            *[(Cascade, *case) for case in WRONG_CASCADES],
            *[(ParetoFront, *case) for case in WRONG_CASCADES if case[0][0] != "stages"],
            *[(ParetoFront, *case) for case in WRONG_FRONTS],
        ],
        ids=lambda one: "-".join(map(str, one)) if isinstance(one, tuple) else "",
    )
    def test_are_refused_by_name(self, tmp_path, kind, path, value):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        with pytest.raises(FileError, match=r"body\.json"):
            load_body(tmp_path, kind, changed(body, path, value))

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_value_may_be_an_object_of_another_make_or_be_left_out(self, tmp_path, kind):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        # One point is enough, features may be left out, everything need not reject rows, and older
        # files lack fitness, fingerprints and expected figures.
        optional = {("points", 0), ("points", 1), ("stages", 2), ("by_fitness",), ("searched",)}
        optional |= {("references", 1), ("seen_references", 1)}
        for path in paths_of(body):
            with pytest.raises(FileError, match=r"body\.json"):
                load_body(tmp_path, kind, changed(body, path, {"some": "thing"}))
            lacking = copy.deepcopy(body)
            del at(lacking, path[:-1])[path[-1]]
            if path not in optional and path[-1] not in ("expected", "is_economical"):
                with pytest.raises(FileError, match=r"body\.json"):
                    load_body(tmp_path, kind, lacking)

    def test_too_large_numbers_are_found_in_every_place(self, tmp_path):
        content = document_text(
            "cascade", FORMAT, changed(CASCADE_BODY, (*SHARED, "mean", 0), 12345.5)
        )
        (tmp_path / "body.json").write_text(content.replace("12345.5", "1e999"))
        with pytest.raises(FileError, match=r"body\.json"):
            Cascade.load(tmp_path / "body.json")
