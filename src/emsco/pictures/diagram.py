"""Draw a cascade inside scikit-learn's diagram of an estimator.

scikit-learn calls `_sk_visual_block_` on each object that it draws, reads a few attributes of the
result and escapes all text. Its own class for these results is private, so the records here have
the same attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

from emsco._base.text import listed, whole
from emsco.designs.stage_thresholds import answers_all
from emsco.designs.thresholds import MinConfidence, in_words
from emsco.pictures.flow import Flow

__all__ = ["CascadeBoxes", "StageBox", "cascade_boxes"]


@dataclass(frozen=True, slots=True)
class StageBox:
    """A box with a name, a caption, and details for a reader who opens it."""

    names: str
    name_details: str
    name_caption: str
    kind: str = "single"
    estimators: None = None
    doc_link_label: None = None
    dash_wrapped: bool = True

    def _sk_visual_block_(self) -> StageBox:
        return self


@dataclass(frozen=True, slots=True)
class CascadeBoxes:
    """The boxes of a cascade, one below the other."""

    estimators: tuple[StageBox, ...]
    names: tuple[str, ...]
    name_details: tuple[str, ...]
    kind: str = "serial"
    dash_wrapped: bool = True


def cascade_boxes(flow: Flow, min_confidence: MinConfidence) -> CascadeBoxes:
    """Make a box for each stage of a flow of scored rows, and one for the rejected rows.

    `min_confidence` is that of the stages if the flow has no thresholds.
    """
    thresholds = flow.thresholds or (min_confidence,) * len(flow.stages)
    parts = []
    for stage, least in zip(flow.stages, thresholds, strict=True):
        sure = "at any confidence"
        if not answers_all(least):
            sure = f"with confidence of at least {in_words(least)}"
        correct = f", {stage.accuracy:.1%} correct" if stage.left else ""
        delay = f"\ndelay so far {stage.delay_so_far:g}" if flow.worst_delay else ""
        parts.append(
            StageBox(
                f"stage {stage.number}, cost {stage.cost:g}",
                f"buys {', '.join(stage.features)}\n"
                f"cost {stage.cost:g}, so far {stage.cost_so_far:g}{delay}\n"
                f"{whole(stage.reached)} scored rows reach it\n"
                f"{whole(stage.left)} leave, {sure}{correct}",
                f"{listed(stage.features, 3)}; {flow.share(stage.left):.1%} leave{correct}",
            )
        )
    last = flow.stages[-1].cost_so_far
    parts.append(
        StageBox(
            "rejected",
            f"{whole(flow.rejected)} of {whole(flow.n_rows)} scored rows, each at cost {last:g}",
            f"{flow.share(flow.rejected):.1%} of scored rows",
        )
    )
    return CascadeBoxes(
        tuple(parts),
        tuple(part.names for part in parts),
        tuple(part.name_details for part in parts),
    )
