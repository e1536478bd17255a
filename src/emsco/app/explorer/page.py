"""The explorer page: a front as plain values, with markup, style, scripts and Vega, in one file.

Vega, the drawing library, comes from vl-convert: `pip install 'emsco[explore]'`. Designs are
columns, one list per figure, to keep files of many thousand designs short.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from emsco._base.checks import check_whole
from emsco._base.objectives import Objectives, metric_name
from emsco.designs.thresholds import MinConfidence
from emsco.errors import ParameterError, not_installed
from emsco.front import Certificate, ParetoFront
from emsco.front.pictures import may_lack
from emsco.front.references import Reference
from emsco.front.rules import PointLimits
from emsco.plotting.classes import MOST_LABELS, MOST_LINES
from emsco.plotting.figures import check_currency
from emsco.plotting.flow import LACKING_NOTE, Flow
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts

_NUMBER = "{number}"
_OBJECTIVES = ("coverage", "accuracy", "cost")
_DIGITS = 10  # finer than any limit of a reader, and half as long as full precision
_EXPECTED_DIGITS = 6  # expected figures are no more certain than their first two
_MOST_NUMBERS = 100_000  # about 0.4 MB; pages with more have the classes of the shortlist alone
_SCRIPTS = (
    "words.js",
    "classes.js",
    "certificate.js",
    "limits.js",
    "references.js",
    "expected.js",
    "totals.js",
    "scatter.js",
    "cascade.js",
    "table.js",
    "page.js",
)
_SPECS = ("scatter", "spending")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def front_contents(
    front: ParetoFront,
    *,
    title: str,
    deploy: str,
    deployed: int | None = None,
    facts: Mapping[str, str] | None = None,
    error_costs: ErrorCosts | None = None,
    currency: str | None = None,
    certificate: Certificate | None = None,
) -> dict[str, Any]:
    """Return the contents of the page of a front.

    Parameters
    ----------
    front : ParetoFront
    title : str
    deploy : str
        Command or line of Python that deploys a design. The number of the design replaces the
        last ``{number}`` in it.
    deployed : int, optional
        Number of the deployed design.
    facts : mapping, optional
        Further facts for the reader, such as the name of the data, each with a heading.
    error_costs : ErrorCosts, optional
        What errors and rejections cost, if the page shall begin with totals.
    currency : str, optional
        Unit of all costs, as in "€" or "minutes".
    certificate : Certificate, optional
    """
    if _NUMBER not in deploy:
        raise ParameterError(f"deploy must have {_NUMBER} in it, got {deploy!r}.")
    if deployed is not None:
        check_whole("deployed", deployed, 0, len(front) - 1)
    costs, place = front.costs, {name: i for i, name in enumerate(front.costs.names)}
    flows, seen = [front.flow(i) for i in range(len(front))], None
    if front.seen is not None:
        pairs = zip(front, front.seen, strict=True)
        seen = [rows.flow(point.design) for point, rows in pairs]
    own_thresholds = [
        point.design.thresholds and [*map(_thresholds, point.design.thresholds)] for point in front
    ]
    return {
        "title": title,
        "deploy": deploy,
        "deployed": deployed,
        "facts": [list(fact) for fact in (facts or {}).items()],
        "metric": metric_name(front.metric),
        "proven": front.proven,
        "thresholds": _thresholds(front.min_confidence),
        "own_thresholds": own_thresholds if any(own_thresholds) else None,
        "features": list(costs.names),
        "columns": [list(members) for members in costs.columns],
        "costs": rounded(costs.costs.tolist()),
        "evaluation": costs.evaluation,
        "fees": [fee.to_dict() for fee in costs.fees],
        "total": costs.total,
        "steadied": rounded(point.steadied_accuracy for point in front),
        "chooses": _chooses(),
        "hidden": [i for i, point in enumerate(front) if point.rejects_everyone],
        "tied": [point.n_tied for point in front],
        "stages": [[[place[name] for name in s.features] for s in f.stages] for f in flows],
        "trees": _trees(front, flows),
        "paid": [rounded(stage.cost_so_far for stage in flow.stages) for flow in flows],
        "waits": [rounded(stage.delay_so_far for stage in flow.stages) for flow in flows]
        if costs.has_delays
        else None,
        "scored": _figures(front) | _counts(flows),
        "seen": None if seen is None else _figures(seen) | _counts(seen),
        "expected": _expected(front),
        "error_costs": None if error_costs is None else _error_costs(front, error_costs),
        "currency": check_currency(currency) or None,
        "certificate": None if certificate is None else _certified(front, certificate),
        **_assessed(front, deployed),
    }


def rounded(numbers: Iterable[float], digits: int = _DIGITS) -> list[float]:
    """Write whole numbers as integers and round the others.

    Examples
    --------
    >>> rounded([2.0, 1 / 3])
    [2, 0.3333333333]
    """
    short = (float(f"{number:.{digits}g}") for number in numbers)
    return [int(number) if number.is_integer() else number for number in short]


def _figures(figures: Iterable[Objectives | Flow]) -> dict[str, list[float]]:
    """Return a list for each objective."""
    known = list(figures)
    return {name: rounded(getattr(one, name) for one in known) for name in _OBJECTIVES}


def _counts(flows: Sequence[Flow]) -> dict[str, Any]:
    """Return the rows of each flow, and its exits and correct exits at each stage.

    Rows that are rejected at each stage are there for designs that branch, by their number.
    """
    counts = {
        "rows": rounded(flow.n_rows for flow in flows),
        "left": [rounded(stage.left for stage in flow.stages) for flow in flows],
        "correct": [rounded(stage.correct for stage in flow.stages) for flow in flows],
    }
    rejected = {
        str(i): rounded(stage.rejected for stage in flow.stages)
        for i, flow in enumerate(flows)
        if not flow.is_chain
    }
    return {**counts, "rejected": rejected} if rejected else counts


def _trees(front: ParetoFront, flows: Sequence[Flow]) -> dict[str, Any]:
    """Return what leads to each stage of the designs that branch, by their number."""
    return {
        str(i): {
            "before": [stage.before - 1 for stage in flow.stages],
            "ways": [stage.marked_way(may_lack=may_lack(front)) for stage in flow.stages],
            "note": LACKING_NOTE if may_lack(front) and front[i].design.usual_stages else "",
        }
        for i, flow in enumerate(flows)
        if not flow.is_chain
    }


def _expected(front: ParetoFront) -> dict[str, Any] | None:
    """Return a list for each expected objective, then for the ends of its interval.

    None unless every design has expected figures.
    """
    expected = [point.expected for point in front if point.expected is not None]
    if len(expected) < len(front):
        return None

    def columns(end: str) -> dict[str, list[float]]:
        return {
            name: rounded((getattr(getattr(one, name), end) for one in expected), _EXPECTED_DIGITS)
            for name in _OBJECTIVES
        }

    return {**columns("value"), "low": columns("low"), "high": columns("high")}


def _chooses() -> dict[str, str]:
    """Return what each kind of limits chooses, in words."""
    return {
        "any": PointLimits().chooses,
        "coverage": PointLimits(min_coverage=0).chooses,
        "quality": PointLimits(min_accuracy=0).chooses,
        "both": PointLimits(min_accuracy=0, min_coverage=0).chooses,
    }


def _thresholds(min_confidence: MinConfidence) -> float | list[list[Any]]:
    """Return one threshold for all classes, or pairs of a label and its threshold."""
    if isinstance(min_confidence, Mapping):
        return [[str(label), float(threshold)] for label, threshold in min_confidence.items()]
    return float(min_confidence)


def _assessed(front: ParetoFront, deployed: int | None) -> dict[str, Any]:
    """Return what row-by-row assessment knows of the designs; numbers of designs as lists."""
    shortlist = front.shortlist()
    wanted = [point.shortlisted or i == deployed for i, point in enumerate(front)]
    commonest = front[0].by_class and front[0].by_class.commonest
    seen = [None] * len(front) if front.seen is None else [one.by_class for one in front.seen]
    return {
        "shortlist": shortlist if 0 < len(shortlist) < len(front) else None,
        "uninformative": [i for i, point in enumerate(front) if not point.is_informative],
        "simplified": [i for i, point in enumerate(front) if point.is_simplified],
        "commonest": repr(commonest),
        "references": {
            "scored": _marks(front.references, front.metric),
            "seen": _marks(front.seen_references, "accuracy"),
        },
        "classes": classes_of([point.by_class for point in front], seen, wanted),
    }


def _marks(references: Sequence[Reference], metric: str) -> list[dict[str, Any]]:
    """Return a dict for each reference, with the accuracy that `metric` names."""
    return [
        {
            "title": one.title,
            "kind": one.kind,
            **asdict(one.scored_by(metric)),
            "correct": one.accuracy,
            "rows": rounded(one.by_class.rows.tolist()[:MOST_LINES]),
            "counts": _numbers(one.by_class),
        }
        for one in references
    ]


def classes_of(
    scored: Sequence[ByClass | None],
    seen: Sequence[ByClass | None],
    wanted: Sequence[bool],
) -> dict[str, Any] | None:
    """Return the results by class of each design, or None if nobody has counted them.

    Parameters
    ----------
    scored, seen : sequence of ByClass or None
        One entry per design.
    wanted : sequence of bool
        The designs to keep if all of them would make a long file. Scored counts of a few classes
        are kept for all designs, because limits and costs by class need them.
    """
    known = [one for one in scored if one is not None]
    if not known or len(known) < len(scored):
        return None
    labels = known[0].labels[:MOST_LINES]
    has_counts = len(labels) <= MOST_LABELS
    per_design = len(labels) * (len(labels) if has_counts else 3)
    kinds = {"scored": scored} | ({} if None in seen else {"seen": seen})
    is_short = len(scored) * per_design * len(kinds) <= _MOST_NUMBERS
    kept = {
        kind: [True] * len(scored) if is_short or (has_counts and kind == "scored") else wanted
        for kind in kinds
    }
    return {
        "labels": [str(label) for label in labels],
        "more": len(known[0].labels) - len(labels),
        "has_counts": has_counts,
        **{kind: _columns(by_class, kept[kind]) for kind, by_class in kinds.items()},
    }


def _columns(by_class: Sequence[ByClass | None], wanted: Sequence[bool]) -> dict[str, Any]:
    """Return the rows of each class, and the counts of each design."""
    rows = by_class[0].rows.tolist()[:MOST_LINES] if by_class[0] is not None else []
    counts = [
        _numbers(one) if keep and one is not None else None
        for one, keep in zip(by_class, wanted, strict=True)
    ]
    return {"rows": rounded(rows), "counts": counts}


def _numbers(by_class: ByClass) -> list[float]:
    """Return the rows of each class that got each label, one class after the other.

    If there are many classes, return the correct rows, the labelled rows and the given labels of
    each instead.
    """
    if len(by_class.labels) <= MOST_LABELS:
        return rounded(count for line in by_class.counts for count in line[:-1])
    columns = (by_class.correct, by_class.answered, by_class.given)
    return rounded(np.concatenate([column[:MOST_LINES] for column in columns]).tolist())


def _error_costs(front: ParetoFront, costs: ErrorCosts) -> dict[str, Any]:
    """Return the numbers at which the sliders begin, and factors if costs differ by class.

    The sliders then begin at the mean over the rows of all designs. The factors of a design say
    how much more its own wrong and rejected rows cost, and what its correct ones do, as shares of
    the sliders. Errors whose costs differ by true class alone have a slider for each class instead.
    If the search was for these costs, the parts of each design's total are as expected there.
    """
    designs = [point.by_class for point in front]
    counted = [one for one in designs if one is not None]
    _, error, reject = costs.mean_costs(ByClass.joined(counted) if counted else None)
    has_sliders = len(counted) == len(designs) and len(costs.labels) <= MOST_LABELS
    by_class = costs.by_true_class if has_sliders and not costs.is_uniform else None

    has_factors = bool(counted) and not costs.is_uniform
    scales_errors = has_factors and by_class is None
    scales_rejections = has_factors and len(set(costs.costs[:, -1].tolist())) > 1

    def factors(decided: Sequence[ByClass | None]) -> dict[str, list[float]]:
        means = [costs.mean_costs(one, promised=True) for one in decided]
        scales = {}
        if scales_errors:
            scales["correct"] = rounded(correct / (error or 1.0) for correct, _, _ in means)
            scales["wrong"] = rounded(wrong / (error or 1.0) for _, wrong, _ in means)
        if scales_rejections:
            scales["rejected"] = rounded(rejected / (reject or 1.0) for _, _, rejected in means)
        return scales

    searched = None
    if costs == front.money:
        totals = [point.total_with(costs) for point in front]
        searched = [rounded((one.features, one.errors, one.rejections)) for one in totals]
    # A cost of 0 that nobody gave would make rejecting everyone the best.
    is_free = not reject and all(point.coverage >= 1 for point in front)
    return {
        "error": error,
        "reject": None if is_free else reject,
        "searched": searched,
        "by_class": by_class and rounded(by_class),
        "designs": factors(designs),
        "references": factors([one.by_class for one in front.references]),
        "everyone": factors([counted[0].all_rejected()]) if counted else {},
    }


def _certified(front: ParetoFront, certificate: Certificate) -> dict[str, Any]:
    """Return what a certificate says of the designs of a front; refuse one of another front."""
    for test in certificate.tests:
        is_of_front = test.number < len(front)
        if not is_of_front or front.cascade(test.number).stages.identity != test.cascade:
            raise ParameterError(
                "certificate must be for designs of this front, got one for a design "
                f"{test.number} that differs."
            )
    return {
        "designs": list(certificate.best_first),
        "promises": [promise.sentence for promise in certificate.promises],
        "delta": certificate.delta,
        "rows": certificate.rows.n_tested,
        "date": certificate.date,
    }


def front_page(front: ParetoFront, **about: Any) -> str:
    """Return the page of a front as HTML; `about` are the parameters of `front_contents`."""
    return page_of(front_contents(front, **about))


def page_of(contents: dict[str, Any]) -> str:
    """Return the page with these contents as HTML."""
    theme, library, script, style = _text("theme.js"), _library(), _script(), _text("page.css")
    specs = {name: json.loads(_text(f"{name}.json")) for name in _SPECS}
    # Escaped below, so that an HTML parser takes no name of a feature for markup.
    data = json.dumps({**contents, "specs": specs}, separators=(",", ":"), allow_nan=False)
    parts = {
        "policy": _policy(theme, library, script, style=style),
        "title": html.escape(contents["title"]).encode("ascii", "xmlcharrefreplace").decode(),
        "theme": theme,
        "style": style,
        "data": data.replace("<", "\\u003c"),
        "library": library,
        "script": script,
    }
    # One pass fills all places, so that text inside one part cannot name the place of another.
    return _PLACE.sub(lambda place: parts[place[1]], _text("page.html"))


def check_vega() -> None:
    """Raise an error that says how to install vl-convert, if it is missing."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise not_installed("vl-convert", "'emsco[explore]'") from None


@cache
def _library() -> str:
    """Return Vega as one script; vl-convert needs about two seconds to build it."""
    check_vega()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return _closed(bundle)


@cache
def _script() -> str:
    return _closed("\n".join(_text(name) for name in _SCRIPTS))


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _closed(script: str) -> str:
    """Escape a script so that it cannot close its own element; JavaScript reads it unchanged."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(*scripts: str, style: str) -> str:
    """Return the content policy: the browser may run these scripts and load nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            # Vega compiles its expressions, which needs 'unsafe-eval'.
            f"script-src {' '.join(map(_digest, scripts))} 'unsafe-eval'",
            f"style-src {_digest(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
