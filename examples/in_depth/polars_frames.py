"""Data frames in, data frames out: Polars here, pandas and PyArrow alike.

You learn that columns are known by name, whatever their order, and that what comes back is of the
kind that went in: decisions to join to your table, the front to filter like any other.

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

clf = EMSCOClassifier(min_confidence=0.8, max_stages=3, random_state=0)
clf.fit(known.drop("species"), known["species"].to_numpy())

backwards = new.select(reversed(iris.feature_names))  # the order of columns is no matter
decisions = clf.decide(backwards).to_frame()
print(pl.concat([new.select("species"), decisions], how="horizontal").head())
print(decisions.group_by("stage", "accepted").agg(pl.len(), pl.mean("cost")).sort("stage"))
front = clf.front_.to_polars().with_row_index("number")
print(front.filter(pl.col("coverage") > 0.8).select("number", "coverage", "accuracy", "cost"))
