"""LightGBM with its penalties on costs (CEGB), a rival that you can install today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, softmax

from emsco._base.checks import check_choice, check_number
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco_lab.rivals.light import LightRival, train_light

_PENALTIES = ("lazy", "coupled")
_STAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of trees that tuning tries


@dataclass(eq=False, repr=False, kw_only=True)
class CostAwareBoosting(LightRival):
    """Boosted trees of LightGBM that charge a split for features not bought before.

    A row pays for the features on its own paths through the trees.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each. LightGBM charges every
        input of a group, and every feature of a fee as if it were the first; a row's cost counts
        groups and fees once.
    strength : float
        Gain per row that a split must bring for a feature of mean cost; 0 ignores costs.
    penalty : {"lazy", "coupled"}
        "lazy" charges a split for its rows that have not met the feature before; "coupled"
        charges the first split on a feature for all rows, and later splits nothing.
    n_trees, learning_rate, max_leaves, min_rows
        Rounds of boosting, each with a tree per class if there are three or more; share of each
        tree that counts; most leaves of a tree and fewest rows of a leaf.
    n_jobs : int or None
        Threads, as in joblib; on small data one is fastest.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    booster_ : lightgbm.Booster

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = CostAwareBoosting(costs=[1, 1, 50], strength=1.0, n_trees=20)
    >>> rival.fit(X, X[:, 0] > 0).used_.tolist()
    [True, False, False]
    """

    strength: float = 0.01
    penalty: str = "lazy"

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Both penalties at strengths from 0 to 10, which buys nothing; up to 200 trees."""
        strengths = [0.0, *np.logspace(-3, 1, 17).round(5).tolist()]
        return [
            {"penalty": penalty, "strength": strength, "n_trees": 200}
            for penalty in _PENALTIES
            for strength in strengths
        ]

    @classmethod
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Both penalties at eight strengths and neither, with trees of 8 leaves and of 31."""
        penalised = [(0.0, _PENALTIES[0])]  # the penalty does not matter there
        penalised += product(np.logspace(-3, 0.5, 8).round(5).tolist(), _PENALTIES)
        return [
            {"penalty": penalty, "strength": strength, "max_leaves": leaves, "n_trees": 200}
            for strength, penalty in penalised
            for leaves in (8, 31)
        ]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with fewer trees, then with all."""
        return self._with_fewer_trees(_STAGES)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        penalty = check_choice("penalty", self.penalty, _PENALTIES)
        # LightGBM takes a penalty for each input and knows nothing of fees, so a feature's penalty
        # is what it costs alone; a fee of several features cannot be paid once. Costs are relative
        # to their mean, so strengths have no unit.
        charges = self.costs_.alone / self.costs_.alone.mean()
        charges = charges[self.encoding_.input_feature] * (len(rows) if penalty == "coupled" else 1)
        settings = {
            **self._light_settings(draw_seed(self.random_state)),
            "cegb_tradeoff": check_number("strength", self.strength, 0, np.inf, "[)"),
            f"cegb_penalty_feature_{penalty}": charges.tolist(),
        }
        self.booster_ = train_light(rows, labels, weights, settings, self.n_trees)
        self._trees = _trees(self.booster_.model_to_string(), self.encoding_.input_feature)
        self.used_ = self._used()

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The leaves tell both: LightGBM walks the trees once.
        leaves = self.booster_.predict(rows, num_iteration=self.n_trees, pred_leaf=True)
        leaves = np.asarray(leaves, dtype=np.int64).reshape(len(rows), -1)
        scores = np.zeros((len(rows), self._trees_a_round))
        met = np.zeros((len(rows), self._trees[0].paths.shape[1]), dtype=np.uint8)
        for number, leaf in enumerate(leaves.T):
            tree = self._trees[number]
            scores[:, number % self._trees_a_round] += tree.values[leaf]
            met |= tree.paths[leaf]
        if self._trees_a_round == 1:
            second = expit(scores)
            probabilities = np.hstack([1 - second, second])
        else:
            probabilities = softmax(scores, axis=1)
        return probabilities, self._prices.of(self._unpacked(met))

    @property
    def _trees_a_round(self) -> int:
        n_classes = len(self.classes_)
        return 1 if n_classes == 2 else n_classes

    def _used(self) -> BoolArray:
        """Features in the first `n_trees` rounds."""
        paths = [tree.paths for tree in self._trees[: self.n_trees * self._trees_a_round]]
        every = np.bitwise_or.reduce(np.concatenate(paths), axis=0, keepdims=True)
        used: BoolArray = self._unpacked(every)[0]
        return used

    def _unpacked(self, bits: Any) -> BoolArray:
        n_features = len(self.costs_.names)
        return np.unpackbits(bits, axis=1, count=n_features, bitorder="little").astype(np.bool_)


class _Tree(NamedTuple):
    """What rows meet at each leaf: a value, and features on the path, as bits, the lowest first."""

    values: FloatArray
    paths: AnyArray


def _trees(model: str, input_feature: IntArray) -> list[_Tree]:
    """Read trees from LightGBM's text, many times faster than from its dictionaries of nodes."""
    n_bytes = -(-(int(input_feature.max()) + 1) // 8)
    trees = []
    for text in model.split("\nTree=")[1:]:
        lines = text.split("\n\n")[0].splitlines()
        fields = dict(line.split("=", 1) for line in lines if "=" in line)
        n_leaves = int(fields["num_leaves"])
        at_leaf, at_node = [0] * n_leaves, [0] * n_leaves
        if n_leaves > 1:
            split, left, right = (
                [int(number) for number in fields[name].split()]
                for name in ("split_feature", "left_child", "right_child")
            )
            for node, asked in enumerate(split):  # a node comes after the one above it
                met = at_node[node] | 1 << int(input_feature[asked])
                for child in (left[node], right[node]):
                    if child < 0:
                        at_leaf[~child] = met
                    else:
                        at_node[child] = met
        bits = b"".join(met.to_bytes(n_bytes, "little") for met in at_leaf)
        values = np.array([float(value) for value in fields["leaf_value"].split()])
        paths = np.frombuffer(bits, dtype=np.uint8).reshape(n_leaves, n_bytes)
        trees.append(_Tree(values, paths))
    return trees
