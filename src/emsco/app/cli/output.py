"""Print tables, drawings and JSON on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from emsco._base.text import listed, rounded, visible
from emsco.app.cli.words import in_options

if TYPE_CHECKING:
    from rich.console import Console

    from emsco.app.runs.run import Run
    from emsco.front import ParetoPoint
    from emsco.scoring.error_costs import ErrorCosts

_LINES, _FEW_MORE = 25, 5
_CLASSES = 8  # on one line
_SAVES_LITTLE, _FAR_LESS = 2 / 3, 1 / 2  # of the cost of everything
_AS_MANY = 0.05  # coverage that a cheaper design may lack
_TELLING = 0.5  # points that are worth a word


def console() -> Console:
    """Return a Rich console for standard output."""
    from emsco._base.progress import SafeConsole

    class Output(SafeConsole):
        def on_broken_pipe(self) -> None:
            """Leave a closed pipe to `ending_quietly`."""
            raise BrokenPipeError

    return Output()


def echo(text: str, *, err: bool = False) -> None:
    """Print text on standard output or error; control characters are written out."""
    typer.echo(visible(text), err=err)


def print_json(values: Any) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(values, indent=2))


def print_design(
    run: Run, number: int, *, doubts: bool = True, costs: ErrorCosts | None = None
) -> None:
    """Draw a design; print its results by class, the references, and all doubts.

    `costs` are those of errors and rejections, by default the run's.
    """
    from emsco.app.cli.terminal import cascade_drawing, class_drawing, reference_table
    from emsco.front.references import everything_of

    out, front = console(), run.front
    point = front[number]
    out.print(cascade_drawing(front, number))
    out.print()
    if point.expected is not None:
        out.print(f"Expected on new rows: {point.expected}.", highlight=False)
    costs = run.error_costs() if costs is None else costs
    cheapest_label = run.gives_cheapest_labels(costs, None if number == run.chosen else number)
    if costs is not None:
        total = point.total_with(costs, cheapest_label=cheapest_label)
        said = f"{total.basis.capitalize()} total of a row: {total}; with {costs}."
        out.print(said, highlight=False, markup=False)
    seen = front.seen[number].by_class if front.seen else None
    recall = () if point.expected is None else point.expected.recall
    tables = (
        ("Scored", point.by_class, front.references, recall),
        ("Seen", seen, front.seen_references, ()),
    )
    for rows, by_class, references, expected in tables:
        if by_class is not None:
            drawing = class_drawing(
                by_class,
                out.width,
                title=f"{rows} rows by class",
                brief=True,
                everything=everything_of(references),
                expected=expected,
            )
            out.print(drawing)
    if front.references:
        out.print(reference_table(front, number, costs, cheapest_label=cheapest_label))
    if averages := _averages(run):
        out.print(averages, highlight=False)
    stakes = run.cascade.stakes
    is_weighted = stakes is not None and len(set(stakes.tolist())) > 1
    if is_weighted and not point.design.buys_nothing:
        said = "Thresholds are for probabilities that weigh each class by what its errors cost."
        out.print(said, highlight=False)
    if number == run.chosen and not point.is_about_labels(run.cascade.label_costs):
        figures = "other figures than totals" if cheapest_label else "the figures"
        said = f"Rows get the label of least expected cost; {figures} are those of likeliest ones."
        out.print(said, highlight=False)
    for doubt in doubts_of(run, number) if doubts else ():
        out.print(f"{doubt[0].upper()}{doubt[1:]}", highlight=False, markup=False)
    if doubts and (odd := run.about.get("data_issues")):
        more = f" ({len(odd) - 1:,} more in run.json)" if len(odd) > 1 else ""
        said = f"Odd in the data: {odd[0]['message']}{more}"
        out.print(said, highlight=False, markup=False)


def doubts_of(run: Run, number: int) -> list[str]:
    """Return why nobody should sign a design as it is, one sentence each."""
    from emsco.front.doubts import doubts_about

    point, name = run.front[number], f"design {number}"
    doubts = doubts_about(
        run.front,
        point,
        name,
        weighted=run.is_weighted,
        costs=run.error_costs(),
        # Another design would give likeliest labels.
        cheapest_label=number == run.chosen and run.cascade.label_costs is not None,
    )
    return [in_options(doubt) for doubt in doubts]


def print_front(run: Run, *, max_rows: int | None = None, **settings: Any) -> None:
    """Print why the search of a run ended, and its front; see `front_table` for the settings.

    `costs` of errors are by default the run's.
    """
    from emsco.app.cli.terminal import front_table

    out, about = console(), run.about
    for title, name in (("Stage models", "model_choice"), ("Refinement", "finish")):
        if about.get(name):
            out.print(f"{title}: {about[name]['in_words']}.", highlight=False)
    out.print(f"Search ended: {about['stop_reason']}.\n", highlight=False)
    settings = {"see_all": "emsco front --all", "costs": run.error_costs(), **settings}
    settings |= {"max_rows": max_rows or _LINES, "spare": 0 if max_rows else _FEW_MORE}
    settings["certified"] = run.certified
    out.print(front_table(run.front, run.point, out.width, **settings))


def print_deployed(run: Run) -> None:
    """Say in one sentence which design a fit deploys, and why."""
    import numpy as np

    from emsco._base.objectives import metric_name
    from emsco.app.cli.terminal import than_everything
    from emsco.front.offers import rejection_offers
    from emsco.front.references import everything_of
    from emsco.front.rules import preference_in_words

    why = preference_in_words(run.preference, run.point)
    total, cost = run.front.costs.total, run.point.cost
    spends = (
        f"It costs {rounded(cost)} a row, {than_everything(1 - cost / total if total else 0.0)}."
    )
    expected = run.point.expected
    accuracy = metric_name(run.front.metric)
    expects = f"On new rows, expect {accuracy} {expected.accuracy.in_percent}." if expected else ""
    by_money = run.front.money is not None  # which weighs accuracy and rejections already
    said = (
        f"Deployed: design {run.chosen}, {why}. {spends} {expects} {_total(run)} {_averages(run)} "
        f"{'' if by_money else _cheaper(run)}"
    )
    console().print(" ".join(said.split()), highlight=False)
    by_class = run.point.by_class
    if by_class is not None:  # accuracy alone hides a rare class
        everything = everything_of(run.front.references)
        named = []
        for i in np.flatnonzero(by_class.rows).tolist():
            beside = []
            if everything is not None:
                beside.append(f"everything {everything.recall[i]:.1%}")
            if expected and expected.recall:
                beside.append(f"to expect {expected.recall[i].value:.1%}")
            more = f" ({'; '.join(beside)})" if beside else ""
            named.append(f"{by_class.labels[i]} {by_class.recall[i]:.1%}{more}")
        beaten = "" if by_money else _beaten(run)
        recalls = f"Found of each class, as scored: {listed(named, _CLASSES)}. {beaten}"
        console().print(recalls.rstrip(), highlight=False, markup=False)
    for offer in () if by_money else rejection_offers(run.front, run.point):
        by = f"--min-coverage {offer.min_coverage:g}"
        if run.front.select(min_coverage=offer.min_coverage) is not offer.point:
            by = str(run.front.position(offer.point))
        command = f"emsco choose {run.folder} {by}"
        console().print(f"Or {offer}: {command}", highlight=False, markup=False)


def _beaten(run: Run) -> str:
    """If a design beats the deployed one in all three figures, say which class it gives up."""
    deployed, rivals = run.point, []
    for place, point in enumerate(run.front):
        beats = point.coverage >= deployed.coverage and point.accuracy >= deployed.accuracy
        if beats and point.cost < deployed.cost and point.by_class and deployed.by_class:
            lost = deployed.by_class.recall - point.by_class.recall
            worst = int(lost.argmax())
            said = (
                f"{point.by_class.recall[worst]:.1%} of {point.by_class.labels[worst]} instead of "
                f"{deployed.by_class.recall[worst]:.1%}, as scored"
            )
            rivals.append((float(lost[worst]), place, said))
    if not rivals or min(rivals)[0] <= 0:
        return ""
    _, place, said = min(rivals)
    return f"Design {place} costs less and is no worse in coverage and accuracy, but finds {said}."


def _cheaper(run: Run) -> str:
    """If the deployed design saves little, name one that costs far less and answers as many rows.

    Nobody should take the price of the last point of accuracy for what a cascade costs.
    """
    deployed, total = run.point, run.front.costs.total
    if deployed.cost <= _SAVES_LITTLE * total:
        return ""
    cheaper = [
        point
        for point in run.front
        if point.shortlisted
        and point.is_informative
        and point.cost <= _FAR_LESS * total
        and point.coverage >= deployed.coverage - _AS_MANY
    ]
    if not cheaper:
        return ""
    best = max(cheaper, key=lambda point: point.promised[1].accuracy)
    number, given_up = run.front.position(best), _given_up(deployed, best)
    gives = f", and gives up {', '.join(given_up)}" if given_up else ""
    return (
        f"Design {number} costs {rounded(best.cost)}, {1 - best.cost / deployed.cost:.0%} less"
        f"{gives}: emsco choose {run.folder} {number} deploys it."
    )


def _given_up(deployed: ParetoPoint, other: ParetoPoint) -> list[str]:
    """Name what another design loses: accuracy, coverage, and the class that suffers most."""
    accuracy = 100 * (deployed.promised[1].accuracy - other.promised[1].accuracy)
    coverage = 100 * (deployed.coverage - other.coverage)
    losses = [f"about {accuracy:.1f} points of accuracy"] if accuracy > 0 else []
    if coverage >= _TELLING:
        losses.append(f"{coverage:.1f} of coverage")
    if deployed.by_class is not None and other.by_class is not None:
        recalls = zip(
            deployed.by_class.recall.tolist(), other.by_class.recall.tolist(), strict=True
        )
        lost = [100 * (mine - theirs) for mine, theirs in recalls]
        worst = max(lost)
        if worst > 2 * max(_TELLING, coverage, accuracy):
            label = deployed.by_class.labels[lost.index(worst)]
            losses.append(f"{worst:.1f} of the share of {label} that is found")
    return losses


def _total(run: Run) -> str:
    """Say what a row costs in all, and what it would cost without a cascade."""
    from emsco.front.references import with_rejecting

    if (costs := run.error_costs()) is None:
        return ""
    total, references = run.point.total_with(costs), with_rejecting(run.front.references, costs)
    sentence = f"With its errors and rejections, a row costs {total.in_words} in all"
    if not references:
        return f"{sentence}."
    without = [(one.total_with(costs), one.title) for one in references]
    # One label for all may be another than the commonest, if that costs less.
    nothing = [one for one in run.front if one.design.buys_nothing]
    without += [(one.total_with(costs), one.design.arrows()) for one in nothing]
    lowest, title = min(without, key=lambda one: one[0].value)
    return f"{sentence}; without a cascade at best {lowest.in_words} ({title})."


def _averages(run: Run) -> str:
    """Say how many models a stage has, if it has several."""
    n_models = run.cascade.n_models
    return f"Each stage averages {n_models} models." if n_models > 1 else ""
