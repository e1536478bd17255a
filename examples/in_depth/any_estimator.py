"""
Any scikit-learn classifier as stages
=====================================

You learn to replace logistic regression with a classifier or a whole pipeline of your own, and to
keep what its fits said on disk.

Run it with: python examples/in_depth/any_estimator.py
"""

import tempfile
from pathlib import Path
from time import perf_counter

from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emsco import EMSCOClassifier

X, y = load_iris(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
costs = dict(zip(X, [1, 1, 3, 3], strict=True))  # petals are harder to measure

# %%
# Your classifier is fitted once for every subset of features that the search asks for. Start with
# few features and few generations.

stages = {
    "logistic regression": None,
    "naive Bayes": GaussianNB(),
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(9)),
}
for name, estimator in stages.items():
    clf = EMSCOClassifier(costs, min_confidence=0.9, estimator=estimator, cv=1 / 3, random_state=0)
    clf.fit(X_train, y_train)
    print(f"{name}: {clf.design_}")
    print(clf.evaluate(X_test, y_test), "\n")

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")

# %%
# With a checkpoint, the search at another threshold fits nothing again.

with tempfile.TemporaryDirectory() as folder:
    for min_confidence in (0.9, 0.8):
        started = perf_counter()
        clf = EMSCOClassifier(
            costs,
            min_confidence=min_confidence,
            estimator=GaussianNB(),
            checkpoint=Path(folder) / "answers.sqlite",
            cv=1 / 3,
            random_state=0,
        ).fit(X_train, y_train)
        print(f"sure at {min_confidence}: {clf.point_} in {perf_counter() - started:.2f} s")
