"""What a terminal shows of fronts, cascades and decisions."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from emsco import EMSCOClassifier
from emsco.runs import DecisionCounts
from emsco.terminal import counts_table, front_table

NAMES = ("speed [m/s]", "[/b]", ":smile:", "x3", "x4")


@pytest.fixture(scope="module")
def fitted():
    """A classifier whose feature names look like rich's markup."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=300)
    X = rng.normal(size=(300, 5)) + y[:, None] * np.array([0.4, 0.6, 0.8, 1.0, 1.2])
    costs = dict(zip(NAMES, (1, 2, 3, 4, 5), strict=True))
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
    return EMSCOClassifier(costs, 0.8, max_stages=3, random_state=0).fit(frame, y)


def drawn(table, width=120):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def lines_of(text):
    """The lines of a table between its heading and what follows."""
    lines = text.splitlines()
    start = ["──" in line for line in lines].index(True) + 1
    end = [not line.strip() for line in lines].index(True, start)
    return lines[start:end]


def test_a_line_tells_number_figures_and_what_is_bought_first(fitted):
    chosen = fitted.point_
    line = next(line for line in lines_of(drawn(front_table(fitted.front_, chosen))) if "▶" in line)
    number = fitted.front_.points.index(chosen)
    figures = [f"{chosen.coverage:.1%}", f"{chosen.accuracy:.1%}", f"{chosen.cost:.4g}"]
    assert line.split()[1:5] == [str(number), *figures]
    assert line.rstrip().endswith(", ".join(chosen.design.features(0)))


def test_names_are_shown_as_they_are_whatever_rich_would_read_into_them(fitted):
    cascade = fitted.cascade_
    counts = DecisionCounts.of(cascade, 9, np.arange(cascade.n_stages))
    text = drawn(counts_table(cascade, counts))
    assert all(name in text for name in NAMES)
    text = drawn(front_table(fitted.front_, fitted.point_, width=200, most=99), width=200)
    assert all(", ".join(point.design.features(0)) in text for point in fitted.front_)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_more_lines_than_asked_for_and_the_chosen_one_is_among_them(fitted, most):
    chosen = fitted.front_[3]
    text = drawn(front_table(fitted.front_, chosen, most=most))
    lines = lines_of(text)
    assert 1 <= len(lines) <= most
    assert sum("▶" in line for line in lines) == 1
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in fitted.front_})
    assert f"{n_different - len(lines)} more are not shown" in text


def test_without_the_chosen_one_lines_are_spread_over_all_that_are_within(fitted):
    chosen = fitted.front_[0]
    within = [i for i, point in enumerate(fitted.front_) if point is not chosen]
    lines = lines_of(drawn(front_table(fitted.front_, chosen, most=2, within=within)))
    costs = [fitted.front_[i].cost for i in within]
    assert [float(line.split()[3]) for line in lines] == pytest.approx(
        [min(costs), max(costs)], rel=1e-3
    )


def test_lines_go_from_cheap_to_dear(fitted):
    lines = lines_of(drawn(front_table(fitted.front_, fitted.point_, most=99)))
    costs = [float(line.replace("▶", "").split()[3]) for line in lines]
    assert len(costs) > 3
    assert costs == sorted(costs)


def test_test_figures_have_columns_of_their_own(fitted):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, size=40)
    tested = fitted.front_.with_tests(X, y)
    text = drawn(front_table(tested, fitted.point_))
    assert f"held-out figures on {fitted.point_.n_rows} rows, tests on 40" in text
    assert "test cov." in text
    line = next(line for line in lines_of(text) if "▶" in line)
    test = tested.tests[tested.points.index(fitted.point_)]
    assert line.split()[6:9] == [f"{test.coverage:.1%}", f"{test.accuracy:.1%}", f"{test.cost:.4g}"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_keeps_a_line_for_each_design(fitted, width):
    text = drawn(front_table(fitted.front_, fitted.point_, width=width, most=99), width=width)
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in fitted.front_})
    assert len(lines_of(text)) == n_different


def test_counts_tell_who_left_where_and_what_was_saved(fitted):
    cascade = fitted.cascade_
    exits = np.zeros(cascade.n_stages, dtype=np.int64)
    exits[0] = 1500
    counts = DecisionCounts.of(cascade, 2000, exits)
    text = drawn(counts_table(cascade, counts))
    assert "2,000 rows: 75.0% with a label" in text
    first, *_, rejected = lines_of(text)
    assert first.split()[:5] == ["stage", "1", "1,500", "75.0%", f"{cascade.stage_costs[0]:g}"]
    assert rejected.split() == ["rejected", "500", "25.0%", "15"]
    mean = (1500 * cascade.stage_costs[0] + 500 * 15) / 2000
    assert f"Mean cost {mean:.4g}, {1 - mean / 15:.0%} less than buying everything." in text


def test_counts_of_no_rows_are_shown_without_an_error(fitted):
    counts = DecisionCounts.of(fitted.cascade_, 0, np.zeros(fitted.cascade_.n_stages, np.int64))
    assert "0 rows: 0.0% with a label" in drawn(counts_table(fitted.cascade_, counts))
