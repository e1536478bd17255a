"""Columns that are bought together, and columns that hold categories.

You learn to name a group of columns that one payment buys, such as a laboratory's panel: designs,
costs and tables then speak of the group, and only a case asks for its columns. Text and truth
values go in as they are; each is one feature, however many inputs the classifiers make of it.

Run it with: python examples/in_depth/groups_and_categories.py
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, FeatureCosts

wine = load_wine(as_frame=True)
table = wine.data.assign(
    colour=pd.cut(wine.data["color_intensity"], 3, labels=["light", "medium", "dark"]).astype(str),
    strong=wine.data["alcohol"] > 13,
)[["strong", "colour", "hue", "total_phenols", "flavanoids", "proline", "magnesium"]]

costs = FeatureCosts.from_mapping(
    {"strong": 1, "look": 2, "phenols": 20, "proline": 15, "magnesium": 10},
    list(table),
    groups={"look": ["colour", "hue"], "phenols": ["total_phenols", "flavanoids"]},
)
X_train, X_test, y_train, y_test = train_test_split(table, wine.target, random_state=0)

clf = EMSCOClassifier(costs, min_confidence=0.9, max_stages=4, random_state=0)
clf.fit(X_train, y_train)

print(clf.cascade_)
print(clf.evaluate(X_test, y_test))
print(f"The first stage asks for the columns {', '.join(clf.cascade_.open().needs)}.")
print(f"Classifiers read {', '.join(clf.cascade_.encoding.input_names)}.")

clf.front_.plot_cascade(clf.point_).savefig("cascade.png")
