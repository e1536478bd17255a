"""Sliders over a front in a notebook: limits and prices choose a design, as on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emsco._base.objectives import metric_name
from emsco._base.text import in_short
from emsco.errors import NoSuchDesign, not_installed
from emsco.front.tables import front_dots
from emsco.plotting.figures import check_currency, unit_of
from emsco.plotting.notebook import fragment, note, scatter

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

_ERRORS, _REJECTIONS = 20, 4  # ends of the sliders of prices, in costs of everything
_STEPS = 200


def choice_html(front: ParetoFront, asked: Mapping[str, Any], currency: str | None = None) -> str:
    """Show the design that limits and prices choose, and the picture with it.

    Parameters
    ----------
    front : ParetoFront
    asked : mapping
        Limits and prices, by the parameter of `ParetoFront.select`. Without any, the deployed
        design is shown.
    currency : str, optional
        Unit of all costs.
    """
    number, notes, metric = front.deployed, [], metric_name(front.metric)
    title = "No design is deployed" if number is None else f"Deployed: design {number}"
    prices = {name: asked[name] for name in ("error_cost", "reject_cost") if name in asked}
    within = front.within(**{name: asked[name] for name in asked if name not in prices})
    try:
        if asked:
            number = front.position(front.select(**asked))
            title = f"{'Lowest total' if prices else 'Chosen by your limits'}: design {number}"
    except NoSuchDesign as error:
        number, title = None, "No design is within these limits"
        notes.append(str(error))
    if number is not None:
        point, unit = front[number], unit_of(check_currency(currency))
        notes.append(f"{in_short(point, metric)}{unit}")
        if point.expected is not None and point.coverage:
            one = point.expected.accuracy
            ends = f"{one.low:.1%} to {one.high:.1%}"
            notes.append(f"On new rows, expect {metric} {one.value:.1%} ({ends}).")
        if "error_cost" in prices:
            notes.append(f"Expected total of a row: {point.total(**prices)}.")
        notes.append(point.design.arrows())
    picture = scatter(front_dots(front, number, within), "cost", metric, "coverage")
    return fragment(title, picture, f"<div>{''.join(map(note, notes))}</div>")


def make_sliders(front: ParetoFront, currency: str | None = None) -> Any:
    """Return a box of ipywidgets: a slider for each limit and price, and the design they choose."""
    try:
        import ipywidgets
    except ImportError:
        raise not_installed("ipywidgets", "'emsco[notebook]'") from None
    unit = unit_of(check_currency(currency))
    highest = max(point.cost for point in front)
    total = front.costs.total or 1.0

    def slider(words: str, value: float, maximum: float, form: str) -> Any:
        return ipywidgets.FloatSlider(
            value=value,
            min=0.0,
            max=maximum,
            step=maximum / _STEPS,
            description=words,
            readout_format=form,
            style={"description_width": "initial"},
            layout=ipywidgets.Layout(width="28em"),
        )

    # At its open end, a slider sets no limit and no price.
    sliders = {
        "max_cost": slider(f"maximum cost{unit}", highest, highest, ".2f"),
        "min_accuracy": slider(f"minimum {metric_name(front.metric)}", 0.0, 1.0, ".1%"),
        "min_coverage": slider("minimum coverage", 0.0, 1.0, ".1%"),
        "error_cost": slider(f"cost of an error{unit}", 0.0, _ERRORS * total, ".2f"),
        "reject_cost": slider(f"cost of a rejection{unit}", 0.0, _REJECTIONS * total, ".2f"),
    }
    shown = ipywidgets.HTML()

    def update(_change: object = None) -> None:
        asked = {name: one.value for name, one in sliders.items() if one.value}
        if sliders["max_cost"].value == highest:
            asked.pop("max_cost", None)
        if "error_cost" not in asked:  # a rejection alone has no total
            asked.pop("reject_cost", None)
        shown.value = choice_html(front, asked, currency)

    for one in sliders.values():
        one.observe(update, names="value")
    update()
    return ipywidgets.VBox([*sliders.values(), shown])
