"""Options that several commands take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

if TYPE_CHECKING:
    from emsco.data.sources import FitFiles

__all__ = [
    "AsJSON",
    "DataFiles",
    "Evolution",
    "Limits",
    "Point",
    "Processes",
    "RunFolder",
    "Seed",
    "StudyFiles",
    "Threads",
    "Trusted",
]

AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
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
        help="Type that a file with other classifiers may hold, such as sklearn.tree._tree.Tree. "
        "Name it only if you trust whoever wrote the file; repeatable.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Random seed; the same seed gives the same results.")
]
Processes = Annotated[int, typer.Option(help="Number of processes; -1 is one for each core.")]
Threads = Annotated[int, typer.Option(help="Number of threads; -1 is one for each core.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFiles:
    """Where rows, labels and costs come from."""

    PANEL: ClassVar[str] = "Rows and costs"

    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="CSV or Parquet file with features and labels.", show_default=False
        ),
    ] = None
    target: Annotated[str, typer.Option(help="Column with the labels; all others are features.")]
    costs: Annotated[
        Path | None,
        typer.Option(
            help="Costs: CSV with the columns feature,cost and perhaps group (columns bought "
            "together); JSON; or one line of numbers in column order. Without it every column "
            "costs 1."
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column that is not a feature, such as an id; repeatable."
        ),
    ] = None
    weights: Annotated[
        str | None, typer.Option(help="Column with the weight of each row; not a feature.")
    ] = None
    train: Annotated[
        Path | None, typer.Option(help="Rows to fit on, instead of DATA; needs --val.")
    ] = None
    val: Annotated[
        Path | None, typer.Option(help="Rows to score designs on, instead of part of DATA.")
    ] = None
    test: Annotated[
        Path | None, typer.Option(help="Rows kept aside, to test every design of the front on.")
    ] = None

    def files(self) -> FitFiles:
        """The same as the library takes them; files that contradict each other are refused."""
        from emsco.data.sources import FitFiles

        drop = tuple(self.drop or ())
        parts = (self.data, self.train, self.val, self.test)
        return FitFiles(self.target, *parts, self.costs, drop, self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFiles(DataFiles):
    """The files of a command that fits many times and tests each result."""

    train: Annotated[
        Path | None, typer.Option(help="Rows to fit on, instead of DATA; needs --val and --test.")
    ] = None
    val: Annotated[Path | None, typer.Option(help="Rows to tune and to choose on.")] = None
    test: Annotated[
        Path | None, typer.Option(help="Rows to test on, instead of a quarter of DATA.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that a design must keep, on the rows that scored it."""

    PANEL: ClassVar[str] = "Limits"

    max_cost: Annotated[float | None, typer.Option(help="Highest mean cost of a row.")] = None
    min_accuracy: Annotated[
        float | None,
        typer.Option(help="Lowest accuracy among rows that get a label, as in 0.9."),
    ] = None
    min_coverage: Annotated[
        float | None, typer.Option(help="Lowest share of rows that get a label, as in 0.8.")
    ] = None

    def limits(self) -> dict[str, float]:
        """The limits that were given."""
        every = {
            "max_cost": self.max_cost,
            "min_accuracy": self.min_accuracy,
            "min_coverage": self.min_coverage,
        }
        return {name: limit for name, limit in every.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """How large a design may be, and how long a search evolves them."""

    PANEL: ClassVar[str] = "Search"

    max_stages: Annotated[
        int | None,
        typer.Option(help="Highest number of stages; half the number of features by default."),
    ] = None
    generations: Annotated[int, typer.Option(help="Generations of an evolution.")] = 150
    population_size: Annotated[int, typer.Option(help="Designs in a generation.")] = 300
