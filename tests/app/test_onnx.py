"""ONNX graphs decide as the cascade does; the program that asks them is the one in the guide."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.handmade import make_cascade, make_protocol, make_rows
from support.tree_makers import random_trees

from emsco import Cascade, Design, FeatureCosts, FileError, ParameterError, Question
from emsco.data.columns import ColumnCode
from emsco.data.encoding import Encoding
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import (
    AveragedModels,
    LinearModels,
    PriorModels,
    SeparateModels,
)

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "exporting.md"
NAMES = ("age", "ward", "smokes", "day", "sodium")
N_ROWS = 600


def decide(folder, columns):
    """The program of the guide."""
    (program,) = re.findall(r"```python\n(import json.*?)```", GUIDE.read_text(), re.DOTALL)
    namespace = {}
    exec(program, namespace)
    return namespace["decide"](folder, columns)


def make_table(gaps, seed=0):
    """A number, a category, a truth value, a date and a number that is often at a cut."""
    rng = np.random.default_rng(seed)
    cuts = random_trees(n_inputs=8).cuts
    table = pd.DataFrame(
        {
            "age": rng.normal(size=N_ROWS),
            "ward": rng.choice(["A", "B", "ICU", "maternity"], size=N_ROWS).astype(object),
            "smokes": rng.choice([True, False], size=N_ROWS).astype(object),
            "day": 20_000 + rng.normal(scale=90, size=N_ROWS),
            "sodium": rng.choice([*cuts, *np.nextafter(cuts, 9)], size=N_ROWS),
        }
    )
    return table if gaps == "refuse" else table.mask(rng.random(table.shape) < 0.1)


def questions(n_classes):
    """A protocol that asks every kind of question: 1 → (2 → (3 | 4 | 5) | 6 | 7 | 8)."""
    likeliest = "ill" if n_classes == 2 else "unclear"

    def buy(*names, threshold=0.6):
        return Design([0 if one in names else -1 for one in NAMES], NAMES, (threshold,))

    inner = Design.branching(
        buy("smokes", threshold=0.9),
        [Question("smokes", among=(True,)), Question(None, among=(likeliest,))],
        [buy("sodium"), Design.nothing(NAMES, 0), buy("day")],
        usual=1,
    )
    asked = [
        Question("ward", among=("A", "ICU")),
        Question("age") if n_classes == 3 else Question("age", at_most=0.3),
        Question(None, at_most=0.6),
    ]
    parts = [inner, buy("day"), buy("sodium"), buy("smokes")]
    return Design.branching(buy("age", "ward", threshold=0.9), asked, parts, usual=2)


def make_models(family, design, encoding, n_classes, table, seed=0):
    rng = np.random.default_rng(seed)
    subsets = design.subsets()[:, encoding.input_feature]
    n_stages = len(subsets)
    if family == "averaged":
        logistic = make_models("logistic", design, encoding, n_classes, table, 1)
        trees = make_models("boosting", design, encoding, n_classes, table, 2)
        return AveragedModels((logistic, trees))
    if family == "boosting":
        trees = random_trees(n_classes, n_inputs=encoding.n_inputs)
        trees = replace(trees, leaves=trees.leaves * 0.2)
        # The last stage keeps trees of single leaves and nodes that every value leaves on the left.
        last = replace(trees, inputs=np.zeros_like(trees.inputs))
        last = replace(last, cut_of=np.minimum(trees.cut_of, trees.n_cuts[0]))
        ensembles = [trees.restricted(subset) for subset in subsets[:-1]]
        return SeparateModels((*ensembles, last))
    rows, basis = encoding.rows(table), None
    if family == "spline":
        basis = SplineBasis.learn(rows)
        rows, subsets = basis.expand(rows), basis.reads(subsets)
    n_outputs = 1 if n_classes == 2 else n_classes
    coefs = rng.normal(size=(n_stages, n_outputs, rows.shape[1] + 1), scale=0.6)
    coefs[:, :, 1:] *= subsets[:, None]
    return LinearModels(Scaling.learn(rows), subsets, coefs, basis)


def every_kind(family, n_classes, gaps):
    """A cascade that reads every kind of column, and asks every kind of question."""
    marks = gaps == "impute"
    codes = (
        ColumnCode("age", marks_missing=marks),
        ColumnCode("ward", "category", ("", "A", "B", "ICU"), marks_missing=marks),
        ColumnCode("smokes", "truth"),
        ColumnCode("day"),
        ColumnCode("sodium"),
    )
    encoding = Encoding(codes, NAMES, tuple(range(len(NAMES))), gaps)
    design, table = questions(n_classes), make_table(gaps)
    return Cascade(
        design=design,
        costs=FeatureCosts.from_array((1, 2, 3, 4, 5), NAMES),
        classes=np.array(["ill", "unclear", "well"] if n_classes == 3 else ["ill", "well"]),
        min_confidence=0.7,
        encoding=encoding,
        models=make_models(family, design, encoding, n_classes, table),
    )


def raw_columns(cascade, table):
    """Columns as the guide says: doubles and text, "?" for a missing category if "" is one."""
    columns = {}
    for i, code in enumerate(cascade.encoding.codes):
        column = table[code.name] if isinstance(table, pd.DataFrame) else pd.Series(table[:, i])
        if code.kind == "category":
            columns[code.name] = column.fillna("?").to_numpy(dtype=object)
        else:
            columns[code.name] = column.astype(float).to_numpy()
    return columns


def assert_decides_alike(cascade, table, folder):
    cascade.to_onnx(folder)
    labels, accepted, confidence, stage, cost = decide(folder, raw_columns(cascade, table))
    expected = cascade.decide(table)
    np.testing.assert_allclose(confidence, expected.confidence, rtol=0, atol=1e-12)
    assert labels.tolist() == expected.guesses.tolist()
    assert accepted.tolist() == expected.accepted.tolist()
    assert stage.tolist() == expected.stage.tolist()
    assert cost.tolist() == expected.cost.tolist()
    return expected


@pytest.mark.parametrize(
    ("family", "n_classes", "gaps"),
    [
        ("logistic", 3, "impute"),
        ("logistic", 2, "skip"),
        ("spline", 3, "impute"),
        ("spline", 2, "refuse"),
        ("boosting", 3, "skip"),
        ("boosting", 2, "impute"),
        ("averaged", 2, "impute"),
    ],
)
def test_graphs_decide_as_the_cascade_does(family, n_classes, gaps, tmp_path):
    cascade = every_kind(family, n_classes, gaps)
    decisions = assert_decides_alike(cascade, make_table(gaps), tmp_path)
    assert len(set(decisions.stage)) >= 5  # so rows have gone different ways


def test_averages_of_models_of_each_part_decide_alike(tmp_path):
    assert_decides_alike(make_protocol(n_models=3), make_rows(N_ROWS), tmp_path)


def test_labels_of_least_cost_and_weighted_rows_decide_alike(tmp_path):
    cascade = replace(
        every_kind("logistic", 3, "impute"), stakes=np.array([2.0, 1.0, 3.0])
    ).with_error_costs({"ill": 5, "unclear": 1, "well": 2})
    assert_decides_alike(cascade, make_table("impute"), tmp_path)


def test_a_column_may_have_the_name_of_an_output(tmp_path):
    cascade = make_cascade(names=("probabilities", "next_stage", "Concat", "constant"))
    assert_decides_alike(cascade, make_rows(50), tmp_path)


def test_a_row_with_a_value_that_must_be_there_is_not_labelled(tmp_path):
    cascade, table = every_kind("spline", 2, "refuse"), make_table("refuse")
    cascade.to_onnx(tmp_path)
    columns = raw_columns(cascade, table.assign(age=np.nan))
    assert not decide(tmp_path, columns)[1].any()


def test_what_cannot_be_exported_is_refused_by_name(tmp_path):
    class Forest:
        estimator = "grown"

    cascade = make_cascade()
    other = replace(cascade, models=SeparateModels((Forest(),) * 3))
    with pytest.raises(ParameterError):
        other.to_onnx(tmp_path / "folder")
    nothing = replace(
        cascade,
        design=Design.nothing(cascade.costs.names, 0),
        models=PriorModels(np.array([0.5, 0.5])),
    )
    with pytest.raises(ParameterError):
        nothing.to_onnx(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_the_command_exports_the_cascade_of_a_run(tmp_path, emsco):
    make_cascade().save(tmp_path / "cascade.json")
    result = emsco("export", tmp_path)
    assert (result.exit_code, result.output) == (0, f"Written to {tmp_path / 'onnx'}.\n")
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == [
        "manifest.json",
        "stage_1.onnx",
        "stage_2.onnx",
        "stage_3.onnx",
    ]
    with pytest.raises(FileError):
        emsco("export", tmp_path / "nowhere")
    with pytest.raises(ParameterError):
        emsco("export", tmp_path, "--format", "pickle")
