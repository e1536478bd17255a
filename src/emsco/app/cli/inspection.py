"""Draw what was found in a file: a table of its columns, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from emsco._base.text import counted, listed, visible
from emsco.app.cli.listing import plain_table
from emsco.app.cli.wording import in_words
from emsco.app.runs.inspect import Inspection

_MOST_CLASSES = 8


def column_table(found: Inspection) -> Table:
    """Return a table with a line for each column, under the shares of the classes."""
    shares = [f"{label} {n / found.n_rows:.1%}" for label, n in found.classes]
    table = plain_table(
        title=visible(
            f"{counted(found.n_rows, 'row')}, {found.target}: {listed(shares, _MOST_CLASSES)}"
        ),
        caption="alone: balanced accuracy of this column alone on unseen rows; "
        f"{1 / len(found.classes):.0%} is chance.",
        padding=(0, 1),
    )
    for heading in ("column", "kind", "different", "missing", "alone", "values"):
        is_text = heading in ("column", "kind", "values")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for one in found.columns:
        alone = found.alone.get(one.name)
        missing = f"{one.n_missing / found.n_rows:.1%}" if one.n_missing else ""
        told = "" if not alone else f"{alone:.0%}"
        line = (one.name, one.kind, f"{one.n_different:,}", missing, told, one.values)
        table.add_row(*(Text(visible(cell)) for cell in line))
    return table


def odd_lines(found: Inspection) -> Iterator[str]:
    """Yield sentences about what looks wrong, and what a fit would refuse."""
    told = [issue.parts for issue in found.data_issues]
    for parts in (*told, *found.notes):
        line = visible(in_words(parts))
        yield f"- {line[0].upper()}{line[1:]}"
    if found.n_repeated:
        again = "row has" if found.n_repeated == 1 else "rows have"
        yield f"- {found.n_repeated:,} {again} the values of an earlier one."
    if not (told or found.notes or found.n_repeated):
        yield "- Nothing looks wrong."


def fit_lines(found: Inspection) -> Iterator[str]:
    """Yield sentences about what a fit would do."""
    plan = found.forecast
    if plan is None:
        return
    inputs = "" if plan.n_inputs == plan.n_features else f" ({plan.n_inputs:,} inputs)"
    rows = "in one split" if plan.n_splits == 1 else f"in {plan.n_splits} splits"
    if plan.n_searched is not None:
        rows += f" of a sample of some {plan.n_searched:,} rows"
    kind = (
        f"settle all {plan.n_designs:,} designs"
        if plan.search == "exact"
        else f"breed up to {plan.n_designs:,} designs"
    )
    yield (
        f"A fit would score designs of {counted(plan.n_features, 'feature')}{inputs} {rows}, and "
        f"{kind}."
    )
    if plan.choice is not None:
        yield f"Stage models, by {counted(plan.n_tried, 'row')}: {plan.choice}."
    yield (
        f"It would take {plan.time_in_words} here, going by a short fit on "
        f"{counted(plan.n_tried, 'row')}."
    )
