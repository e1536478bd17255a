"""Notebook views: HTML without scripts, escaped once, small enough to store."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from support.handmade import NAMES, make_cascade, make_front, make_protocol, make_rows
from support.settings import PLAIN

from emsco import Decisions, EMSCOClassifier
from emsco._base.text import listed
from emsco.plotting.notebook import Dot, below_boxes, boxes, fragment, note, scatter, table

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b", "</style><b>")


class Tags(HTMLParser):
    """Tags that a browser would see, and attributes that would load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.running: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.running += [name for name, _ in attrs if name.startswith("on") or name == "src"]


def shown(text: str) -> str:
    """Text that a reader of the HTML sees, without its style."""
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL))


def reprs(names=NAMES, classes=(0, 1)):
    front, cascade = make_front(classes, names), make_cascade(names=names, classes=classes)
    X = make_rows(60)
    y = np.asarray(classes)[np.arange(60) % 2]
    decisions = replace(cascade.decide(X), ids=np.array([names[0]] * 60))
    many = (front, front.with_seen(X, y), cascade, decisions, cascade.evaluate(X, y))
    return [*(one._repr_html_() for one in many), front.flow(0)._repr_html_()]


@pytest.fixture(scope="module")
def fitted(small_problem):
    return EMSCOClassifier(min_confidence=0.8, max_stages=2, random_state=0, **PLAIN).fit(
        *small_problem
    )


def test_names_are_text_and_never_markup():
    for text in reprs(HOSTILE, classes=HOSTILE[:2]):
        tags = Tags(text)
        assert {"script", "img", "b"}.isdisjoint(tags.names)
        assert tags.running == []
        assert tags.names.count("style") == 1
        assert any(name in shown(text) for name in HOSTILE)


def test_reprs_are_small_whole_and_need_nothing_from_elsewhere():
    for text in reprs():
        ElementTree.fromstring(text)  # every tag is closed
        assert len(text) < 20_000
        assert "http" not in text
        assert "<script" not in text


@given(st.text(st.characters(exclude_categories=["C"])))
def test_every_piece_shows_its_text_as_it_is(text):
    pieces = [table([text], [[text]]), note(text), boxes([(text, [text])]), fragment(text)]
    pieces.append(scatter([Dot(0, 0, 0, text)], text, text, text))
    for piece in pieces:
        whole = "".join(ElementTree.fromstring(piece).itertext())
        assert text in whole


def test_a_front_shows_its_first_points_and_draws_them_all():
    front = make_front()
    text = front._repr_html_()
    assert text.count("<circle") == len(front)
    assert "Front of 2 designs: scored on 100 rows; proven" in shown(text)
    for point in front:
        assert f"{point.coverage:.1%}" in shown(text)
        assert ", ".join(point.design.features(0)) in shown(text)


def test_a_front_of_very_many_points_stays_small_and_says_what_it_leaves_out():
    front = make_front()
    many = replace(front, points=front.points * 3000, models=None)
    text = many._repr_html_()
    assert len(text) < 20_000
    assert "100 of 6,000 points drawn." in shown(text)
    assert "5,992 more; to_pandas() has all." in shown(text)


def test_seen_figures_have_columns_of_their_own():
    text = shown(reprs()[1])
    assert "scored on 100 rows, seen on 60" in text
    assert "seen accuracy" in text


def test_a_cascade_shows_what_each_stage_buys_and_costs_and_when_rows_leave():
    text = shown(make_cascade((0, 0, 1, -1))._repr_html_())
    assert "a row leaves once confidence is at least 0.8" in text
    assert "buys age (1), pulse (2.5)" in text
    assert "cost 10, so far 13.5" in text
    assert "never bought: biopsy" in text


def test_decisions_are_counted_by_exit_and_the_first_are_listed():
    decisions = Decisions(
        guesses=np.array(["ill"] * 7),
        accepted=np.arange(7) != 1,
        confidence=np.full(7, 0.91234),
        stage=np.array([1, 2, 2, 1, 1, 1, 1]),
        cost=np.full(7, 3.0),
    )
    text = shown(decisions._repr_html_())
    assert re.search(r"stage 1\s+5\s+71.4%\s+stage 2\s+1\s+14.3%\s+rejected\s+1", text)
    assert re.search(r"ill\s+True\s+0.9123\s+1\s+3\s+False", text)  # a rejected row has no label
    assert "2 more; to_pandas() has all." in text


def test_no_decisions_are_shown_without_an_error():
    text = make_cascade().decide(np.empty((0, 4)))._repr_html_()
    assert "Decisions on 0 rows: mean cost 0" in shown(text)


def test_an_evaluation_and_a_flow_show_the_same_rows():
    cascade, X = make_cascade(), make_rows(60)
    report = cascade.evaluate(X, np.arange(60) % 2)
    *_, evaluation, _ = reprs()
    for exit_ in report.exits:
        place = "rejected" if exit_.stage is None else f"stage {exit_.stage}"
        assert re.search(rf"{place}\s.*?{exit_.cost:g}\s+\d+\s+{exit_.n_rows}\s", shown(evaluation))


def test_names_that_find_no_room_are_counted():
    assert listed(["age"], max_names=1) == "age"
    assert listed(["age", *"bcd"], max_names=1) == "age and 3 more"


def test_text_is_what_it_was_and_all_there_is_where_diagrams_are_off(fitted):
    assert repr(fitted).startswith("EMSCOClassifier(")
    with config_context(display="text"):
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]


def test_a_cascade_that_branches_shows_the_boxes_of_each_part_below_its_question():
    html = make_protocol()._repr_html_()
    text = " ".join(shown(html).split())
    assert "age ≤ 0.2 stage 2 buys pulse (2.5) cost 2.5, so far 3.5 confidence ≥ 0.85" in text
    assert "else likeliest class is 1 stage 4 buys nothing cost 0, so far 3.5 answers all" in text
    assert "age > 0.2 stage 7 buys scan (10) cost 10, so far 11" in text
    assert text.count("rejected rows still undecided") == 2  # two leaves answer everyone
    assert html.count('class="emsco-way"') == 5
    assert "missing" not in text


def test_words_of_ways_are_escaped():
    assert HOSTILE[0] not in below_boxes([(HOSTILE[0], boxes([]))])


def test_a_cascade_that_branches_has_its_parts_in_braces():
    assert repr(make_protocol(n_models=3)) == (
        "Cascade(age [1] at 0.9 → {age ≤ 0.2: pulse [3.5] at 0.85 → {pulse ≤ -0.5: scan [13.5] at "
        "0.7 | else likeliest class is 1: nothing more [3.5] for all | none of these: biopsy "
        "[43.5] at 0.97 → scan [53.5] at 0.9} | age > 0.2: scan [11] at 0.75 → pulse [13.5] for "
        "all}; average of 3 models per stage)"
    )
