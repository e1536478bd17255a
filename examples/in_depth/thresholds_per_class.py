"""
A threshold for each class
==========================

You learn to ask for more confidence before calling a tumour benign than before calling it
malignant. You get fewer dangerous mistakes and more rows without a label.

Run it with: python examples/in_depth/thresholds_per_class.py
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data.iloc[:, :8], data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

for min_confidence in (0.8, {"benign": 0.97, "malignant": 0.7}):
    clf = EMSCOClassifier(
        min_confidence=min_confidence, max_stages=3, estimator="logistic", cv=1 / 3, random_state=0
    )
    decisions = clf.fit(X_train, y_train).decide(X_test)
    missed = decisions.accepted & (decisions.guesses == "benign") & (y_test == "malignant")
    alarms = decisions.accepted & (decisions.guesses == "malignant") & (y_test == "benign")
    print(f"threshold {min_confidence}:")
    print(f"  tumours missed: {np.sum(missed)}; false alarms: {np.sum(alarms)}")
    print(f"  {decisions}\n")

# %%
# Where the rows leave with a threshold for each class:

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")
