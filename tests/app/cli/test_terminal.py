"""Tables and drawings in a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from support.handmade import (
    make_branching_front,
    make_cascade,
    make_rows,
)
from support.settings import PAPER_SPACE, PLAIN

from emsco import EMSCOClassifier
from emsco.app.cli.terminal import (
    cascade_drawing,
    class_drawing,
    counts_table,
    front_table,
    reference_table,
)
from emsco.app.runs.decide import DecisionCounts
from emsco.search.labels import LabelFront
from emsco.search.progress import SearchProgress

COSTS = {"age": 1, "pulse": 2, "panel": 10, "scan": 40}


def patients(n_rows, seed):
    """Rows of which one in four is ill."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_rows) < 0.25
    X = rng.normal(size=(n_rows, 4)) + ill[:, None] * np.array([0.2, 0.4, 0.8, 1.2])
    return X, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def clinic():
    classifier = EMSCOClassifier(
        list(COSTS.values()), min_confidence=0.8, search="exact", random_state=0, **PLAIN
    )
    return classifier.fit(*patients(400, 0))


@pytest.fixture(scope="module")
def tested_clinic(clinic):
    return clinic.front_.with_seen(*patients(90, 1))


def drawn_narrow(table, width=80):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def parts_of(text):
    """The lines of designs, of references, and the caption, which blank lines separate."""
    lines = [line.strip() for line in text.splitlines()]
    start = ["──" in line for line in lines].index(True) + 1
    designs, references, caption, *_ = [*"\n".join(lines[start:]).split("\n\n"), ""]
    return designs.splitlines(), references.splitlines(), caption


def numbers_of(lines):
    return sorted(int(line.lstrip(" ▶✓≈").split()[0]) for line in lines)


def test_the_shortlist_and_the_deployed_design_are_listed_and_the_caption_counts_them(clinic):
    front = clinic.front_
    other = next(i for i, point in enumerate(front) if not point.shortlisted)
    designs, _, caption = parts_of(
        drawn_narrow(front_table(front, front[other], max_rows=99, see_all="-a"))
    )
    assert numbers_of(designs) == sorted({*front.shortlist(), other})
    said = f"{len(front.shortlist())} designs that differ beyond noise, of {len(front)}"
    assert f"{said}; -a shows all." in caption


def test_tables_fit_eighty_columns_with_seen_figures_and_long_labels(tested_clinic):
    long = replace(tested_clinic.references[0].by_class, labels=("ill", "well for many years"))
    first = replace(tested_clinic.references[0], by_class=long)
    front = replace(tested_clinic, references=(first, *tested_clinic.references[1:]))
    for table in (front_table(front, front[0], max_rows=99), reference_table(front, 0)):
        wide = drawn_narrow(table, width=200).splitlines()
        assert max(len(line.rstrip()) for line in wide) <= 80
        assert "always 'well f…" in "\n".join(wide)


NAMES = ("speed [m/s]", "[/b]", ":smile:", "x3", "x4")


@pytest.fixture(scope="module")
def fitted():
    """A classifier whose feature names look like rich's markup."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=300)
    X = rng.normal(size=(300, 5)) + y[:, None] * np.array([0.4, 0.6, 0.8, 1.0, 1.2])
    costs = dict(zip(NAMES, (1, 2, 3, 4, 5), strict=True))
    frame = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
    settings = {**PAPER_SPACE, "min_confidence": 0.8, "max_stages": 3, "random_state": 0}
    return EMSCOClassifier(costs, **settings).fit(frame, y)


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
    figures = [f"{chosen.coverage:.1%}", f"{chosen.accuracy:.1%}"]
    assert line.split()[1:4] == [str(number), *figures]
    assert float(line.split()[4]) == pytest.approx(chosen.cost, rel=1e-2)
    assert line.rstrip().endswith(", ".join(chosen.design.buys[0]))


def test_names_are_shown_as_they_are_whatever_rich_would_read_into_them(fitted):
    cascade = fitted.cascade_
    counts = counted(cascade, [*range(cascade.n_stages), 2])
    text = drawn(counts_table(cascade, counts))
    assert all(name in text for name in NAMES)
    text = drawn(
        front_table(fitted.front_, fitted.point_, width=200, max_rows=99, every=True), width=200
    )
    assert all(", ".join(point.design.buys[0]) in text for point in fitted.front_)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_keeps_a_line_for_each_design(fitted, width):
    text = drawn(
        front_table(fitted.front_, fitted.point_, width=width, max_rows=99, every=True), width=width
    )
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in fitted.front_})
    assert len(lines_of(text)) == n_different


def counted(cascade, exits):
    """Counts of so many rows that leave at each stage or are rejected."""
    costs = np.append(cascade.stage_costs, cascade.stage_costs[-1])
    return DecisionCounts(
        n_rows=sum(exits),
        n_accepted=sum(exits[:-1]),
        n_rejected=exits[-1],
        n_waiting=0,
        exits=tuple(exits[:-1]),
        waiting=(0,) * cascade.n_stages,
        cost=float(np.array(exits) @ costs),
        cost_of_everything=sum(exits) * cascade.costs.total,
        exit_costs=tuple(costs),
        waiting_costs=(0.0, *cascade.stage_costs[:-1]),
        needs={},
        warnings={},
        absent=(),
    )


def test_counts_tell_who_left_where_and_what_was_saved(fitted):
    cascade = fitted.cascade_
    counts = counted(cascade, [1500, *[0] * (cascade.n_stages - 1), 500])
    text = drawn(counts_table(cascade, counts))
    assert "2,000 rows: 75.0% with a label" in text
    first, *_, rejected = lines_of(text)
    assert first.split()[:5] == ["stage", "1", "1,500", "75.0%", f"{cascade.stage_costs[0]:g}"]
    assert rejected.split() == ["rejected", "500", "25.0%", "15"]
    mean = (1500 * cascade.stage_costs[0] + 500 * 15) / 2000
    assert f"Mean cost {mean:.4g}, {1 - mean / 15:.0%} less than buying everything." in text


@pytest.fixture(scope="module")
def tested(fitted):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, size=40)
    return fitted.front_.with_seen(X, y)


def test_a_drawing_has_the_facts_of_the_flow_for_scored_and_seen_rows(tested):
    text = " ".join(re.sub("[│├└─█]", " ", drawn(cascade_drawing(tested, 2))).split())
    for rows, flow in {
        "scored": tested.flow(2),
        "seen": tested.seen[2].flow(),
    }.items():
        for stage in flow.stages:
            right = f", {stage.accuracy:.1%} correct" if stage.left else ""
            leave = (
                f"{flow.share(stage.left):.1%} of all leave: {stage.left} of {stage.reached} here"
            )
            assert f"{rows} {leave}{right}" in text
            assert f"stage {stage.number}, cost so far {stage.cost_so_far:g}" in text
        assert f"{rows} {flow.share(flow.rejected):.1%}: {flow.rejected} rows" in text
        assert f"{rows} {flow.n_rows} rows: coverage {flow.coverage:.1%}" in text


def test_a_design_that_branches_is_an_indented_tree_in_words():
    front = make_branching_front()
    lines = drawn(cascade_drawing(front, 1)).splitlines()
    assert [line.rstrip() for line in lines[1:13]] == [
        "stage 1, cost so far 1: confidence ≥ 0.9",
        "  buys age (1): cost 1",
        "  scored     0.0% of all leave: 0 of 400 here",
        "├── age ≤ 0.2: scored 51.2% of all",
        "│   stage 2, cost so far 3.5: confidence ≥ 0.85",
        "│     buys pulse (2.5): cost 2.5",
        "│     scored    20.5% of all leave: 82 of 205 here, 89.0% correct",
        "│   ├── pulse ≤ -0.5: scored 4.5% of all",
        "│   │   stage 3, cost so far 13.5: confidence ≥ 0.7",
        "│   │     buys scan (10): cost 10",
        "│   │     scored     0.2% of all leave: 1 of 18 here, 100.0% correct",
        "│   │     scored     4.2% of all rejected: 17 of 18 here",
    ]
    assert sum("stage " in line for line in lines) == 1 + front[1].n_stages
    assert not any("*" in line for line in lines)  # rows with a missing value are refused


def test_progress_is_never_cut_in_the_middle_of_a_word(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with SearchProgress(shown=True) as progress:
        progress.begin("exact", 12)
        progress.exact(LabelFront(12.0, 28_091_567_595, 834_542, 0))
    text = " ".join(capsys.readouterr().err.split())
    assert "28,091,567,595 designs settled, 834,542 kinds of chains" in text


def test_a_log_without_a_terminal_hears_of_a_search_every_half_minute(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 31.0, 40.0, 95.0, 95.0, 95.0])
    monkeypatch.setattr("emsco.search.progress.monotonic", lambda: next(clock))
    with SearchProgress(shown=True) as progress:
        progress.begin("exact", 12)
        for size in (1.0, 2.5, 3.0, 4.0):
            progress.exact(LabelFront(size, 1_000, 7, 0))
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("after")]
    heard = "1,000 designs settled, 7 kinds of chains"
    assert lines == [
        f"after 31 s: exact, chains to size 2.5 of 12, {heard}",
        f"after 95 s: exact, chains to size 4 of 12, {heard}",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_results_by_class_fit_and_show_labels_as_they_are(width):
    evaluation = make_cascade(classes=("[/b] :smile:", "well")).evaluate(
        make_rows(60), np.repeat(["well", "[/b] :smile:"], 30)
    )
    text = drawn(class_drawing(evaluation.by_class, width), width)
    assert max(map(len, text.splitlines())) <= width
    assert "[/b] :smi…" in text
    for line in evaluation.by_class.counts:
        assert any(words[-3:] == list(map(str, line)) for words in map(str.split, text.split("\n")))
    assert 'Always answering "[/b] :smi…" is correct for 50.0% of the rows' in text
