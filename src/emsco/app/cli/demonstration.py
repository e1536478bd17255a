"""A complete example on data that comes with scikit-learn: search, choose, decide, compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from emsco.cascade import Evaluation
from emsco.estimator import EMSCOClassifier
from emsco.lab.datasets import load, threshold_of


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Results of the demonstration.

    Attributes
    ----------
    classifier : EMSCOClassifier
        Fitted on the training rows.
    test : Evaluation
        Its deployed cascade on test rows, used neither to search nor to fit.
    everything : Evaluation
        One stage that buys all features, at the same threshold, on the same rows.
    """

    classifier: EMSCOClassifier
    test: Evaluation
    everything: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values for JSON."""
        front, cascade = self.classifier.front_, self.classifier.cascade_
        return {
            "stop_reason": str(self.classifier.stop_reason_),
            "min_confidence": front.min_confidence,
            "cost_of_everything": front.costs.total,
            "front": front.to_dicts(),
            "chosen": [list(bought) for bought in cascade.design.buys],
            "test": self.test.to_dict(),
            "test_buying_everything": self.everything.to_dict(),
        }


def run_demo(seed: int = 0, verbose: int = 0) -> DemoResult:
    """Fit EMSCO to the breast-cancer data and test its cascade on a quarter of the rows."""
    data = load("breast_cancer")
    diagnoses = np.array(["malignant", "benign"])[data.y]
    X_train, X_test, y_train, y_test = train_test_split(
        data.X, diagnoses, test_size=0.25, stratify=diagnoses, random_state=seed
    )
    classifier = EMSCOClassifier(
        costs=data.costs,
        min_confidence=threshold_of(data),
        cv=1 / 3,  # folds would take minutes with 30 features
        n_jobs=-1,
        random_state=seed,
        verbose=verbose,
    ).fit(X_train, y_train)
    return DemoResult(
        classifier=classifier,
        test=classifier.evaluate(X_test, y_test),
        everything=classifier.front_.everything().evaluate(X_test, y_test),
    )
