"""Workers that are no processes: they keep leaves here, and may be lost."""

from dataclasses import dataclass

import numpy as np

from emsco._base.leaves import rows_of_leaf
from emsco.data.encoding import PartedTable
from emsco.scale.remote import Keeper, LostWorker, RemoteRows


@dataclass(eq=False)
class HeldHere:
    """Leaves of a keeper that answers at once, until it is lost."""

    leaves: tuple
    keeper: Keeper | None

    def ask(self, task):
        def answer():
            if self.keeper is None:
                raise LostWorker
            return self.keeper.answer(task)

        return answer


class Site:
    """Deals rows out to so many keepers, and remembers them in `held`."""

    def __init__(self, rows, n_workers):
        self.rows, self.n_workers = rows, n_workers
        self.held = []

    def deal(self, leaves):
        cuts = [cut.tolist() for cut in np.array_split(np.array(leaves), self.n_workers)]
        held = [
            HeldHere(tuple(dealt), Keeper(dealt, *(self.rows[rows_of_leaf(i)] for i in dealt)))
            for dealt in cuts
            if dealt
        ]
        self.held += held
        return held


def remote(rows, n_workers=2):
    """Rows with so many keepers, and the site that deals them out."""
    site = Site(rows, n_workers)
    return RemoteRows(*rows.shape, site.deal), site


class TableInParts(PartedTable):
    """Tables, one after the other."""

    def __init__(self, *tables):
        self.tables = tables
        self.parts = [f"part {i}" for i in range(len(tables))]
        firsts = np.cumsum([0, *map(len, tables)])[:-1].tolist()
        self.places = [(first, "X") for first in firsts]

    def run(self, function, *shared, each=()):
        arguments = each or [()] * len(self.tables)
        return [
            function(table, *shared, *more)
            for table, more in zip(self.tables, arguments, strict=True)
        ]

    def columns(self, names):
        import pandas as pd

        return pd.concat([table[list(names)] for table in self.tables])

    def rows(self, encoding):
        return np.concatenate(self.run(lambda table: encoding.rows(table)))
