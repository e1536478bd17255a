"""Columns of every kind, and encodings learnt from them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding

COLUMNS = {
    "age": [63.0, 41.0, 50.0],
    "colour": ["red", "blue", "red"],
    "ill": [True, False, True],
}
NAN = math.nan
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def costs_of(names, groups=None):
    names = list(names)
    of = {column: name for name, columns in (groups or {}).items() for column in columns}
    return FeatureCosts.from_mapping(
        dict.fromkeys((of.get(name, name) for name in names), 1), names, groups
    )


def learn(table, gaps="refuse", groups=None):
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if names is None:
        names = [f"x{i}" for i in range(len(table[0]))]
    return Encoding.learn(table, costs_of(names, groups), gaps)


def same(actual, expected):
    np.testing.assert_array_equal(actual, np.array(expected, dtype=float))
