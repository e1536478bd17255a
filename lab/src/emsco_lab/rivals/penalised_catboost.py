"""CatBoost with its penalties on features, as a rival."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco.errors import DataError
from emsco_lab.rivals.base import CostedClassifier, Package

_PENALTIES = {
    "first_use": "first_feature_use_penalties",
    "per_row": "per_object_feature_penalties",
}
_POLICIES = {"symmetric": "SymmetricTree", "depthwise": "Depthwise"}
_STAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of trees that tuning tries
_DEEPEST = 16  # CatBoost's limit


@dataclass(eq=False, repr=False, kw_only=True)
class PenalisedCatBoost(CostedClassifier):
    """Boosted trees of CatBoost that charge a split for features not bought before.

    A row pays for the features on its own paths through the trees.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each. CatBoost charges every
        input of a group, and every feature of a fee as if it were the first; a row's cost counts
        groups and fees once.
    strength : float
        Penalty of a feature of mean cost if all rows buy it, relative to the square root of their
        number, which is how CatBoost's scores of splits grow. 0 ignores costs.
    penalty : {"per_row", "first_use"}
        "per_row" charges a split for its rows that have not met the feature before; "first_use"
        charges the first split on a feature for all rows, and later splits nothing.
    policy : {"depthwise", "symmetric"}
        In symmetric trees, CatBoost's default, all splits of a level are the same, so every row
        meets all features of a tree. Depthwise trees split every node on its own.
    n_trees, learning_rate, depth
        Rounds of boosting; share of each tree that counts; splits on the longest path of a tree.
    n_jobs : int or None
        Threads, as in joblib; on small data one is fastest.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    booster_ : catboost.CatBoost

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = PenalisedCatBoost(costs=[1, 1, 50], strength=1.0, n_trees=20, random_state=0)
    >>> rival.fit(X, X[:, 0] > 0).used_.tolist()  # doctest: +SKIP
    [True, False, False]
    """

    needs: ClassVar[tuple[Package, ...]] = (Package("catboost", "catboost"),)

    strength: float = 0.01
    penalty: str = "per_row"
    policy: str = "depthwise"
    n_trees: int = 100
    learning_rate: float = 0.15
    depth: int = 4
    n_jobs: int | None = None

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Both penalties, each with its better trees, at strengths from 0 to 3; up to 100 trees."""
        strengths = [0.0, *np.logspace(-2.5, 0.5, 9).round(4).tolist()]
        return [
            {"penalty": penalty, "policy": policy, "strength": strength, "n_trees": 100}
            for penalty, policy in (("per_row", "depthwise"), ("first_use", "symmetric"))
            for strength in strengths
        ]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with fewer trees, then with all."""
        return self._with_fewer_trees(_STAGES)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        import catboost

        if (rows == rows[0]).all():
            raise DataError("X must have a column that is not constant: CatBoost needs one.")
        penalty = check_choice("penalty", self.penalty, tuple(_PENALTIES))
        policy = check_choice("policy", self.policy, tuple(_POLICIES))
        strength = check_number("strength", self.strength, 0, np.inf, "[)")
        # CatBoost's penalties, too, are one for each input: a feature's is what it costs alone.
        charges = self.costs_.alone / self.costs_.alone.mean()
        # Costs are relative to their mean, so strengths have no unit.
        settings = {
            "loss_function": "Logloss" if len(self.classes_) == 2 else "MultiClass",
            "grow_policy": _POLICIES[policy],
            _PENALTIES[penalty]: charges[self.encoding_.input_feature].tolist(),
            "penalties_coefficient": strength
            * len(rows) ** (0.5 if penalty == "first_use" else -0.5),
            "iterations": check_whole("n_trees", self.n_trees, 1),
            "learning_rate": check_number("learning_rate", self.learning_rate, 0, 1, "(]"),
            "depth": check_whole("depth", self.depth, 1, _DEEPEST),
            "thread_count": effective_n_jobs(self.n_jobs),
            "random_seed": draw_seed(self.random_state),
            "random_strength": 0.0,  # noise in scores would split on features of little use
            "bootstrap_type": "No",
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
        data = catboost.Pool(rows, labels.astype(np.int64), weight=weights)
        self.booster_ = catboost.CatBoost(settings).fit(data)
        self._trees = _trees(self.booster_)
        self.used_ = self._used()

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        first = {"ntree_end": self.n_trees, "thread_count": effective_n_jobs(self.n_jobs)}
        probabilities = self.booster_.predict(rows, prediction_type="Probability", **first)
        reads, everyone = np.zeros(rows.shape, dtype=np.bool_), np.arange(len(rows))
        single = rows.astype(np.float32)
        for tree in self._trees[: self.n_trees]:
            _walk(tree, single, everyone, reads)
        return np.asarray(probabilities), self._prices.of(self._features_of(reads))

    def _used(self) -> BoolArray:
        """Features in the first `n_trees` trees."""
        reads = np.zeros(self.encoding_.n_inputs, dtype=np.bool_)
        for tree in self._trees[: self.n_trees]:
            reads[list(_inputs(tree))] = True
        return self._features_of(reads)


def _trees(booster: Any) -> list[dict[str, Any]]:
    """Trees as CatBoost writes them: a node with its children, or the splits of all levels."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.json"
        booster.save_model(str(path), format="json")
        model = json.loads(path.read_text(encoding="utf-8"))
    trees: list[dict[str, Any]] = model[
        "oblivious_trees" if "oblivious_trees" in model else "trees"
    ]
    return trees


def _inputs(node: dict[str, Any]) -> set[int]:
    """Inputs that a tree splits on."""
    if "splits" in node:
        return {split["float_feature_index"] for split in node["splits"] or []}
    if "split" not in node:
        return set()
    below = _inputs(node["left"]) | _inputs(node["right"])
    return below | {node["split"]["float_feature_index"]}


def _walk(node: dict[str, Any], rows: AnyArray, here: IntArray, reads: BoolArray) -> None:
    """Mark the inputs that some rows meet on their paths, in `reads`.

    CatBoost compares values of single precision. It numbers the leaves of a depthwise tree in no
    order that the tree tells, so its leaf indexes would not do.
    """
    if "splits" in node:
        reads[:, list(_inputs(node))] = True
    elif "split" in node:
        column = node["split"]["float_feature_index"]
        reads[here, column] = True
        above = rows[here, column] > np.float32(node["split"]["border"])
        _walk(node["left"], rows, here[~above], reads)
        _walk(node["right"], rows, here[above], reads)
