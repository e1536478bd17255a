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
    make_front,
    make_front_of_thresholds,
    make_rows,
)
from support.settings import PAPER_SPACE, PLAIN

from emsco import Design, EMSCOClassifier
from emsco.app.cli.terminal import (
    cascade_drawing,
    class_drawing,
    counts_table,
    front_table,
    new_table,
    reference_table,
)
from emsco.app.runs.decide import DecisionCounts
from emsco.search.exact.proof import ExactProgress
from emsco.search.progress import SearchProgress
from emsco.stats.by_class import ByClass

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


def test_a_long_shortlist_is_thinned_and_the_caption_says_so(clinic):
    front = clinic.front_
    designs, _, caption = parts_of(
        drawn_narrow(front_table(front, front[front.shortlist()[0]], max_rows=2))
    )
    assert len(designs) == 2
    assert f"2 of {len(front.shortlist())} designs that differ beyond noise, of " in caption


def test_all_designs_are_listed_on_request_without_a_word_on_noise(clinic):
    front = clinic.front_
    text = drawn_narrow(front_table(front, front[0], max_rows=len(front), every=True))
    assert len(parts_of(text)[0]) == len({(p.coverage, p.accuracy, p.cost) for p in front})
    assert "noise" not in text


def test_where_limits_leave_no_design_of_the_shortlist_all_within_are_listed(clinic):
    front = clinic.front_
    within = [i for i, point in enumerate(front) if not point.shortlisted][:3]
    designs, _, caption = parts_of(drawn_narrow(front_table(front, front[0], within=within)))
    assert numbers_of(designs) == within
    assert "noise" not in caption


def test_what_there_is_without_a_cascade_follows_in_the_same_columns(tested_clinic):
    text = drawn_narrow(front_table(tested_clinic, tested_clinic[0]))
    _, references, caption = parts_of(text)
    titles = ("always 'well'", "everything", "all answered")
    for line, title, one, seen in zip(
        references, titles, tested_clinic.references, tested_clinic.seen_references, strict=True
    ):
        assert line.startswith(title)
        shares = [f"{share:.1%}" for share in (one.coverage, one.accuracy)]
        on_tests = [f"{share:.1%}" for share in (seen.coverage, seen.accuracy)]
        words = line.removeprefix(title).split()
        assert (words[:2], words[3:5]) == (shares, on_tests)
        assert (float(words[2]), float(words[5])) == (one.cost, seen.cost)
    assert "Last lines: what you get without a cascade." in caption


def test_references_show_the_balanced_accuracy_beside_designs_scored_by_it(clinic):
    points = tuple(replace(point, metric="balanced_accuracy") for point in clinic.front_)
    front = replace(clinic.front_, points=points)
    first = parts_of(drawn_narrow(front_table(front, front[0])))[1][0]
    assert first.split()[2:4] == ["100.0%", "50.0%"]


def test_a_design_no_better_than_the_commonest_class_is_marked_and_the_mark_explained(clinic):
    front = clinic.front_
    dull = next(i for i, point in enumerate(front) if not point.is_informative)
    designs, _, caption = parts_of(drawn_narrow(front_table(front, front[dull], max_rows=99)))
    marked = [line for line in designs if "≈" in line]
    assert numbers_of(marked) == [i for i in numbers_of(designs) if not front[i].is_informative]
    assert f"▶≈ {dull:>3} " in "\n".join(designs)
    assert "≈ no better than always answering 'well', or only by chance." in caption
    good = next(i for i, point in enumerate(front) if point.is_informative)
    assert "≈" not in drawn_narrow(front_table(front, front[good], within=[good]))


def test_tables_fit_eighty_columns_with_seen_figures_and_long_labels(tested_clinic):
    long = replace(tested_clinic.references[0].by_class, labels=("ill", "well for many years"))
    first = replace(tested_clinic.references[0], by_class=long)
    front = replace(tested_clinic, references=(first, *tested_clinic.references[1:]))
    for table in (front_table(front, front[0], max_rows=99), reference_table(front, 0)):
        wide = drawn_narrow(table, width=200).splitlines()
        assert max(len(line.rstrip()) for line in wide) <= 80
        assert "always 'well f…" in "\n".join(wide)


def test_a_front_built_by_hand_has_no_reference_lines(clinic):
    front = replace(clinic.front_, references=())
    text = drawn_narrow(front_table(front, front[0]))
    assert "everything" not in text
    assert "without a cascade" not in text


def test_a_design_stands_above_what_there_is_without_a_cascade(tested_clinic):
    lines = drawn_narrow(reference_table(tested_clinic, 1)).splitlines()
    point, seen = tested_clinic[1], tested_clinic.seen[1]
    cells = next(line.split() for line in lines if "design 1" in line)
    assert cells[2:4] == [f"{point.coverage:.1%}", f"{point.accuracy:.1%}"]
    assert cells[5:7] == [f"{seen.coverage:.1%}", f"{seen.accuracy:.1%}"]
    assert [line.split()[0] for line in lines if "%" in line] == [
        "design",
        "always",
        "everything",
        "all",
    ]


def test_new_rows_have_a_table_of_their_own(tested_clinic):
    lines = drawn_narrow(
        new_table(7, tested_clinic.seen[0], tested_clinic.seen_references)
    ).splitlines()
    assert sum("%" in line for line in lines) == 4
    assert any(line.strip().startswith("design 7") for line in lines)


def test_a_line_has_the_threshold_of_the_first_stage_if_stages_differ():
    front = make_front_of_thresholds()
    assert "age, pulse at 0.9" in drawn_narrow(front_table(front, front[0], 100), 100)
    assert "at 0.9" not in drawn_narrow(front_table(front, front[0], 64), 64)


MARKS = str.maketrans("", "", "▶✓≈")
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
    assert line.rstrip().endswith(", ".join(chosen.design.features(0)))


def test_names_are_shown_as_they_are_whatever_rich_would_read_into_them(fitted):
    cascade = fitted.cascade_
    counts = counted(cascade, [*range(cascade.n_stages), 2])
    text = drawn(counts_table(cascade, counts))
    assert all(name in text for name in NAMES)
    text = drawn(
        front_table(fitted.front_, fitted.point_, width=200, max_rows=99, every=True), width=200
    )
    assert all(", ".join(point.design.features(0)) in text for point in fitted.front_)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_more_lines_than_asked_for_and_the_chosen_one_is_among_them(fitted, most):
    chosen = fitted.front_[3]
    text = drawn(front_table(fitted.front_, chosen, max_rows=most, every=True))
    lines = lines_of(text)
    assert len(lines) == most
    assert sum("▶" in line for line in lines) == 1
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in fitted.front_})
    assert f"{most} of {n_different} are shown, evenly from cheap to expensive." in text
    text = drawn(front_table(fitted.front_, chosen, max_rows=most, see_all="--all", every=True))
    assert (
        f"{most} of {n_different} are shown, evenly from cheap to expensive; --all shows all."
        in (" ".join(text.split()))
    )
    spare = n_different - most
    all_of_them = front_table(fitted.front_, chosen, max_rows=most, spare=spare, every=True)
    assert "are shown" not in drawn(all_of_them)


def test_what_limits_would_choose_is_marked_and_marks_are_explained(fitted):
    front = fitted.front_
    chosen, best = front[0], front[3]
    text = drawn(front_table(front, chosen, max_rows=4, best=best, every=True))
    marked = {
        line.split()[0]: line.split()[1] for line in lines_of(text) if "▶" in line or "✓" in line
    }
    assert marked == {"▶": "0", "✓": "3"}
    text = " ".join(text.split())
    assert "▶ deployed; ties share a line." in text
    assert "✓ is what emsco choose takes within these limits." in text
    both = next(
        line for line in lines_of(drawn(front_table(front, chosen, best=chosen))) if "✓" in line
    )
    assert both.split()[:2] == ["▶✓", "0"]
    paper = drawn(front_table(replace(front, by_fitness=True), chosen))
    assert "0 is the fittest" in paper
    assert "✓" not in paper


@pytest.mark.parametrize("n_shown", [2, 7, 20])
def test_as_many_lines_as_asked_for_are_shown_of_any_number(n_shown):
    front = make_front()
    for n_points in range(n_shown + 1, n_shown + 9):
        points = tuple(replace(front[0], cost=float(i + 1)) for i in range(n_points))
        many = replace(front, points=points, models=None)
        for chosen in (points[0], points[n_points // 2]):
            for best in (None, chosen, points[1]):
                table = front_table(many, chosen, max_rows=n_shown, best=best)
                assert len(lines_of(drawn(table))) == n_shown


def test_costs_of_a_column_have_as_many_decimals(fitted):
    lines = lines_of(drawn(front_table(fitted.front_, fitted.point_, max_rows=99, every=True)))
    costs = [line.translate(MARKS).split()[3] for line in lines]
    assert len({len(cost.partition(".")[2]) for cost in costs}) == 1


def test_without_the_chosen_one_lines_are_spread_over_all_that_are_within(fitted):
    chosen = fitted.front_[0]
    within = [i for i, point in enumerate(fitted.front_) if point is not chosen]
    lines = lines_of(
        drawn(front_table(fitted.front_, chosen, max_rows=2, within=within, every=True))
    )
    costs = [fitted.front_[i].cost for i in within]
    assert [float(line.split()[3]) for line in lines] == pytest.approx(
        [min(costs), max(costs)], rel=1e-3
    )


def test_lines_go_from_cheap_to_dear(fitted):
    lines = lines_of(drawn(front_table(fitted.front_, fitted.point_, max_rows=99, every=True)))
    costs = [float(line.translate(MARKS).split()[3]) for line in lines]
    assert len(costs) > 3
    assert costs == sorted(costs)


def test_test_figures_have_columns_of_their_own(fitted):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, size=40)
    tested = fitted.front_.with_seen(X, y)
    text = drawn(front_table(tested, fitted.point_))
    assert f"scored on {fitted.point_.n_rows} rows, seen on 40" in text
    assert "seen cov." in text
    line = next(line for line in lines_of(text) if "▶" in line)
    test = tested.seen[tested.points.index(fitted.point_)]
    coverage, accuracy, cost = line.split()[5:8]
    assert (coverage, accuracy) == (f"{test.coverage:.1%}", f"{test.accuracy:.1%}")
    assert float(cost) == pytest.approx(test.cost, rel=1e-2)


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


def test_counts_of_no_rows_are_shown_without_an_error(fitted):
    counts = counted(fitted.cascade_, [0] * (fitted.cascade_.n_stages + 1))
    assert "0 rows: 0.0% with a label" in drawn(counts_table(fitted.cascade_, counts))


def test_names_in_the_table_are_whole_and_those_without_room_are_counted(fitted):
    for width in range(64, 108, 4):
        text = drawn(
            front_table(fitted.front_, fitted.point_, width=width, max_rows=99, every=True),
            width=width,
        )
        for line in lines_of(text):
            number = int(line.translate(MARKS).split()[0])
            names = fitted.front_[number].design.features(0)
            if "buys first" not in text:
                continue
            tail = re.sub(r"^.*%\s+\d+\s+", "", line.translate(MARKS).rstrip())
            ends = [f" and {len(names) - k} more" for k in range(1, len(names))]
            wholes = [", ".join(names[:k]) + end for k, end in enumerate(ends, start=1)]
            n_features = f"{len(names)} feature{'s' if len(names) > 1 else ''}"
            assert tail in [", ".join(names), *wholes, n_features]


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


@pytest.mark.parametrize("width", [50, 80])
def test_a_drawing_names_every_feature_in_full_however_narrow(tested, width):
    for i, point in enumerate(tested):
        lines = drawn(cascade_drawing(tested, i), width=width).splitlines()
        assert all(len(line) <= width for line in lines)
        text = " ".join(re.sub("[│├└─]", " ", " ".join(lines)).split())
        for stage, bought in zip(tested.flow(i).stages, point.design.buys, strict=True):
            priced = ", ".join(f"{name} ({tested.costs.cost_of([name]):g})" for name in bought)
            assert f"buys {priced}: cost {stage.cost:g}" in text


def test_lines_of_rows_fit_eighty_columns_and_say_the_same_of_all(tested):
    wide = drawn(cascade_drawing(tested, 2), width=200)
    lines = [line for line in wide.splitlines() if " leave: " in line]
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 * tested[2].n_stages
    assert "sure" not in wide


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


def test_without_tests_a_drawing_has_scored_rows_alone(fitted):
    text = drawn(cascade_drawing(fitted.front_, 0))
    assert "scored" in text
    assert "seen" not in text
    assert "\x1b" not in text


def test_a_drawing_tells_what_is_never_bought():
    front = make_front()
    design = Design((0, 1, 2, -1), front.costs.names)
    point = replace(front[0], design=design)
    text = drawn(cascade_drawing(replace(front, points=(point,), models=None), 0))
    assert "never bought: biopsy" in text


def test_progress_is_never_cut_in_the_middle_of_a_word(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with SearchProgress(shown=True) as progress:
        progress.begin("exact", 12)
        progress.exact(ExactProgress(12.0, 12, 28_091_567_595, 834_542))
    text = " ".join(capsys.readouterr().err.split())
    assert "28,091,567,595 designs settled, 834,542 kinds of chains" in text


def test_a_log_without_a_terminal_hears_of_a_search_every_half_minute(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 31.0, 40.0, 95.0, 95.0, 95.0])
    monkeypatch.setattr("emsco.search.progress.monotonic", lambda: next(clock))
    with SearchProgress(shown=True) as progress:
        progress.begin("exact", 12)
        for size in (1.0, 2.5, 3.0, 4.0):
            progress.exact(ExactProgress(size, 12, 1_000, 7))
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("after")]
    heard = "1,000 designs settled, 7 kinds of chains"
    assert lines == [
        f"after 31 s: exact, chains to size 2.5 of 12, {heard}",
        f"after 95 s: exact, chains to size 4 of 12, {heard}",
    ]


def test_fits_before_the_first_designs_are_told_too(monkeypatch, capsys):
    monkeypatch.setattr("emsco.search.progress.QUIET", 0.0)
    with SearchProgress(shown=True) as progress:
        progress.begin("first designs", 0)
        progress.fitting(5, 10)
    assert re.search(r"after 0 s: first designs, fitting 5/10", capsys.readouterr().err)


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


def test_of_too_many_classes_to_show_the_terminal_says_where_all_are():
    counts = np.diag(np.arange(1, 31)).tolist()
    many = ByClass(tuple(range(30)), tuple((*line, 0) for line in counts))
    assert "10 more; --json has all." in drawn(class_drawing(many))


def test_a_drawing_has_the_threshold_of_each_stage():
    text = drawn(cascade_drawing(make_front_of_thresholds(), 0), 80)
    assert "Cascade of design 0: a row leaves at the first stage that is sure enough" in text
    assert "stage 1, cost so far 3.5: confidence ≥ 0.9\n" in text
    assert "stage 3, cost so far 53.5: answers all\n" in text


def test_a_drawing_has_a_threshold_of_all_stages_once():
    text = drawn(cascade_drawing(make_front_of_thresholds((0.7, 0.7, 0.7)), 0), 80)
    assert "Cascade of design 0: a row leaves once confidence is at least 0.7" in text
    assert "≥" not in text
