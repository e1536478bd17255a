"""The whole story on data that comes with scikit-learn: search, choose, decide, compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.estimator import EMSCOClassifier

__all__ = ["DemoResult", "breast_cancer_costs", "run_demo"]

_MINUTES = {"mean": 1, "error": 3, "worst": 5}
_TRACED = ("compactness", "concavity", "concave points", "symmetry", "fractal dimension")
_MIN_CONFIDENCE = 0.95
_MAX_STAGES = 4


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demonstration found.

    Attributes
    ----------
    classifier : EMSCOClassifier
        Fitted on the training rows.
    test : Evaluation
        Its deployed cascade on rows that neither the search nor the fits have seen.
    everything : Evaluation
        One stage that buys all features, at the same threshold, on the same rows.
    """

    classifier: EMSCOClassifier
    test: Evaluation
    everything: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for machines."""
        front, cascade = self.classifier.front_, self.classifier.cascade_
        return {
            "stop_reason": self.classifier.stop_reason_,
            "min_confidence": front.min_confidence,
            "cost_of_everything": front.costs.total,
            "front": front.to_dicts(),
            "chosen": [list(cascade.design.features(j)) for j in range(cascade.n_stages)],
            "test": self.test.to_dict(),
            "test_buying_everything": self.everything.to_dict(),
        }


def breast_cancer_costs(names: list[str]) -> FeatureCosts:
    """Declared, not measured: minutes of work for each of the 30 measurements of a sample.

    The mean of a measure takes 1 minute, its standard error 3 and its worst value 5; twice that
    where the outline of each nucleus has to be traced.
    """
    return FeatureCosts.from_array(
        [
            next(cost for word, cost in _MINUTES.items() if word in name)
            * (2 if any(word in name for word in _TRACED) else 1)
            for name in names
        ],
        names,
    )


def run_demo(seed: int = 0, verbose: int = 0) -> DemoResult:
    """Fit EMSCO to the breast-cancer data and test what it deploys on a quarter of the rows."""
    data = load_breast_cancer()
    diagnoses = data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, diagnoses, test_size=0.25, stratify=diagnoses, random_state=seed
    )

    def fit(max_stages: int, verbose: int) -> EMSCOClassifier:
        return EMSCOClassifier(
            costs=breast_cancer_costs(data.feature_names.tolist()),
            min_confidence=_MIN_CONFIDENCE,
            max_stages=max_stages,
            n_jobs=-1,
            random_state=seed,
            verbose=verbose,
        ).fit(X_train, y_train)

    classifier = fit(_MAX_STAGES, verbose)
    return DemoResult(
        classifier=classifier,
        test=classifier.evaluate(X_test, y_test),
        everything=fit(1, 0).evaluate(X_test, y_test),
    )
