"""
Models as features: ask the expensive one last
==============================================

You learn to treat the scores of models and paid services as features. Three models of rising
price read handwritten digits. The large one charges by the amount of ink, and the cascade asks it
only where the others are unsure.

Run it with: python examples/in_depth/models_as_features.py
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from emsco import EMSCOClassifier, FeatureCosts

X, y = load_digits(return_X_y=True)
price = 0.5 * (X > 8).sum(axis=1)  # of the large model, in cents: 0.5 per dark pixel

# %%
# The services have 500 training rows of their own. On rows that a model has seen, its scores are
# too good, and the cascade would trust it too much. Other rows train the cascade, 500 test it.

theirs, ours = train_test_split(np.arange(len(y)), train_size=500, stratify=y, random_state=0)
train, test = train_test_split(ours, test_size=500, stratify=y[ours], random_state=0)
blur = FunctionTransformer(lambda X: X.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16))
services = {
    "small": make_pipeline(blur, StandardScaler(), LogisticRegression()),  # sees 4 x 4 pixels
    "medium": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "large": OneVsRestClassifier(SVC(gamma=0.001, C=10)),
}
services = {name: service.fit(X[theirs], y[theirs]) for name, service in services.items()}

# %%
# A service is a group: ten scores for one price. They need not be probabilities. Medium and large
# share a connection: a fee that a row pays once.

groups = {name: [f"{name} {digit}" for digit in range(10)] for name in services}
scores = [pd.DataFrame(services[n].decision_function(X), columns=groups[n]) for n in groups]
table = pd.concat(scores, axis=1).assign(price=price)
own = {"small": 0.1, "medium": 1, "large": "price"}  # a column holds what each row pays
fees = {"connection": (0.5, ["medium", "large"])}
costs = FeatureCosts.from_mapping(own, list(table), groups, fees)
clf = EMSCOClassifier(costs, always_answer=True, estimator="logistic", cv=1 / 3, random_state=0)
print(clf.fit(table.iloc[train], y[train]).cascade_)

# %%
# Decide the test rows, 100 at a time. A service now runs only for the rows that buy it.


def acquire(names, ids):
    """Ask each service that a stage needs once, for all undecided rows."""
    asked = dict.fromkeys(name.split()[0] for name in names)
    return np.hstack([services[service].decision_function(X[ids]) for service in asked])


found = clf.cascade_.run(test, acquire, batch_size=100, prices={"large": price[test]})
answers = {name: services[name].predict(X[test]) for name in ("small", "large")}
paid = {"small": 0.1, "large": 0.5 + price[test].mean(), "cascade": found.cost.mean()}
for name, answer in {**answers, "cascade": found.guesses}.items():
    right = (answer == y[test]).sum()
    print(f"{name:<8} {right} of {len(test)} correct, {paid[name]:5.2f} cents per row")
print(f"The cascade saves {1 - paid['cascade'] / paid['large']:.0%} against the large model alone.")

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")
