"""Tables of designs: the shortlist, marks, and what there is without a cascade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from support.handmade import make_front_of_thresholds
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.app.cli.tables import front_table, new_table, reference_table

COSTS = {"age": 1, "pulse": 2, "panel": 10, "scan": 40}


def patients(n_rows, seed):
    """Rows of which one in four is ill."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_rows) < 0.25
    X = rng.normal(size=(n_rows, 4)) + ill[:, None] * np.array([0.2, 0.4, 0.8, 1.2])
    return X, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def fitted():
    classifier = EMSCOClassifier(
        list(COSTS.values()), min_confidence=0.8, search="exact", random_state=0, **PLAIN
    )
    return classifier.fit(*patients(400, 0))


@pytest.fixture(scope="module")
def tested(fitted):
    return fitted.front_.with_seen(*patients(90, 1))


def drawn(table, width=80):
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


def test_the_shortlist_and_the_deployed_design_are_listed_and_the_caption_counts_them(fitted):
    front = fitted.front_
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in front})
    other = next(i for i, point in enumerate(front) if not point.shortlisted)
    designs, _, caption = parts_of(drawn(front_table(front, front[other], most=99, see_all="-a")))
    assert numbers_of(designs) == sorted({*front.shortlist(), other})
    said = f"{len(front.shortlist())} designs that differ beyond noise, of {n_different}"
    assert f"{said}; -a shows all." in caption


def test_a_long_shortlist_is_thinned_and_the_caption_says_so(fitted):
    front = fitted.front_
    designs, _, caption = parts_of(drawn(front_table(front, front[front.shortlist()[0]], most=2)))
    assert len(designs) == 2
    assert f"2 of {len(front.shortlist())} designs that differ beyond noise, of " in caption


def test_all_designs_are_listed_on_request_without_a_word_on_noise(fitted):
    front = fitted.front_
    text = drawn(front_table(front, front[0], most=len(front), every=True))
    assert len(parts_of(text)[0]) == len({(p.coverage, p.accuracy, p.cost) for p in front})
    assert "noise" not in text


def test_where_limits_leave_no_design_of_the_shortlist_all_within_are_listed(fitted):
    front = fitted.front_
    within = [i for i, point in enumerate(front) if not point.shortlisted][:3]
    designs, _, caption = parts_of(drawn(front_table(front, front[0], within=within)))
    assert numbers_of(designs) == within
    assert "noise" not in caption


def test_what_there_is_without_a_cascade_follows_in_the_same_columns(tested):
    text = drawn(front_table(tested, tested[0]))
    _, references, caption = parts_of(text)
    titles = ("always 'well'", "everything", "all answered")
    for line, title, one, seen in zip(
        references, titles, tested.references, tested.seen_references, strict=True
    ):
        assert line.startswith(title)
        shares = [f"{share:.1%}" for share in (one.coverage, one.accuracy)]
        on_tests = [f"{share:.1%}" for share in (seen.coverage, seen.accuracy)]
        words = line.removeprefix(title).split()
        assert (words[:2], words[3:5]) == (shares, on_tests)
        assert (float(words[2]), float(words[5])) == (one.cost, seen.cost)
    assert "Last lines: what you get without a cascade." in caption


def test_references_show_the_balanced_accuracy_beside_designs_scored_by_it(fitted):
    points = tuple(replace(point, metric="balanced_accuracy") for point in fitted.front_)
    front = replace(fitted.front_, points=points)
    first = parts_of(drawn(front_table(front, front[0])))[1][0]
    assert first.split()[2:4] == ["100.0%", "50.0%"]


def test_a_design_no_better_than_the_commonest_class_is_marked_and_the_mark_explained(fitted):
    front = fitted.front_
    dull = next(i for i, point in enumerate(front) if not point.is_informative)
    designs, _, caption = parts_of(drawn(front_table(front, front[dull], most=99)))
    marked = [line for line in designs if "≈" in line]
    assert numbers_of(marked) == [i for i in numbers_of(designs) if not front[i].is_informative]
    assert f"▶≈ {dull:>3} " in "\n".join(designs)
    assert "≈ no better than always answering 'well', or only by chance." in caption
    good = next(i for i, point in enumerate(front) if point.is_informative)
    assert "≈" not in drawn(front_table(front, front[good], within=[good]))


def test_tables_fit_eighty_columns_with_seen_figures_and_long_labels(tested):
    long = replace(tested.references[0].by_class, labels=("ill", "well for many years"))
    first = replace(tested.references[0], by_class=long)
    front = replace(tested, references=(first, *tested.references[1:]))
    for table in (front_table(front, front[0], most=99), reference_table(front, 0)):
        wide = drawn(table, width=200).splitlines()
        assert max(len(line.rstrip()) for line in wide) <= 80
        assert "always 'well f…" in "\n".join(wide)


def test_a_front_built_by_hand_has_no_reference_lines(fitted):
    front = replace(fitted.front_, references=())
    text = drawn(front_table(front, front[0]))
    assert "everything" not in text
    assert "without a cascade" not in text


def test_a_design_stands_above_what_there_is_without_a_cascade(tested):
    lines = drawn(reference_table(tested, 1)).splitlines()
    point, seen = tested[1], tested.seen[1]
    own = next(line.split() for line in lines if "design 1" in line)
    assert own[2:4] == [f"{point.coverage:.1%}", f"{point.accuracy:.1%}"]
    assert own[5:7] == [f"{seen.coverage:.1%}", f"{seen.accuracy:.1%}"]
    assert [line.split()[0] for line in lines if "%" in line] == [
        "design",
        "always",
        "everything",
        "all",
    ]


def test_new_rows_have_a_table_of_their_own(tested):
    lines = drawn(new_table(7, tested.seen[0], tested.seen_references)).splitlines()
    assert sum("%" in line for line in lines) == 4
    assert any(line.strip().startswith("design 7") for line in lines)


def test_a_line_has_the_threshold_of_the_first_stage_if_stages_differ():
    front = make_front_of_thresholds()
    assert "age, pulse at 0.9" in drawn(front_table(front, front[0], 100), 100)
    assert "at 0.9" not in drawn(front_table(front, front[0], 64), 64)
