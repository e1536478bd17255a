"""A cascade as ONNX: a graph for each stage, and a manifest that says how rows go through them.

A graph reads the columns that are bought by then, as they are in a table: numbers and truth values
as doubles (NaN is a missing value), categories as text. All sums are in double precision. It gives

- the class probabilities, (n_rows, n_classes);
- whether the stage may label the row: false if a value is missing that it must have;
- the stage that comes next if it does not, from 0; -1 if none does.

Everything else that a decision needs is in the manifest: labels, thresholds and costs. So a program
with onnxruntime alone can decide; docs/guides/exporting.md has one of 20 lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.documents import PathLike, write_document, writing_atomically
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.cascade import Cascade
from emsco.cascade.format import features_to_dicts
from emsco.data.columns import ColumnCode
from emsco.designs.questions import Question
from emsco.errors import ParameterError, not_installed
from emsco.models.boosting.trees import TreeEnsemble, leaves_below
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import (
    AveragedModels,
    JoinedModels,
    LinearModels,
    SeparateModels,
    StageModels,
)

try:
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError:  # said when a cascade is exported
    TensorProto = checker = helper = numpy_helper = None

_FORMAT = 1
_VERSIONS = {"": 18, "ai.onnx.ml": 5}  # of the operators: 5 has trees that read doubles
_IR_VERSION = 9
_UNKNOWN, _MISSING = -1, -2  # codes of categories that are not those of the training rows


def write_onnx(cascade: Cascade, path: PathLike) -> None:
    """Write the graphs and the manifest of a cascade; see `Cascade.to_onnx`."""
    if helper is None:
        raise not_installed("onnx", "'emsco[onnx]'")
    if cascade.design.buys_nothing:
        raise ParameterError(
            "cascade must buy something to be exported to ONNX, got one that buys nothing and has "
            "no model."
        )
    graphs = [_StageGraph(cascade, j).model() for j in range(cascade.n_stages)]
    folder = Path(path)
    manifest = folder / "manifest.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        manifest.unlink(missing_ok=True)  # written last: a folder that has one is complete
        for j, graph in enumerate(graphs):
            with writing_atomically(folder / _file_name(j)) as file:
                file.write(graph.SerializeToString())
    except OSError as error:
        raise ParameterError(
            f"path must be a folder that can be written, got {str(path)!r} ({error.strerror})."
        ) from None
    write_document(manifest, "onnx", _FORMAT, _manifest(cascade))


def _file_name(stage: int) -> str:
    return f"stage_{stage + 1}.onnx"


def _manifest(cascade: Cascade) -> dict[str, Any]:
    stages, costs, encoding = cascade.stages, cascade.costs, cascade.encoding
    n_classes = len(cascade.classes)
    # Without costs of labels, the likeliest label is the one with the fewest expected errors.
    label_costs = 1 - np.eye(n_classes) if cascade.label_costs is None else cascade.label_costs
    stakes = np.ones(n_classes) if cascade.stakes is None else cascade.stakes
    return {
        "fingerprint": stages.identity,
        "labels": list(stages.labels),
        "label_costs": label_costs.tolist(),
        "stakes": stakes.tolist(),
        "missing_values": encoding.gaps,
        "columns": {
            code.name: _column_facts(code)
            for code in encoding.codes
            if code.name in cascade.columns
        },
        "features": features_to_dicts(costs, encoding),
        "fees": [fee.to_dict() for fee in costs.fees],
        "evaluation_cost": float(costs.evaluation),
        "prices_by_row": list(stages.prices.features),
        "stages": [
            {
                "graph": _file_name(j),
                "buys": list(stages.buys[j]),
                "columns": [code.name for code in _known_codes(cascade, j)],
                "thresholds": stages.thresholds[j].tolist(),
                "cost": stages.costs[j],
                "delay": stages.delays[j] if stages.delays else 0.0,
            }
            for j in range(len(stages))
        ],
        "branches": [branch.to_dict() for branch in cascade.design.branches.values()],
    }


def _column_facts(code: ColumnCode) -> dict[str, Any]:
    if code.kind != "category":
        return {"kind": code.kind}
    return {
        "kind": code.kind,
        "categories": list(code.categories),
        "missing": _missing_text(code),
    }


def _missing_text(code: ColumnCode) -> str:
    """Text that stands for a missing category: empty, unless that is a category."""
    text = ""
    while text in code.places:
        text += "?"
    return text


def _known_codes(cascade: Cascade, stage: int) -> list[ColumnCode]:
    """Codes of the columns that are bought by the end of a stage, in the order of the table."""
    known = cascade.design.subsets()[stage]
    encoding = cascade.encoding
    return [
        code
        for code, feature in zip(encoding.codes, encoding.feature_of, strict=True)
        if known[feature]
    ]


class _StageGraph:
    """The graph of one stage, which grows node by node.

    An operand is the name of a value in the graph, or an array that becomes a constant of it.
    """

    def __init__(self, cascade: Cascade, stage: int) -> None:
        self._cascade, self._stage = cascade, stage
        self._codes = _known_codes(cascade, stage)
        self._names = {code.name for code in self._codes}
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        known = cascade.design.subsets()[stage][cascade.encoding.input_feature]
        # Position of each input of the encoding among those that are known; -1 if it is not.
        self._places = np.where(known, np.cumsum(known) - 1, -1)
        rows = self.add("Concat", *map(self._inputs, self._codes), axis=1)
        self._missing = self.add("IsNaN", rows)
        self._values = self.add("Where", self._missing, np.array(0.0), rows)

    def model(self) -> Any:
        """Return the whole model, with its three outputs."""
        probabilities = self._probabilities(self._cascade.models, self._stage)
        outputs = [
            (probabilities, "probabilities", TensorProto.DOUBLE, [len(self._cascade.classes)]),
            (self._may_label(), "may_label", TensorProto.BOOL, []),
            (self._next_stage(probabilities), "next_stage", TensorProto.INT64, []),
        ]
        infos = []
        for value, hint, kind, more in outputs:
            name = self._new_name(hint)
            self._nodes.append(helper.make_node("Identity", [value], [name]))
            infos.append(helper.make_tensor_value_info(name, kind, ["n_rows", *more]))
        kinds = {"category": TensorProto.STRING}
        inputs = [
            helper.make_tensor_value_info(
                code.name, kinds.get(code.kind, TensorProto.DOUBLE), ["n_rows"]
            )
            for code in self._codes
        ]
        graph = helper.make_graph(
            self._nodes, f"stage_{self._stage + 1}", inputs, infos, self._constants
        )
        versions = [helper.make_opsetid(domain, number) for domain, number in _VERSIONS.items()]
        model = helper.make_model(
            graph, opset_imports=versions, ir_version=_IR_VERSION, producer_name="emsco"
        )
        checker.check_model(model)
        return model

    def add(self, operator: str, *operands: str | AnyArray, **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = self._new_name(operator)
        inputs = [one if isinstance(one, str) else self._constant(one) for one in operands]
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def _constant(self, array: AnyArray) -> str:
        name = self._new_name("constant")
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def _new_name(self, hint: str) -> str:
        """Return a name that no value and no column has."""
        name, number = hint, 0
        while name in self._names:
            number += 1
            name = f"{hint}_{number}"
        self._names.add(name)
        return name

    # Inputs of the models.

    def _inputs(self, code: ColumnCode) -> str:
        """Encode a column: its inputs, with NaN for missing values."""
        column = self.add("Unsqueeze", code.name, np.array([1]))
        if code.kind == "category":
            code_of = self.add(
                "LabelEncoder",
                column,
                domain="ai.onnx.ml",
                keys_strings=[*code.categories, _missing_text(code)],
                values_int64s=[*range(code.n_values), _MISSING],
                default_int64=_UNKNOWN,
            )
            missing = self.add("Equal", code_of, np.array(_MISSING))
            is_own = self.add("Equal", code_of, np.arange(code.n_values))
            column = self.add("Cast", is_own, to=TensorProto.DOUBLE)
            column = self.add("Where", missing, np.array(np.nan), column)
        else:
            missing = self.add("IsNaN", column)
        if not code.marks_missing:
            return column
        mark = self.add("Cast", missing, to=TensorProto.DOUBLE)
        return self.add("Concat", column, mark, axis=1)

    def _pick(self, rows: str, positions: IntArray) -> str:
        """Take some columns of a matrix."""
        return self.add("Gather", rows, positions.astype(np.int64), axis=1)

    # Models.

    def _probabilities(self, models: StageModels, stage: int) -> str:
        """Class probabilities of one stage of some models, (n_rows, n_classes)."""
        if isinstance(models, AveragedModels):
            parts = [self._probabilities(part, stage) for part in models.parts]
            return self.add("Div", self.add("Sum", *parts), np.array(float(len(parts))))
        if isinstance(models, JoinedModels):
            for piece in models.pieces:
                if stage < len(piece):
                    return self._probabilities(piece, stage)
                stage -= len(piece)
        model = models.models[stage] if isinstance(models, SeparateModels) else models
        if isinstance(model, LinearModels):
            logits = self._linear_logits(model, stage)
        elif isinstance(model, TreeEnsemble):
            logits = self._tree_logits(model)
        else:
            kind = type(getattr(model, "estimator", model)).__name__
            raise ParameterError(
                "cascade must have logistic, spline or boosted stage models to be exported to "
                f"ONNX, got {kind} at stage {self._stage + 1}."
            )
        if len(self._cascade.classes) == 2:
            opposite = self.add("Neg", logits)
            both = self.add("Concat", opposite, logits, axis=1)
            return self.add("Sigmoid", both)
        return self.add("Softmax", logits, axis=1)

    def _constant_logits(self, logits: FloatArray) -> str:
        """Give all rows the same logits; values are finite, so 0 times each is 0."""
        n_known = int(self._places.max()) + 1
        return self.add(
            "Add", self.add("MatMul", self._values, np.zeros((n_known, len(logits)))), logits
        )

    def _linear_logits(self, models: LinearModels, stage: int) -> str:
        coefs, reads = models.coefs[stage], np.flatnonzero(models.reads[stage])
        if not len(reads):
            return self._constant_logits(coefs[:, 0])
        if models.basis is None:
            columns = self._pick(self._values, self._places[reads])
            inputs = reads
        else:
            columns = self._spline_columns(models.basis, reads)
            inputs = models.basis.of_column[reads]
        missing = self._pick(self._missing, self._places[inputs])
        centred = self.add("Sub", columns, models.scaling.mean[reads])
        scaled = self.add("Mul", centred, models.scaling.inverse[reads])
        # A missing value counts as the mean.
        filled = self.add("Where", missing, np.array(0.0), scaled)
        product = self.add("MatMul", filled, np.ascontiguousarray(coefs[:, 1 + reads].T))
        return self.add("Add", product, np.ascontiguousarray(coefs[:, 0]))

    def _spline_columns(self, basis: SplineBasis, reads: IntArray) -> str:
        """Columns of a basis that are read, in order: inputs themselves, and bent ones."""
        first_column = np.searchsorted(basis.of_column, np.arange(len(basis.knots)))
        plain, bent, knots = list[int](), list[int](), list[list[float]]()
        for column in reads.tolist():
            i = int(basis.of_column[column])
            number = column - int(first_column[i])
            if number == 0:
                plain.append(i)
            else:
                of_input = basis.knots[i]
                bent.append(i)
                knots.append([of_input[0], of_input[number - 1], of_input[-2], of_input[-1]])
        columns = self._pick(self._values, self._places[np.array(plain, dtype=np.int64)])
        if not bent:
            return columns
        x = self._pick(self._values, self._places[bent])
        joined = self.add("Concat", columns, self._bent(x, np.array(knots).T), axis=1)
        # Inputs came first and bent columns after them; put both in the order of `reads`.
        is_bent = ~np.isin(reads, first_column)
        order = np.argsort(np.argsort(is_bent, kind="stable"), kind="stable")
        return self._pick(joined, order)

    def _bent(self, x: str, knots: FloatArray) -> str:
        """As `splines._bend`, for many columns at once; `knots` has four lines."""
        first, start, before, last = knots

        def cube_above(value: str, knot: FloatArray) -> str:
            above = self.add("Max", self.add("Sub", value, knot), np.zeros(len(knot)))
            return self.add("Mul", above, self.add("Mul", above, above))

        inside = self.add("Min", self.add("Max", x, first), last)
        turn = self.add("Mul", cube_above(inside, before), (last - start) / (last - before))
        curve = self.add("Sub", cube_above(inside, start), turn)
        beyond = self.add("Max", self.add("Sub", x, last), np.zeros(len(last)))
        straight = self.add("Mul", beyond, 3 * (last - start) * (before - start))
        return self.add("Div", self.add("Add", curve, straight), (last - first) ** 2)

    def _tree_logits(self, trees: TreeEnsemble) -> str:
        n_outputs = len(trees.baseline)
        n_leaves = trees.n_leaves.astype(np.int64)
        first_leaf = np.cumsum(n_leaves) - n_leaves
        output = np.repeat(np.arange(n_outputs), trees.trees_of)
        # A tree of a single leaf asks nothing, and belongs to what is there before the trees.
        is_leaf = n_leaves == 1
        lone = trees.leaves[first_leaf[is_leaf]].astype(np.float64)
        baseline = trees.baseline + np.bincount(output[is_leaf], lone, n_outputs)
        spans = leaves_below(trees.n_leaves, trees.n_left)
        if not len(trees.inputs) or spans is None:
            return self._constant_logits(baseline)
        inputs = np.flatnonzero(trees.reads)
        positions = self._places[inputs]
        rows = self.add(
            "Where",
            self._pick(self._missing, positions),
            trees.fill[inputs],
            self._pick(self._values, positions),
        )
        # Nodes are in pre-order: the left child is next, the right one after all on the left.
        n_nodes, node = n_leaves - 1, np.arange(len(trees.inputs))
        # onnxruntime before 1.24 takes the root of a tree for a leaf if its two sides, one a leaf
        # and one a node, have the same number. Behind two leaves that nothing leads to, none has.
        left_leaf = np.repeat(first_leaf, n_nodes) + spans[0] + 2
        n_left = trees.n_left.astype(np.int64)
        n_right = spans[1] - spans[0] - n_left
        # One cut more for each input: it is above all values, so every value goes left.
        cut_starts = np.cumsum(trees.n_cuts + 1) - trees.n_cuts - 1
        cuts = np.insert(trees.cuts, np.cumsum(trees.n_cuts), np.inf)
        sums = self.add(
            "TreeEnsemble",
            rows,
            domain="ai.onnx.ml",
            n_targets=n_outputs,
            aggregate_function=1,  # the sum
            post_transform=0,
            tree_roots=(np.cumsum(n_nodes) - n_nodes)[~is_leaf].tolist(),
            nodes_featureids=np.searchsorted(inputs, trees.inputs).tolist(),
            nodes_modes=numpy_helper.from_array(np.zeros(len(node), dtype=np.uint8)),  # at most
            nodes_splits=numpy_helper.from_array(cuts[cut_starts[trees.inputs] + trees.cut_of]),
            nodes_trueleafs=(n_left == 1).astype(int).tolist(),
            nodes_truenodeids=np.where(n_left == 1, left_leaf, node + 1).tolist(),
            nodes_falseleafs=(n_right == 1).astype(int).tolist(),
            nodes_falsenodeids=np.where(n_right == 1, left_leaf + n_left, node + n_left).tolist(),
            leaf_targetids=[0, 0, *np.repeat(output, n_leaves).tolist()],
            leaf_weights=numpy_helper.from_array(np.append([0.0, 0.0], trees.leaves)),
        )
        return self.add("Add", sums, baseline)

    # Routing.

    def _for_all_rows(self, value: AnyArray) -> str:
        """Give every row the same value, (n_rows,)."""
        return self.add("Expand", value, self.add("Shape", self._codes[0].name))

    def _sum(self, matrix: str) -> str:
        """Add up the columns of a matrix, (n_rows,)."""
        return self.add("ReduceSum", matrix, np.array([1]), keepdims=0)

    def _may_label(self) -> str:
        """Whether no value is missing that the stage must have."""
        gaps = self._cascade.encoding.gaps
        if gaps == "refuse":
            needed = np.arange(self._places.max() + 1)
        elif gaps == "skip":  # only values that this stage buys
            needed = self._places[list(self._cascade.stages.inputs[self._stage])]
        else:
            needed = np.arange(0)
        if not len(needed):
            return self._for_all_rows(np.array([True]))
        missing = self.add("Cast", self._pick(self._missing, needed), to=TensorProto.INT64)
        return self.add("Equal", self._sum(missing), np.array(0))

    def _next_stage(self, probabilities: str) -> str:
        reader = self._cascade.stages.branches.get(self._stage)
        if reader is None:
            before = self._cascade.design.before
            after = [j for j, one in enumerate(before) if one == self._stage]
            return self._for_all_rows(np.array(after or [-1]))
        winner = self.add("ArgMax", probabilities, axis=1, keepdims=0)
        confidence = self.add("ReduceMax", probabilities, np.array([1]), keepdims=0)
        branch = reader.branch
        part = self._for_all_rows(np.array([len(branch.questions)]))
        # The last question first: what an earlier one says stands above it.
        for k, question in reversed([*enumerate(branch.questions)]):
            yes, lacking = self._asked(question, winner, confidence)
            part = self.add("Where", yes, np.array(k), part)
            if lacking is not None:
                part = self.add("Where", lacking, np.array(branch.usual), part)
        return self.add("Gather", np.array(branch.starts), part)

    def _asked(self, question: Question, winner: str, confidence: str) -> tuple[str, str | None]:
        """As `BranchReader._asked`: whose answer is yes, and whose value is missing or unknown."""
        if question.column is None:
            if question.at_most is not None:
                return self.add("LessOrEqual", confidence, np.array(question.at_most)), None
            labels = self._cascade.stages.labels
            is_yes = np.array([label in (question.among or ()) for label in labels])
            return self.add("Gather", is_yes, winner), None
        code = self._cascade.encoding.code_of[question.column]
        first = self._places[self._cascade.encoding.inputs_of(question.column).start]
        missing = self.add("Gather", self._missing, np.array(first), axis=1)
        if question.is_about_missing:
            return missing, None
        if code.kind == "category":
            among = np.array([code.places[value] for value in question.among or ()])
            asked = self._sum(self._pick(self._values, first + among))
            known = self._sum(self._pick(self._values, first + np.arange(code.n_values)))
            nothing = np.array(0.0)
            return self.add("Greater", asked, nothing), self.add("Equal", known, nothing)
        value = self.add("Gather", self._values, np.array(first), axis=1)
        if question.at_most is not None:
            return self.add("LessOrEqual", value, np.array(question.at_most)), missing
        column = self.add("Unsqueeze", value, np.array([1]))
        wanted = np.array([float(one) for one in question.among or ()])
        same = self.add("Cast", self.add("Equal", column, wanted), to=TensorProto.INT64)
        return self.add("Greater", self._sum(same), np.array(0)), missing
