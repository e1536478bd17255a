"""Options that several commands take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from emsco._base.checks import LARGEST_SEED
from emsco.app.cli.parsers import parse_error_costs, parse_shares
from emsco.errors import ParameterError

if TYPE_CHECKING:
    from emsco.app.files.reading import Reading
    from emsco.app.runs.run import Run

AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Currency = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        help="Unit of all costs, shown beside them, as in '€', CHF or minutes; by default costs "
        "are plain numbers.",
    ),
]
Point = Annotated[
    int | None,
    typer.Option(
        help="Number of a design, as `emsco front` shows it; by default the deployed one."
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that emsco fit has made.")]
Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="TYPE",
        help="Type to allow in a file with other stage models, such as sklearn.tree._tree.Tree. "
        "Allow it only if you trust the author of the file; repeatable.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=LARGEST_SEED, help="Random seed; the same seed gives the same results."
    ),
]
MaxCost = Annotated[float | None, typer.Option(help="Highest mean cost of a row.")]
MaxMeanDelay = Annotated[
    float | None,
    typer.Option(
        help="Longest time that a row waits on average; a stage waits for the slowest feature "
        "that it buys."
    ),
]
MaxWorstDelay = Annotated[
    float | None,
    typer.Option(help="Longest time that any row may wait; a rejected row waits for all stages."),
]
MinCoverage = Annotated[
    float | None, typer.Option(help="Lowest share of rows that get a label, as in 0.8.")
]
MinRecall = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=SHARE",
        help="Lowest share of a class that must get its label, as in ill=0.9; repeatable.",
    ),
]
ErrorCost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COST",
        help="Cost of a wrong label, in the unit of the feature costs: a number; one for each true "
        "label, as in ill=500; or one for a true label and the label given, as in ill:well=500; "
        "repeatable. Or a CSV file with such a matrix: true labels down, labels given across.",
    ),
]
RejectCost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COST",
        help="Cost of a rejection, such as that of asking an expert: a number, or one for each "
        "true label, as in ill=60; repeatable.",
    ),
]
Target = Annotated[str, typer.Option(help="Column with the labels; all others are features.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column that is not a feature, such as an id; repeatable."),
]
Threads = Annotated[int, typer.Option(help="Number of threads; -1 is one for each core.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToRead:
    """Options for the form of CSV files; by default a look at the file decides."""

    PANEL: ClassVar[str] = "How to read CSV files"

    na: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Text that means a missing value, as in '?' or -999; repeatable. By default ?, NA "
            "and the like do, and in columns of numbers also - and a few more; a line says so. "
            "--na '' keeps all texts.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="What stands between two columns, as in ';' or tab; noticed by default.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="Decimal mark: . or , as in 3,14; noticed by default."),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line has the names of the columns. Without, they are called "
            "column1, column2 and so on.",
        ),
    ] = None
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Turn dates into days since 1970-01-01: days, or day-first or month-first for "
            "dates such as 03/04/2026. By default a column of dates is refused.",
        ),
    ] = None

    def reading(self) -> Reading:
        """Return the options as a `Reading`."""
        from emsco.app.files.reading import Reading

        # An empty text is asked for as --na '', and means that no text is a missing value.
        na = None if self.na is None else tuple(text for text in self.na if text)
        return Reading(na, self.separator, self.decimal, self.header, self.dates)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _limits(options: ChoiceOptions | Promises, min_accuracy: Any) -> dict[str, Any]:
    """Return the limits that were given, by parameter."""
    return _given(
        {
            "min_accuracy": min_accuracy,
            "min_coverage": options.min_coverage,
            "min_recall": parse_shares("min_recall", options.min_recall),
            "max_cost": options.max_cost,
            # Only designs of a run can be limited by delays.
            "max_mean_delay": getattr(options, "max_mean_delay", None),
            "max_worst_delay": getattr(options, "max_worst_delay", None),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOptions:
    """Options for limits on the scored figures of a design, and for what errors cost."""

    PANEL: ClassVar[str] = "Limits, and what errors cost"

    max_cost: MaxCost = None
    min_accuracy: Annotated[
        float | None,
        typer.Option(
            help="Lowest accuracy among rows that get a label, as in 0.9; balanced if the run is."
        ),
    ] = None
    min_coverage: MinCoverage = None
    min_recall: MinRecall = None
    error_cost: ErrorCost = None
    reject_cost: RejectCost = None

    def limits(self) -> dict[str, Any]:
        """Return the limits that were given, by parameter."""
        return _limits(self, min_accuracy=self.min_accuracy)

    def error_costs(self) -> dict[str, Any]:
        """Return the costs of errors and rejections that were given, by parameter."""
        return error_costs_given(self.error_cost, self.reject_cost)

    def choice(self) -> dict[str, Any]:
        """Return limits and costs together."""
        return {**self.limits(), **self.error_costs()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice(ChoiceOptions):
    """The same for a design of a run, whose features may have delays."""

    max_mean_delay: MaxMeanDelay = None
    max_worst_delay: MaxWorstDelay = None


def error_costs_given(
    error_cost: list[str] | None, reject_cost: list[str] | None
) -> dict[str, Any]:
    """Return costs of errors and rejections as parameters, if they were given.

    Examples
    --------
    >>> error_costs_given(["ill=500", "well=20"], ["40"])
    {'error_cost': {'ill': 500.0, 'well': 20.0}, 'reject_cost': 40.0}
    """
    return _given(
        {
            "error_cost": parse_error_costs("error_cost", error_cost, by_label=True),
            "reject_cost": parse_error_costs("reject_cost", reject_cost),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """Options for what is promised about new rows."""

    PANEL: ClassVar[str] = "Promises"

    min_accuracy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE",
            help="Lowest share of given labels that are correct, as in 0.95; with a label, of the "
            "rows given that label, as in well=0.99; repeatable.",
        ),
    ] = None
    min_coverage: MinCoverage = None
    min_recall: MinRecall = None
    max_cost: MaxCost = None
    max_total: Annotated[
        float | None,
        typer.Option(
            help="Highest mean total of a row: features, errors and rejections. Costs of errors "
            "are by default those that the run was fitted or chosen with."
        ),
    ] = None
    error_cost: ErrorCost = None
    reject_cost: RejectCost = None

    def limits(self, run: Run) -> dict[str, Any]:
        """Return the promises that were given, by parameter; a total with the costs of a run."""
        accuracies = parse_shares("min_accuracy", self.min_accuracy, of_all=True)
        limits = _limits(self, min_accuracy=accuracies)
        costs = error_costs_given(self.error_cost, self.reject_cost)
        if self.max_total is not None:
            return {**limits, "max_total": self.max_total, **(costs or run.given_error_costs)}
        if costs:
            raise ParameterError("max_total must be given where errors have a cost, got none.")
        return limits
