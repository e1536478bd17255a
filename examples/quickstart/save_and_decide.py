"""
Save a cascade and decide new rows
==================================

You learn to save a cascade as one JSON file, to decide a whole table with it, and to let a single
case ask for the values it needs.

Run it with: python examples/quickstart/save_and_decide.py
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from emsco import Cascade, EMSCOClassifier

wine = load_wine(as_frame=True)
cultivars = wine.target.map(dict(enumerate(["Barolo", "Grignolino", "Barbera"])))
X_train, X_new, y_train, y_new = train_test_split(wine.data, cultivars, random_state=0)

clf = EMSCOClassifier(
    min_confidence=0.9, max_stages=3, generations=20, estimator="logistic", cv=1 / 3, random_state=0
)
clf.fit(X_train, y_train.to_numpy())

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")

# %%
# The file is plain JSON. Loading it runs no code and needs no scikit-learn.

with tempfile.TemporaryDirectory() as folder:
    clf.cascade_.save(Path(folder) / "wine.json")
    cascade = Cascade.load(Path(folder) / "wine.json")

# %%
# Decide a whole table. Each row gets a label or a rejection, with a confidence, a stage and a cost.

decisions = cascade.decide(X_new)
print(decisions)
print(decisions.to_frame().head().to_string())

# %%
# Or open a case. It asks for the features of the next stage and stops as soon as it is sure.

bottle = X_new[decisions.stage == 2].iloc[0]  # stands in for your source of values
case = cascade.open()
while case.needs:
    print(f"needs {', '.join(case.needs)}")
    case.give({name: bottle[name] for name in case.needs})
print(f"{case.decision.label}: {case.decision.reason}, at cost {case.decision.cost:g}")
