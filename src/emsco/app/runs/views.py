"""A run as a picture or as a web page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from emsco._base.checks import check_choice
from emsco._base.documents import PathLike
from emsco._base.objectives import Objectives, metric_name
from emsco._base.text import counted, shorten
from emsco.app.runs.run import CERTIFICATE, Run
from emsco.designs.design import Design
from emsco.errors import ParameterError
from emsco.front import Certificate, ParetoFront
from emsco.front.pictures import ON, cascade_picture
from emsco.plotting import (
    COLUMN,
    Convergence,
    CostClasses,
    check_matplotlib,
    draw_convergence,
    draw_cost_classes,
    draw_reliability,
    draw_risk_coverage,
    entitle,
)
from emsco.plotting.figures import check_currency, unit_of
from emsco.stats.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("front", "pairs", "3d", "cascade", "costs", "convergence", "reliability", "risk")
_OF_ROWS = ("reliability", "risk")
_OF_DESIGNS = ("cascade", "costs", *_OF_ROWS)
_DIGITS = 16  # of a fingerprint: enough to tell two apart


def plot_run(
    run: Run,
    kind: str = "front",
    *,
    point: int | None = None,
    on: str = "scored",
    data: PathLike | None = None,
    width: float | None = None,
    currency: str | None = None,
    every: bool = False,
) -> Figure:
    """Draw a picture of a run, with a title that says what it finds and names the run.

    Parameters
    ----------
    run : Run
    kind : str
        One of `KINDS`.
    point : int, optional
        Position of a point of the front; by default the deployed one.
    on : str
        "scored", "seen" or, for fronts, "expected" or "both".
    data : path, optional
        Labelled rows, for the kinds that need them: "reliability" and "risk".
    width : float, optional
        Inches; by default a column of a paper, or a page for a cascade that branches.
    currency : str, optional
        Unit of costs, such as "€".
    every : bool
        Draw all designs of a front, and not only those that differ beyond noise.
    """
    check_plot(kind, on, data, currency)
    check_matplotlib()
    front = replace(run.front, deployed=run.chosen)
    number = run.chosen if point is None else front.position(point)
    inches = COLUMN if width is None else width
    unit = unit_of(check_currency(currency))
    if kind == "cascade":
        figure = front.plot_cascade(number, on=on, width=width, currency=currency)
        finding = _cascade_finding(front, number, on, unit)
    elif kind == "costs":
        record = CostClasses.from_costs(front.costs, front[number].design)
        figure = draw_cost_classes(replace(record, corner=f"{record.corner}{unit}"), inches)
        finding = _costs_finding(front[number].design)
    elif kind == "convergence":
        figure = draw_convergence(run.convergence, inches)
        finding = _convergence_finding(run.convergence)
    elif kind == "reliability" and data is not None:
        stages = front.cascade(number).reliability(*run.labelled(data))
        figure = draw_reliability(stages, inches)
        finding = _reliability_finding(stages)
    elif kind == "risk" and data is not None:
        curves = front.cascade(number).risk_coverage(*run.labelled(data))
        figure = draw_risk_coverage(curves, width=inches)
        finding = _in_figures(curves[0].deployed, "accuracy", unit)
    else:
        of_front = "2d" if kind == "front" else kind
        figure = front.plot(
            of_front, mark=number, on=on, width=inches, currency=currency, every=every
        )
        finding = _front_finding(front, number, on, unit)
    title = [run.folder.resolve().name]
    if kind in _OF_DESIGNS:
        title.append(f"{'deployed ' if number == run.chosen else ''}design {number}")
    if data is not None:
        title.append(Path(data).name)
    entitle(figure, ", ".join(title), finding)
    return figure


def _cascade_finding(front: ParetoFront, number: int, on: str, unit: str) -> str:
    flow = cascade_picture(front, number, on).flow
    finding = f"a row costs {flow.cost:.4g}{unit} instead of {front.costs.total:.6g}{unit}"
    if len(flow.stages) == 1:
        return finding
    early = flow.share(sum(stage.left for stage in flow.stages if flow.after(stage)))
    return f"{early:.0%} of rows stop early, {finding}"


def _costs_finding(design: Design) -> str:
    n_bought = len(design.names) - len(design.left_out)
    return (
        f"{n_bought} of {counted(len(design.names), 'feature')} are bought, "
        f"{len(design.buys[0])} of them in the first stage"
    )


def _convergence_finding(history: Convergence) -> str:
    best = np.array([history.best_coverage, history.best_accuracy, history.best_cost])
    changes = np.flatnonzero((np.diff(best, axis=1) != 0).any(axis=0))
    last = history.generation[changes[-1] + 1] if changes.size else history.generation[0]
    return f"the best design last changed in generation {last:g} of {history.generation[-1]:g}"


def _reliability_finding(stages: Sequence[Reliability]) -> str:
    judged = [float(stage.rows.sum()) for stage in stages]
    error = np.average([stage.error for stage in stages], weights=judged)
    by_chance = np.average([stage.error_by_chance for stage in stages], weights=judged)
    return f"confidence is off by {error:.3f} on average; chance alone gives {by_chance:.3f}"


def _front_finding(front: ParetoFront, number: int, on: str, unit: str) -> str:
    """Say what a design gives, and what buying everything does."""
    point: Objectives = front[number]
    references, metric = front.references, front.metric
    expected = front[number].expected
    if on == "expected" and expected is not None:
        point = expected.figures
    elif on == "seen" and front.seen is not None:
        point, references, metric = front.seen[number], front.seen_references, "accuracy"
    finding = f"design {number} has {_in_figures(point, metric, unit)}"
    everything = [one.scored_by(metric) for one in references if one.buys_everything]
    if not everything:
        return finding
    return f"{finding}; buying everything has {_in_figures(everything[-1], metric, unit)}"


def _in_figures(one: Objectives | None, metric: str, unit: str) -> str:
    if one is None:
        return ""
    labelled = "" if one.coverage == 1 else f"{one.coverage:.1%} labelled, "
    correct = "correct" if metric == "accuracy" else metric_name(metric)
    return f"{labelled}{one.accuracy:.1%} {correct} for {one.cost:.4g}{unit} a row"


def check_plot(kind: str, on: str, data: PathLike | None, currency: str | None) -> None:
    """Refuse what no picture can show, and rows that are missing or not needed."""
    check_choice("kind", kind, KINDS)
    check_choice("on", on, ON)
    check_currency(currency)
    if kind in _OF_ROWS and data is None:
        raise ParameterError(f"data must be given for kind {kind!r}, got none.")
    if kind not in _OF_ROWS and data is not None:
        raise ParameterError(f"data must be left out for kind {kind!r}, got {str(data)!r}.")


def explore_run(
    run: Run,
    path: PathLike | None = None,
    deploy: str = "run.choose({number})",
    currency: str | None = None,
) -> str:
    """Make a web page of a run: its front, files and certificate, and how to deploy a design.

    Parameters
    ----------
    run : Run
    path : path, optional
        Also write the page to this file.
    deploy : str
        Command or line of Python that deploys a design; ``{number}`` stands for its number.
    currency : str, optional
        Unit of all costs, such as "€" or "minutes".

    Returns
    -------
    str
        The page.
    """
    about, signed = run.about, run.folder / CERTIFICATE
    files, cv = about["files"], about["cv"]
    # Files lose their folders, since pages are sent around.
    kinds = {"data": "Rows", "train": "Training rows", "val": "Scored rows", "test": "Test rows"}
    facts = {kinds[name]: Path(files[name]).name for name in kinds if files.get(name)}
    if isinstance(cv, float):
        facts["Rows that score designs"] = f"{cv:.1%} held out"
    elif cv:
        splits = about["n_splits"]
        how = f"all, in {splits} splits" if splits > 1 else "a third held out"
        facts["Rows that score designs"] = how
    facts["Column with the labels"] = files["target"]
    for key, name in (("model_choice", "Stage models"), ("finish", "Refinement")):
        if about[key]:
            facts[name] = about[key]["in_words"]
    facts["Why the search stopped"] = about["stop_reason"]
    facts["Seed"] = str(about["seed"])
    facts["Fingerprint of the rows"] = shorten(about["data"], _DIGITS)
    facts["Date of this page"] = date.today().isoformat()
    return run.front.to_html(
        path,
        title=f"Designs of {run.folder.resolve().name}",
        deploy=deploy,
        deployed=run.chosen,
        facts=facts,
        currency=currency,
        certificate=Certificate.load(signed) if signed.exists() else None,
        **run.given_error_costs,
    )
