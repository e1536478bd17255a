"""Notebook views: HTML without scripts, escaped once, small enough to store."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.handmade import NAMES, make_cascade, make_front, make_rows

from emsco import Decisions
from emsco.plotting.notebook import Dot, boxes, fragment, note, scatter, table

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


def test_a_front_of_very_many_points_stays_small_and_says_what_it_leaves_out():
    front = make_front()
    many = replace(front, points=front.points * 3000, models=None)
    text = many._repr_html_()
    assert len(text) < 20_000
    assert "100 of 6,000 points drawn." in shown(text)
    assert "5,992 more; to_pandas() has all." in shown(text)


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
