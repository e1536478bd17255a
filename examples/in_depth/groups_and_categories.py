"""
Groups of columns and categories
================================

You learn to buy several columns for one cost, such as a laboratory panel, and to use text and
true/false columns as they are.

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

# %%
# Name the group, give it one cost, and list its columns. Designs, costs and tables then speak of
# the group. Only a case asks for the columns.

costs = FeatureCosts.from_mapping(
    {"strong": 1, "look": 2, "phenols": 20, "proline": 15, "magnesium": 10},
    list(table),
    groups={"look": ["colour", "hue"], "phenols": ["total_phenols", "flavanoids"]},
)
X_train, X_test, y_train, y_test = train_test_split(table, wine.target, random_state=0)

clf = EMSCOClassifier(
    costs, min_confidence=0.9, max_stages=4, estimator="logistic", cv=1 / 3, random_state=0
)
clf.fit(X_train, y_train)

print(clf.cascade_)
print(clf.evaluate(X_test, y_test))
print(f"The first stage asks for the columns {', '.join(clf.cascade_.open().needs)}.")
print(f"The columns are {clf.cascade_.encoding.kinds}.")

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")
