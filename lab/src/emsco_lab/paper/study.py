"""What the experiments share: sets and their models, jobs in parallel, tables and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from matplotlib.figure import Figure

from emsco.scoring import Answers
from emsco_lab._tools import Results, check_choice, markdown_table, progress
from emsco_lab.datasets import Dataset, load, paper_split
from emsco_lab.paper.published import SETS

Job: TypeAlias = tuple[Any, ...]  # plain values
Result: TypeAlias = dict[str, Any]  # plain values: what the JSON file holds

# Options of the commands.
Out = Annotated[Path, typer.Option(help="Folder for results, table (Markdown, JSON) and figure.")]
Seed = Annotated[int, typer.Option(min=0, max=4_000_000, help="Seed of splits and searches.")]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 is one for each core.")]
Splits = Annotated[int, typer.Option(min=1, max=1000, help="Random splits of each set.")]
Runs = Annotated[int, typer.Option(min=1, help="Repeats of each search.")]
Names = list[str] | None
Sets = Annotated[Names, typer.Option("--set", help=f"{', '.join(SETS)}; repeatable.")]
PrintJSON = Annotated[bool, typer.Option("--json", help="Print the JSON instead of the table.")]

FIGURES = {"accuracy": 100, "coverage": 100, "cost": 1}  # shares in percent, costs as they are
COLUMN = 3.4  # inches of a column in a paper with two columns
COLOURS = "viridis"  # dark to light, so readers with colour blindness can use it
MARKS = "os^Dv"
STYLES: tuple[dict[str, Any], ...] = (  # all dashes differ, so lines can be told apart in grey
    {"color": "#0b3c6f", "linestyle": "-"},
    {"color": "#d55e00", "linestyle": "--"},
    {"color": "#009e73", "linestyle": "-."},
    {"color": "#7a7a7a", "linestyle": ":"},
    {"color": "#cc79a7", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)


def known_names(names: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    """Refuse unknown sets or methods; None stands for all."""
    return [check_choice("each name", name, known) for name in names or known]


def split_seed(split: int, seed: int) -> int:
    """Seed of a split, and of the rivals on it; no two splits of any seeds draw alike."""
    return 1000 * seed + split


@lru_cache(maxsize=1)
def opened(name: str, seed: int, drawn: int) -> tuple[Dataset, Answers, Answers]:
    """Load a set, split it with the seed `drawn`, and open its models for scored and test rows.

    All searches of a process share them, so no subset is fitted twice.
    """
    data = load(name, seed)
    train, scored, test = paper_split(len(data.X), drawn)
    answers = Answers(data.X, data.y, data.costs, (train, scored))
    return data, answers, answers.on(test)


def do_jobs(
    work: Callable[..., Any], jobs: Sequence[Job], out: Path, of: Result, n_jobs: int
) -> tuple[dict[Job, Any], Result]:
    """Call ``work(seed, *job)`` in processes, and keep each result in a folder.

    `of` names the experiment and its seed. Return the results that there are, and `of` with whether
    they are complete. Before the first result, Ctrl-C is raised.
    """
    results = Results(out / "results.jsonl", of)
    with progress(of["experiment"]) as report:
        results.finish(jobs, partial(work, of["seed"]), n_jobs, report)
    if found := {job: results.known[job] for job in jobs if job in results.known}:
        return found, {**of, "complete": len(found) == len(jobs)}
    raise KeyboardInterrupt


def publish(out: Path, result: Result, table: str, figure: Figure, as_json: bool) -> Result:
    """Write and print a result; after Ctrl-C, say that it is not complete."""
    out.mkdir(parents=True, exist_ok=True)
    path, text = out / result["experiment"], json.dumps(result, indent=2)
    path.with_suffix(".md").write_text(table + "\n", encoding="utf-8")
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    for ending in (".png", ".svg"):
        figure.savefig(path.with_suffix(ending), dpi=200)
    typer.echo(text if as_json else table)
    if not result.get("complete", True):
        typer.echo("Interrupted: some results are missing; the same command goes on.", err=True)
        raise typer.Exit(130)
    return result


def markdown(heads: str, lines: Iterable[str]) -> str:
    """Write a Markdown table; cells are split at bars between blanks."""
    first, *others = ([*map(str.strip, re.split(r"\s\|\s", one))] for one in (heads, *lines))
    return markdown_table(first, others)


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of a size in inches, without pyplot and its windows."""
    return Figure(figsize=(width, height), layout="constrained")


def soften(panel: Any, x: str = "", y: str = "") -> None:
    """Label a panel; give it small ticks, a light grid, and only two lines around it."""
    panel.set_xlabel(x, fontsize=8)
    panel.set_ylabel(y, fontsize=8)
    panel.tick_params(labelsize=7, width=0.6, length=2.5)
    panel.grid(visible=True, color="0.9", linewidth=0.5)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def name_marks(figure: Figure, panel: Any) -> None:
    """Add a legend of the marks of a panel below all panels."""
    marks, look = panel.get_legend_handles_labels(), {"frameon": False, "fontsize": 7}
    figure.legend(*marks, ncols=5, loc="outside lower center", **look)
