"""Evaluate a run on labelled rows that came later."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from emsco._base.checks import refused
from emsco._base.documents import PathLike
from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, FloatArray
from emsco.app.files.reading import Reading
from emsco.app.files.tables import Chunk, by_line, column_names, file_kind, read_chunks
from emsco.app.runs.run import Run
from emsco.cascade import Cascade, Evaluation
from emsco.cascade.tally import Tally
from emsco.data.keys import Keys
from emsco.data.labels import as_classes
from emsco.data.row_prints import Lookup
from emsco.data.rows import column_weights
from emsco.errors import DataError, DataWarning, Parameter, Part, Row
from emsco.front import ParetoFront
from emsco.front.references import Reference, references_from_decisions


@dataclass(frozen=True, slots=True, eq=False)
class RunEvaluation:
    """A design of a run on new rows, beside its figures from the fit.

    Attributes
    ----------
    run : Run
    number : int
        Position of the design in the front.
    new : Evaluation
        With the verdict on what the design promised.
    references : tuple of Reference
        What there is without a cascade, on the new rows; empty if the front has none.
    """

    run: Run
    number: int
    new: Evaluation
    references: tuple[Reference, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values: number and stages of the design, then scored, seen and new figures."""
        costs = None if self.new.total is None else self.new.total.costs
        new = [one.figures(costs) for one in self.references]
        return {
            **self.run.figures([self.number], costs)[0],
            "new": self.new.to_dict(),
            "references": {**self.run.references(costs), "new": new},
        }


def evaluate_run(
    run: Run,
    path: PathLike,
    target: str | None = None,
    point: int | None = None,
    report: Callable[[int], None] | None = None,
    *,
    by: str | None = None,
    groups: str | None = None,
    error_costs: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
) -> RunEvaluation:
    """Evaluate coverage, accuracy and cost of a design on the labelled rows of a file.

    The file is processed in chunks, so it may be larger than memory. If the run has a column of
    weights, rows count by their weights. Rows of a group, and of a subgroup, may be anywhere.

    Parameters
    ----------
    run : Run
    path : path
        CSV or Parquet with the columns of the run, in any order, and the labels.
    target : str, optional
        Column with the labels; by default the run's.
    point : int, optional
        Position of a point of the front; by default the deployed one.
    report : callable, optional
        ``report(n_rows)`` receives the number of rows decided so far.
    by, groups : str, optional
        Columns with the subgroup and the group of each row; see `Cascade.evaluate`.
    error_costs : mapping, optional
        `error_cost` and `reject_cost`, as for `Cascade.evaluate`; by default the run's.
    reading : Reading, optional
        How to read the file, where that differs from the files of the run.
    """
    known = (reading or Reading()).over(run.reading)
    number = run.chosen if point is None else run.front.position(point)
    cascade = run.cascade if point is None else run.front.cascade(number)
    costs, files = run.error_costs(error_costs), run.about["files"]
    weights = files.get("weights")
    target = files["target"] if target is None else target
    target = _check_target(target, path, cascade, weights, known)
    everything = run.front.everything() if run.front.references else None
    columns = _columns(cascade, everything, weights)
    stages = cascade.stages
    about = cascade.classes, cascade.design.buys, None if stages.prices else stages.costs
    tally = Tally(*about, _is_csv(path), stages.delays)
    references, n_rows, searched = [], 0, run.front.searched
    lookup = None if searched is None else Lookup(searched)
    keep = [name for name in (by, groups) if name is not None]
    read_as = cascade.encoding.kinds, target, cascade.classes, known
    for chunk in read_chunks(path, columns, keep, *read_as):
        if chunk.table.num_rows:
            with by_line(path, known):
                rows = _read(cascade, everything, chunk, path, weights, by, groups)
            decisions = cascade.decide_rows(rows.inputs, rows.prices)
            tally.add(decisions, rows.truth, rows.weights, rows.groups, rows.by)
            if everything is not None:
                references.append(_refer(everything, run.front, rows))
            n_rows += chunk.table.num_rows
            if lookup is not None:
                lookup.add(rows.inputs)
        if report:
            report(n_rows)
    if not n_rows:
        raise DataError(f"{path} must have rows, got none.")
    _warn_of_seen(lookup, n_rows, path)
    new = run.front[number].compared_with(_new(tally, path, weights).with_total(costs))
    whole = tuple(map(Reference.joined, zip(*references, strict=True)))
    return RunEvaluation(run, number, new, whole)


def _warn_of_seen(lookup: Lookup | None, n_rows: int, path: PathLike) -> None:
    """Say so if rows are not new: figures that they show are too good."""
    if lookup is not None and (n_seen := len(lookup.seen())):
        took = f"{n_seen:,} or more of the {n_rows:,} rows of {path} took part in the search"
        warnings.warn(DataWarning(f"{took}; their figures are too good."), stacklevel=3)


def _columns(cascade: Cascade, everything: Cascade | None, weights: str | None) -> list[str]:
    """Return the columns to read: features, prices and weights."""
    priced = (everything or cascade).stages.prices.columns
    wanted = [*cascade.encoding.columns, *priced, *([] if weights is None else [weights])]
    return list(dict.fromkeys(wanted))


def _new(tally: Tally, path: PathLike, weights: str | None) -> Evaluation:
    """Return the figures of the new rows; refuse rows that weigh nothing."""
    new = tally.evaluation()
    if not new.n_rows:
        raise DataError(f"{path} must weigh more than 0 in column {weights!r}, got 0 in all rows.")
    return new


def _check_target(
    target: str, path: PathLike, cascade: Cascade, weights: str | None, reading: Reading
) -> str:
    if target in (*cascade.encoding.columns, weights):
        what = "weights" if target == weights else "a feature"
        raise refused("target", "be a column of labels", target, got=f"{target!r}, {what}")
    if target not in (there := column_names(path, reading)):
        meant = what_was_meant(target, there)
        another: tuple[Part, ...] = ("; ", Parameter("target"), " names another.")
        raise DataError(
            f"{path} must have the column {target!r} with the labels, got {some(there, 20)}",
            *(another if meant == "." else (meant,)),
        )
    return target


class _Rows(NamedTuple):
    """Labelled rows of one chunk of the file, as numbers."""

    inputs: FloatArray
    prices: FloatArray | None
    prices_of_all: FloatArray | None
    truth: AnyArray
    weights: FloatArray | None
    by: Keys | None
    groups: Keys | None


def _read(
    cascade: Cascade,
    everything: Cascade | None,
    chunk: Chunk,
    path: PathLike,
    weights: str | None,
    by: str | None,
    groups: str | None,
) -> _Rows:
    first, table = chunk.first + 1, chunk.table.select(cascade.encoding.columns)
    labels: Any = chunk.labels  # present, since the chunk was read with a target
    of_group = _keys(chunk, groups)
    if of_group is not None and (row := of_group.missing) is not None:
        raise DataError(
            f"{path} must have a group in every row of column {groups!r}, got none in ",
            Row(first + row),
            ".",
        )
    prices = cascade.row_prices(chunk.table, chunk.table.num_rows, first_row=first)
    return _Rows(
        cascade.encoding.rows(table, first, str(path)),
        prices,
        None
        if everything is None
        else everything.row_prices(chunk.table, chunk.table.num_rows, first_row=first),
        as_classes(labels, cascade.classes, path, first),
        None if weights is None else column_weights(chunk.table, weights, str(path), first),
        _keys(chunk, by),
        of_group,
    )


def _keys(chunk: Chunk, name: str | None) -> Keys | None:
    """Read a column of groups or subgroups; an empty cell of CSV is a missing value."""
    return None if name is None else Keys.from_column(chunk.with_gaps(name), name)


def _is_csv(path: PathLike) -> bool:
    return file_kind(path) == "csv"


def _refer(everything: Cascade, front: ParetoFront, rows: _Rows) -> tuple[Reference, ...]:
    """Measure what there is without a cascade on one chunk."""
    decisions = everything.decide_rows(rows.inputs, rows.prices_of_all)
    commonest = front.references[0].label
    return references_from_decisions(everything, commonest, decisions, rows.truth, rows.weights)
