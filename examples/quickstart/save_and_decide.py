"""Save a cascade, load it elsewhere, and decide rows: all at once, or one as values come in.

You learn that a deployed cascade is one JSON file that runs no code when it is read and needs no
scikit-learn; that a decision is a label or a rejection with its confidence, stage and cost; and
that a case asks for what it needs and stops asking once it is sure.

Run it with: python examples/quickstart/save_and_decide.py
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from emsco import Cascade, EMSCOClassifier

wine = load_wine(as_frame=True)
cultivars = wine.target.map(dict(enumerate(["Barolo", "Grignolino", "Barbera"])))
X_train, X_new, y_train, _ = train_test_split(wine.data, cultivars, random_state=0)

clf = EMSCOClassifier(min_confidence=0.9, max_stages=3, generations=20, random_state=0)
clf.fit(X_train, y_train.to_numpy())

with tempfile.TemporaryDirectory() as folder:
    clf.cascade_.save(Path(folder) / "wine.json")
    cascade = Cascade.load(Path(folder) / "wine.json")

decisions = cascade.decide(X_new)
print(decisions)
print(decisions.to_frame().head().to_string(), "\n")

bottle = X_new[decisions.stage == 2].iloc[0]  # stands for whoever has the values
case = cascade.open()
while case.needs:
    print(f"needs {', '.join(case.needs)}")
    case.give({name: bottle[name] for name in case.needs})
print(f"{case.decision.label}: {case.decision.reason}, at cost {case.decision.cost:g}")
