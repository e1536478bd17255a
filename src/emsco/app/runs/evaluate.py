"""Evaluate a run on labelled rows that came later."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from emsco._base.documents import PathLike
from emsco._base.text import some, what_was_meant
from emsco.app.files.reading import Reading
from emsco.app.files.table_files import by_line, column_names, file_kind, read_chunks
from emsco.app.runs.run import Run
from emsco.cascade import Cascade, Evaluation
from emsco.data.keys import Keys
from emsco.data.labels import as_classes
from emsco.data.row_prints import Lookup
from emsco.data.rows import column_weights
from emsco.errors import DataError, DataWarning, ParameterError
from emsco.front.references import Reference, references_from_decisions, with_rejecting


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
    cheapest_label : bool
        Whether rows got the label of least expected cost by the costs of the total.
    """

    run: Run
    number: int
    new: Evaluation
    references: tuple[Reference, ...] = ()
    cheapest_label: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values: number and stages of the design, then scored, seen and new figures."""
        costs = None if self.new.total is None else self.new.total.costs
        labels = {"cheapest_label": self.cheapest_label}
        new = [one.figures(costs, **labels) for one in with_rejecting(self.references, costs)]
        return {
            **self.run.figures([self.number], costs, **labels)[0],
            **labels,
            "new": self.new.to_dict(),
            "references": {**self.run.references(costs, **labels), "new": new},
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
    reading = (reading or Reading()).over(run.reading)
    number = run.chosen if point is None else run.front.position(point)
    cascade = run.cascade if point is None else run.front.cascade(number)
    costs, files = run.error_costs(error_costs), run.about["files"]
    weights: str | None = files.get("weights")
    target = files["target"] if target is None else target
    # A wrong column is found out before the first chunk is read.
    _check_target(target, path, cascade, weights, reading)
    everything = run.front.everything() if run.front.references else None
    encoding = cascade.encoding
    # Keys of a CSV file are text; a group must have one key, however its chunks were read.
    tally = cascade.tally(by_text=file_kind(path) == "csv")
    searched = run.front.searched
    lookup = None if searched is None else Lookup(searched)
    references: list[tuple[Reference, ...]] = []
    n_rows = 0
    # Prices of all features where everything is measured beside the cascade.
    price_columns = (everything or cascade).stages.prices.costs.price_columns
    chunks = read_chunks(
        path,
        # Each column once, though a price may also be a feature.
        list(dict.fromkeys([*encoding.columns, *price_columns, *([weights] if weights else [])])),
        keep=[name for name in (by, groups) if name is not None],
        kinds=encoding.kinds,
        target=target,
        classes=cascade.classes,
        reading=reading,
    )
    for chunk in chunks:
        table, first = chunk.table, chunk.first + 1
        if table.num_rows:
            with by_line(path, reading):
                group_of_row = subgroup_of_row = None
                if groups is not None:
                    group_of_row = Keys.from_column(chunk.with_gaps(groups), groups)
                    if (row := group_of_row.missing) is not None:
                        raise DataError(
                            f"{path} must have a group in every row of column {groups!r}, got none "
                            f"in row {first + row}.",
                            row=first + row,
                        )
                if by is not None:
                    subgroup_of_row = Keys.from_column(chunk.with_gaps(by), by)
                prices = cascade.row_prices(table, table.num_rows, first_row=first)
                inputs = encoding.rows(table.select(encoding.columns), first, str(path))
                prices_of_all = None
                if everything is not None:
                    prices_of_all = everything.row_prices(table, table.num_rows, first_row=first)
                labels: Any = chunk.labels  # present, since the chunk was read with a target
                truth = as_classes(labels, cascade.classes, path, first)
                row_weights = None
                if weights is not None:
                    row_weights = column_weights(table, weights, str(path), first)
            decisions = cascade.decide_rows(inputs, prices)
            tally.add(decisions, truth, row_weights, group_of_row, subgroup_of_row)
            if everything is not None:
                decided = everything.decide_rows(inputs, prices_of_all)
                # The commonest class of the fit, not of this file.
                commonest = run.front.references[0].label
                references.append(
                    references_from_decisions(everything, commonest, decided, truth, row_weights)
                )
            if lookup is not None:
                lookup.add(inputs)
            n_rows += table.num_rows
        if report:
            report(n_rows)
    if not n_rows:
        raise DataError(f"{path} must have rows, got none.")
    if lookup is not None:
        warn_of_searched(lookup, n_rows, path)
    new = tally.evaluation()
    if not new.n_rows:
        raise DataError(f"{path} must weigh more than 0 in column {weights!r}, got 0 in all rows.")
    return RunEvaluation(
        run,
        number,
        run.front[number].compared_with(new.with_total(costs), cascade.label_costs),
        # References of chunks are joined kind by kind.
        tuple(map(Reference.joined, zip(*references, strict=True))),
        cheapest_label=run.gives_cheapest_labels(costs, point),
    )


def warn_of_searched(lookup: Lookup, n_rows: int, path: PathLike) -> None:
    """Warn of rows of a file that took part in the search, once all chunks are looked up."""
    seen = lookup.seen()
    if not seen.rows.size:
        return
    # Their number is a lower bound.
    warnings.warn(
        DataWarning(
            f"{len(seen.rows):,} or more of the {n_rows:,} rows of {path} took part in the search"
            f"{seen.caveat}; their figures are too good."
        ),
        stacklevel=3,
    )


def _check_target(
    target: str, path: PathLike, cascade: Cascade, weights: str | None, reading: Reading
) -> None:
    if target in (*cascade.encoding.columns, weights):
        what = "weights" if target == weights else "a feature"
        raise ParameterError(f"target must be a column of labels, got {target!r}, {what}.")
    if target not in (there := column_names(path, reading)):
        meant = what_was_meant(target, there)
        meant = "; target names another." if meant == "." else meant
        raise DataError(
            f"{path} must have the column {target!r} with the labels, got {some(there, 20)}{meant}"
        )
