"""
Read features from a database, stage by stage
=============================================

The script writes patients into a SQLite database, with one table for each kind of measurement, and
fits a cascade to other patients. The cascade then decides the patients in the database, within a
budget for each. It sends one query per stage, for the patients still undecided. Some patients lack
a row in one of the tables. If they need it, they are rejected with the reason and emsco warns you.

Run it with: python examples/in_depth/sqlite_source.py
"""

import logging
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier
from emsco_lab.datasets import load

log = logging.getLogger("sqlite_source")
CHUNK = 100  # ids per query; SQLite limits the parameters, old versions to 999


# %%
# The database. In your project it exists already.


def quoted(name):
    """Return a table or column name as SQL; names cannot be passed as parameters."""
    return '"' + name.replace('"', '""') + '"'


def write_patients(connection, names, rows):
    """Write patients 1, 2, … and a table for each kind of measurement: mean, error, worst."""
    ids = range(1, len(rows) + 1)
    connection.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO patients VALUES (?)", [(i,) for i in ids])
    for kind in ("mean", "error", "worst"):
        columns = [j for j, name in enumerate(names) if kind in name]
        fields = ", ".join(f"{quoted(names[j])} REAL NOT NULL" for j in columns)
        connection.execute(f"CREATE TABLE {quoted(kind)} (id INTEGER PRIMARY KEY, {fields})")
        marks = ", ".join("?" * (len(columns) + 1))
        measured = [i for i in ids if kind != "worst" or i % 10]  # one in ten is missing
        values = [(i, *rows[i - 1, columns].tolist()) for i in measured]
        connection.executemany(f"INSERT INTO {quoted(kind)} VALUES ({marks})", values)
    connection.commit()


# %%
# The source. A cascade calls ``acquire`` with the features of a stage and the undecided patients.


class Measurements:
    """Answers a cascade from the database, and counts the values it reads."""

    def __init__(self, connection):
        self.connection, self.n_read = connection, 0
        self.table_of = dict(  # feature → table
            connection.execute(
                "SELECT field.name, entry.name"
                " FROM sqlite_master AS entry, pragma_table_info(entry.name) AS field"
                " WHERE entry.type = 'table' AND field.name <> 'id'"
            )
        )

    def acquire(self, names, ids):
        """Return a row for each id, in the order of `ids`, with a value for each name."""
        # Name the table with each column: SQLite reads an unknown "name" on its own as text.
        columns = ", ".join(f"{quoted(self.table_of[name])}.{quoted(name)}" for name in names)
        tables = sorted({self.table_of[name] for name in names})
        joins = " ".join(f"LEFT JOIN {quoted(table)} USING (id)" for table in tables)
        found = {}
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            answer = self.connection.execute(
                f"SELECT patients.id, {columns} FROM patients {joins}"
                f" WHERE patients.id IN ({', '.join('?' * len(chunk))})",
                chunk,
            ).fetchall()
            log.info("%3d rows from %s: %s", len(answer), " + ".join(tables), ", ".join(names))
            found.update((patient, values) for patient, *values in answer)
        self.n_read += sum(value is not None for values in found.values() for value in values)
        nothing = [None] * len(names)  # rejects this patient only; an error would reject all
        return [found.get(patient, nothing) for patient in ids]

    def n_values(self):
        """Count all measurements in the database."""
        n_columns = Counter(self.table_of.values())
        counts = [f"{n} * (SELECT count(*) FROM {quoted(t)})" for t, n in n_columns.items()]
        return self.connection.execute(f"SELECT {' + '.join(counts)}").fetchone()[0]


# %%
# Fit, then decide. The log shows every query.


def main(folder):
    """Fit a cascade, let it read what it needs, and return the classifier."""
    logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.INFO)
    data = load("breast_cancer")  # its costs are minutes of work for each feature
    X_train, X_new, y_train, y_new = train_test_split(
        data.X, data.y, test_size=0.5, stratify=data.y, random_state=0
    )
    # Patients who are still undecided need every measurement at the last stage.
    classifier = EMSCOClassifier(
        costs=data.costs,
        min_confidence=0.95,
        allow_exclusion=False,
        generations=40,
        estimator="logistic",
        cv=1 / 3,
        random_state=0,
    ).fit(X_train, y_train)

    with closing(sqlite3.connect(folder / "patients.db")) as connection:
        write_patients(connection, data.costs.names, X_new)
        measurements = Measurements(connection)
        ids = [i for (i,) in connection.execute("SELECT id FROM patients ORDER BY id")]
        decisions = classifier.cascade_.run(ids, measurements.acquire, budget=60)
        n_read, n_values = measurements.n_read, measurements.n_values()

    print(f"\nread: {n_read} of {n_values} values ({n_read / n_values:.0%})")
    accepted = decisions.accepted
    share = (decisions.labels == y_new).mean()  # of the accepted: the others are masked
    print(f"accepted: {accepted.sum()} of {len(ids)}, {share:.1%} of them correct")
    for reason, n in Counter(decisions.reasons[~accepted]).most_common():
        print(f"rejected: {n}, {reason}")
    return classifier


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        fitted = main(Path(temporary))
    figure = fitted.front_.plot_cascade(fitted.point_, width=7)
    figure.savefig("cascade.png")
