"""Delays on a front: figures, tables and limits."""

import json
import math
from dataclasses import replace

import pytest
from rich.console import Console
from support.handmade import make_assessed_front, make_front, make_rows

from emsco import NoSuchDesign, ParetoFront
from emsco.app.cli.listing import front_table
from emsco.app.cli.terminal import cascade_drawing
from emsco.errors import ParameterError

DELAYS = {"scan": 2, "biopsy": 7}  # after 0, 2 and 9; and after 7 and 7


def slow(front):
    return replace(front, costs=front.costs.with_delays(DELAYS))


def in_text(drawing, width=100):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(drawing)
    return captured.get()


def test_points_know_how_long_rows_wait():
    front = slow(make_front())
    assert [point.stage_delays for point in front] == [(0, 2, 9), (7, 7)]
    assert [point.mean_delay for point in front] == [(30 * 2 + 20 * 9 + 10 * 9) / 100, 7]
    assert [point.worst_delay for point in front] == [9, 7]
    plain = make_front()
    assert [(point.mean_delay, point.worst_delay) for point in plain] == [(0, 0), (0, 0)]


def test_points_stay_the_same_ones_where_nothing_changes():
    front = slow(make_front())
    assert replace(front, proven=False)[0] is front[0]
    assert replace(front, costs=front.costs.with_delays({"scan": 3}))[0].mean_delay == 3.9


def test_a_front_from_a_file_knows_delays(tmp_path):
    front = slow(make_assessed_front()).with_seen(make_rows(40), [0, 1] * 20)
    front.save(tmp_path / "front.json")
    found = ParetoFront.load(tmp_path / "front.json")
    assert found.points == front.points
    assert found.seen == front.seen
    assert found.seen[0].mean_delay == front.seen[0].mean_delay > 0


def test_tables_have_delays_only_where_values_come_later():
    front = slow(make_assessed_front()).with_seen(make_rows(40), [0, 1] * 20)
    frame = front.to_pandas()
    assert frame["mean delay"].tolist() == [3.3, 7]
    assert frame["worst delay"].tolist() == [9, 7]
    assert frame["seen mean delay"].tolist() == [one.mean_delay for one in front.seen]
    assert "      cost      delay  design" in repr(front)
    assert "mean delay" in front._repr_html_()
    text = in_text(front_table(front, front[1]))
    assert "delay: the mean time that a row waits" in text
    assert front.to_dicts()[0]["mean_delay"] == 3.3
    plain = make_assessed_front().with_seen(make_rows(40), [0, 1] * 20)
    found = in_text(front_table(plain, plain[1])) + in_text(cascade_drawing(plain, 0))
    found += repr(plain) + plain._repr_html_() + json.dumps(plain.to_dicts())
    assert "delay" not in found + "".join(plain.to_pandas().columns)


def test_the_drawing_of_a_cascade_has_delays():
    text = in_text(cascade_drawing(slow(make_front()), 0))
    assert "stage 2, cost so far 13.5, delay so far 2" in text
    assert "rejected, cost 53.5, delay 9" in text
    assert "cost 21.5, delay 3.3" in text


def test_limits_on_delays_choose_among_points():
    front = slow(make_front())
    assert front.within(max_mean_delay=3.3) == [0]
    assert front.within(max_worst_delay=8) == [1]
    assert front.select(max_worst_delay=8, min_coverage=0.5) is front[1]
    assert front.prefer({"max_mean_delay": 5, "rule": "knee"}) is front[0]
    words = (
        r"None of the 2 designs has cost at most 9 \(the cheapest: 21\.5\) and mean delay at most "
        r"4 \(the shortest: 3\.3\) and worst delay at most 8 \(the shortest: 7\)\. The nearest is"
    )
    with pytest.raises(NoSuchDesign, match=words):
        front.select(max_cost=9, max_mean_delay=4, max_worst_delay=8)


def test_the_lowest_total_is_within_limits_on_delays():
    front, costs = slow(make_front()), {"error_cost": 5000, "reject_cost": 10}
    best = front.select(**costs)
    limit = max(point.mean_delay for point in front if point is not best)
    other = front.select(**costs, max_mean_delay=min(limit, best.mean_delay - 0.1))
    assert best is front[1]
    assert other is front[0]
    table = in_text(front_table(front, best, 80, best=best, costs=front.error_costs(**costs)))
    heading = next(line for line in table.splitlines() if "coverage" in line).split()
    assert heading[heading.index("cost") :][:3] == ["cost", "delay", "total"]
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize("limit", [-1, math.nan, "soon", True])
def test_limits_on_delays_are_times(limit):
    words = r"max_mean_delay must be a number in \[0, inf\], got"
    with pytest.raises(ParameterError, match=words):
        slow(make_front()).within(max_mean_delay=limit)


def test_limits_on_delays_need_delays():
    words = r"max_worst_delay must be left out where no feature has a delay, got 1\."
    with pytest.raises(ParameterError, match=words):
        make_front().select(max_worst_delay=1)
