"""Odd tables, labels, weights, groups and costs: used, or refused in one sentence."""

from __future__ import annotations

import datetime
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from support.settings import PLAIN

from emsco import EMSCOClassifier
from faults import refusal, trial, trials
from faults.damage import ODD

N = 60
X = np.random.default_rng(0).normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"))
QUICK = {**PLAIN, "max_stages": 2, "generations": 2, "population_size": 10, "random_state": 0}
CELLS = [
    *(*ODD, 1, 1j, len, "a", "1,5", "\x1b[31m", b"a", (1, 2), Fraction(1, 2), Decimal("sNaN")),
    *(object(), datetime.date(2020, 1, 1), pd.NA, pd.NaT, pd.Timedelta("1D"), pd.Period("2020")),
]
COLUMNS = [  # labels, weights, groups and costs, too, come as these
    list,
    iter,
    pd.Series,
    pl.Series,
    pa.array,
    np.array,
    lambda cells: np.array([*cells, None], dtype=object)[:N],
    lambda cells: cells[0],
]
TABLES = [
    *COLUMNS,
    lambda cells: [[cell] * 3 for cell in cells],
    lambda cells: FRAME.assign(b=cells),
    lambda cells: FRAME.set_axis(cells[:3], axis=1),
    lambda cells: pl.DataFrame({"a": X[:, 0], "b": cells, "c": X[:, 2]}, strict=False),
    lambda cells: pa.table({"a": X[:, 0], "b": pa.array(cells)}),
]


@trials(60, 3000)
def test_an_odd_thing_is_used_or_refused_in_one_sentence(numbers, few_bags):
    known = EMSCOClassifier(**QUICK).fit(FRAME, Y)
    of_tables = [
        lambda odd: EMSCOClassifier(**QUICK, gaps="impute").fit(odd, Y),
        known.decide,
    ]
    of_columns = [
        lambda odd: EMSCOClassifier(**QUICK).fit(FRAME, odd),
        lambda odd: EMSCOClassifier(**QUICK).fit(X, Y, odd),
        lambda odd: EMSCOClassifier(**QUICK).fit(X, Y, groups=odd),
        lambda odd: EMSCOClassifier(odd, **QUICK).fit(X, Y),
    ]
    for number in numbers:
        with trial(number) as rng:
            forms, uses = rng.choice([(TABLES, of_tables), (COLUMNS, of_columns)])
            cells, odd = rng.choices(CELLS, k=rng.choice([1, 2])) * N, None
            with suppress(Exception, pl.exceptions.PanicException):  # a library may refuse
                odd = rng.choice(forms)(cells[:N])
            assert len(refusal(rng.choice(uses), odd) or "") < 400
