"""Show a cascade: as a line of text, and as boxes in a notebook."""

from __future__ import annotations

from emsco._base.text import listed
from emsco.cascade.stages import Stages
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.designs.stage_thresholds import (
    StageThresholds,
    answers_all,
    differ,
    leaving_in_words,
    rule_in_words,
)
from emsco.designs.thresholds import in_words
from emsco.models.averaged import parts_of
from emsco.pictures.notebook import boxes, fragment, note

__all__ = ["cascade_html", "cascade_text"]

_MOST_NAMES = 30  # of a stage, in a notebook


def cascade_text(design: Design, stages: Stages, thresholds: StageThresholds) -> str:
    """Name the features and cost of each stage, and the threshold or those of all stages."""
    steps = " → ".join(
        f"{', '.join(bought)} [{_about(stages, j)}{cost:g}] {design.threshold_in_words(j)}".rstrip()
        for j, (bought, cost) in enumerate(zip(stages.buys, stages.costs, strict=True))
    )
    least = thresholds[0]
    accepts = "answers all" if answers_all(least) else f"accept at {in_words(least)}"
    parts = [steps, "" if differ(thresholds) else accepts, _averaged(stages)]
    parts.append("" if stages.label_costs is None else "labels of least expected cost")
    return f"Cascade({'; '.join(filter(None, parts))})"


def cascade_html(
    design: Design, costs: FeatureCosts, stages: Stages, thresholds: StageThresholds
) -> str:
    """Show the stages from left to right, with their features and costs."""
    steps, before, known = [], 0.0, tuple[str, ...]()
    for j, (bought, paid) in enumerate(zip(stages.buys, stages.costs, strict=True)):
        about = _about(stages, j)
        cost = f"cost {about}{paid - before:g}, so far {about}{paid:g}"
        waits = [f"delay so far {stages.delays[j]:g}"] if stages.delays else []
        buys = f"buys {listed(costs.in_words(bought, known), _MOST_NAMES)}"
        known = (*known, *bought)
        rule = [rule_in_words(thresholds[j])] if differ(thresholds) else []
        steps.append((f"stage {j + 1}", [buys, cost, *waits, *rule]))
        before = paid
    last = f"{_about(stages, len(stages) - 1)}{before:g}"
    steps.append(("rejected", ["rows still undecided", f"cost {last}"]))
    never, mean = design.left_out, _averaged(stages)
    return fragment(
        f"Cascade: {leaving_in_words(thresholds)}",
        boxes(steps),
        note(f"never bought: {listed(never, _MOST_NAMES)}") if never else "",
        note(mean) if mean else "",
        "" if stages.label_costs is None else note("gives the label of least expected cost"),
    )


def _about(stages: Stages, j: int) -> str:
    """The word before the cost of a stage, if a feature bought by then has prices by row."""
    return "about " if len(stages.prices) and stages.prices.stages.min() <= j else ""


def _averaged(stages: Stages) -> str:
    n_models = len(parts_of(stages.models))
    return f"average of {n_models} models per stage" if n_models > 1 else ""
