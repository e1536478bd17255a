"""Delays of rows: what a cascade, a case, a batch and an evaluation say about waiting."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import make_cascade

from emsco import Cascade
from emsco._base.documents import Fields
from emsco.cascade import Evaluation

DELAYS = {"pulse": 0.5, "scan": 2, "biopsy": 7}
ROWS = np.random.default_rng(5).normal(size=(40, 4))
LABELS = np.arange(40) % 2


def with_delays(cascade, delays):
    return replace(cascade, costs=cascade.costs.with_delays(delays))


@pytest.fixture
def slow():
    return with_delays(make_cascade(), DELAYS)


def test_a_cascade_says_how_long_a_row_has_waited_after_each_stage(slow):
    assert slow.stage_delays.tolist() == [0.5, 2.5, 9.5]
    assert make_cascade().stage_delays.tolist() == [0, 0, 0]


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.sampled_from([0, 0.25, 1, 3]), min_size=4, max_size=4),
    st.integers(0, 99),
)
def test_the_mean_delay_is_that_of_a_walk_over_rows(stages, delays, seed):
    stages = np.unique(stages, return_inverse=True)[1]
    cascade = with_delays(make_cascade(stages, seed=seed, min_confidence=0.7), delays)
    waited = []
    for row in ROWS:
        case, time = cascade.open(), 0.0
        while case.needs:
            time += max(delays[cascade.costs.names.index(name)] for name in case.needs)
            case.give({name: row[cascade.costs.names.index(name)] for name in case.needs})
        waited.append(time)
        assert case.decision.delay == time
    found = cascade.evaluate(ROWS, LABELS)
    assert found.mean_delay == pytest.approx(np.mean(waited))
    assert found.worst_delay == cascade.stage_delays[-1]
    assert found.flow().mean_delay == pytest.approx(np.mean(waited))
    decided = cascade.decide(ROWS).delay
    assert any(delays) == (decided is not None)
    assert decided is None or decided.tolist() == waited


def test_decisions_have_delays_only_where_values_come_later(slow):
    def acquire(names, ids):
        return ROWS[np.ix_(ids, [slow.costs.names.index(name) for name in names])]

    ids = range(len(ROWS))
    assert slow.run(ids, acquire).delay.tolist() == slow.decide(ROWS).delay.tolist()
    assert list(slow.decide(ROWS).columns())[-2:] == ["cost", "delay"]
    plain = make_cascade()
    assert plain.run(ids, acquire).delay is None
    assert "delay" not in plain.decide(ROWS).columns()


def test_a_case_says_how_long_it_has_waited(slow):
    case = slow.open(budget=14)
    assert case.decision.delay == 0
    assert repr(case).endswith("stage 0, cost 0, delay 0)")
    assert "delay" not in repr(make_cascade().open())


def test_an_evaluation_shows_delays_in_words_and_in_files(slow):
    found = slow.evaluate(ROWS, LABELS)
    assert f"  delay     {found.mean_delay:.4g} on average, 9.5 at worst\n" in repr(found)
    assert "at cost 53.5, delay 9.5" in repr(found)
    assert found.to_dict()["mean_delay"] == found.mean_delay
    fields = Fields(json.loads(json.dumps(found.counts_to_dict())), "it")
    assert Evaluation.from_dict(fields, slow.design.buys, slow.classes) == found
    plain = make_cascade().evaluate(ROWS, LABELS)
    assert "delay" not in repr(plain) + repr(plain.to_dict()) + repr(plain.exits)
    assert (plain.mean_delay, plain.worst_delay) == (0, 0)


def test_parts_of_the_rows_join_with_their_delays(slow):
    parts = [slow.evaluate(ROWS[i::2], LABELS[i::2]) for i in range(2)]
    whole = slow.evaluate(ROWS, LABELS)
    assert Evaluation.joined(parts).mean_delay == pytest.approx(whole.mean_delay)


def test_flows_have_delays_only_where_values_come_later(slow):
    flow = slow.evaluate(ROWS, LABELS).flow()
    assert [stage["delay_so_far"] for stage in flow.to_dict()["stages"]] == [0.5, 2.5, 9.5]
    assert "delay so far" in flow._repr_html_()
    assert "delay so far 2.5" in slow._repr_html_()
    plain = make_cascade()
    flow = plain.evaluate(ROWS, LABELS).flow()
    assert "delay" not in f"{flow.to_dict()}{flow._repr_html_()}{plain._repr_html_()}"


def test_delays_are_in_the_file_of_a_cascade(slow, tmp_path):
    slow.save(tmp_path / "slow.json")
    assert Cascade.load(tmp_path / "slow.json").stage_delays.tolist() == [0.5, 2.5, 9.5]


def test_the_cheapest_labels_wait_no_longer(slow):
    careful = slow.with_error_costs({0: 9, 1: 1})
    found, before = careful.decide(ROWS), slow.decide(ROWS)
    assert found.delay.tolist() == before.delay.tolist()
    assert found.guesses.tolist() != before.guesses.tolist()
    told = repr(careful.evaluate(ROWS, LABELS, error_cost=5, reject_cost=2)).splitlines()
    assert [line.split()[0] for line in told[1:6]] == [
        "coverage",
        "accuracy",
        "cost",
        "delay",
        "total",
    ]
