"""
Polars tables in, Polars tables out
===================================

You learn that columns are matched by name, in any order, and that you get back the kind of table
you passed in. pandas and PyArrow work the same way.

Run it with: python examples/in_depth/polars_frames.py
"""

from sklearn.datasets import load_iris

from emsco import EMSCOClassifier

try:
    import polars as pl
except ImportError:
    print(
        "Skipped: Polars must be installed: pip install 'emsco[frames]' ('.[frames]' in a clone)."
    )
    raise SystemExit from None

iris = load_iris()
table = pl.DataFrame(iris.data, schema=iris.feature_names).with_columns(
    species=pl.Series(iris.target_names[iris.target])
)
flowers = table.sample(fraction=1.0, shuffle=True, seed=0)
known, new = flowers[:110], flowers[110:]

clf = EMSCOClassifier(
    min_confidence=0.8, max_stages=3, estimator="logistic", cv=1 / 3, random_state=0
)
clf.fit(known.drop("species"), known["species"].to_numpy())

# %%
# Join the decisions to your own table.

backwards = new.select(reversed(iris.feature_names))  # the order of the columns does not matter
decisions = clf.decide(backwards).to_frame()
print(pl.concat([new.select("species"), decisions], how="horizontal").head())
print(decisions.group_by("stage", "accepted").agg(pl.len(), pl.mean("cost")).sort("stage"))

# %%
# The front is a table, too.

front = clf.front_.to_polars().with_row_index("number")
print(front.filter(pl.col("coverage") > 0.8).select("number", "coverage", "accuracy", "cost"))

figure = clf.front_.plot(mark=clf.point_, width=6)
figure.savefig("front.png")
