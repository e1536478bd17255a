"""Results by class on the explorer page: all numbers, in few bytes."""

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import make_front

from emsco.app.explorer.contents import classes_of, front_contents
from emsco.stats.by_class import ByClass


def by_class(n_classes, seed=0, weights=None):
    """Random labels and rejections of 500 rows."""
    rng = np.random.default_rng(seed)
    truth, given = rng.integers(0, n_classes, 500), rng.integers(0, n_classes + 1, 500)
    return ByClass.from_labels(range(n_classes), truth, given, weights)


def test_up_to_6_classes_have_the_rows_that_got_each_label():
    designs = [by_class(6, seed) for seed in range(3)]
    found = classes_of(designs, [None] * 3, [True] * 3)
    assert (found["has_counts"], found["more"], found["labels"]) == (True, 0, list("012345"))
    for counts, one in zip(found["scored"]["counts"], designs, strict=True):
        assert np.reshape(counts, (6, 6)).tolist() == [list(line[:-1]) for line in one.counts]
    assert found["scored"]["rows"] == designs[0].rows.tolist()
    assert "seen" not in found


def test_more_classes_have_what_their_shares_need_and_20_lines():
    one = by_class(30)
    found = classes_of([one], [one], [True])
    assert (found["has_counts"], found["more"], len(found["labels"])) == (False, 10, 20)
    correct, answered, given = np.reshape(found["seen"]["counts"][0], (3, 20))
    assert correct.tolist() == one.correct[:20].tolist()
    assert answered.tolist() == one.answered[:20].tolist()
    assert given.tolist() == one.given[:20].tolist()


def test_a_long_page_keeps_the_classes_of_wanted_designs_only():
    one, wanted = by_class(20), [i % 10 == 0 for i in range(4000)]
    counts = classes_of([one] * 4000, [None] * 4000, wanted)["scored"]["counts"]
    assert [found is not None for found in counts] == wanted
    short = classes_of([one] * 50, [None] * 50, wanted[:50])["scored"]["counts"]
    assert None not in short


@pytest.mark.parametrize("n", [0, 2])
def test_designs_that_nobody_counted_have_no_classes(n):
    assert classes_of([None] * n, [None] * n, [True] * n) is None


def test_weights_are_rounded():
    found = classes_of([by_class(2, weights=np.full(500, 1 / 3))], [None], [True])
    assert max(len(str(count)) for count in found["scored"]["counts"][0]) <= 11


def test_the_page_has_delays_after_each_stage():
    front = make_front()
    slow = replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))
    assert front_contents(slow, title="it", deploy="{number}")["waits"] == [[0, 2, 9], [7, 7]]
    assert front_contents(front, title="it", deploy="{number}")["waits"] is None
