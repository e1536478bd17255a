"""Delays on a front: figures, tables and limits."""

import json
from dataclasses import replace

from rich.console import Console
from support.handmade import make_assessed_front, make_front, make_rows

from emsco import ParetoFront
from emsco.cli.listing import front_table
from emsco.cli.terminal import cascade_drawing

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
