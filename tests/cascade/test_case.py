"""Cases: a row buys no more than it needs and can wait between stages."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import (
    NAMES,
    cascades_and_rows,
    make_cascade,
    make_rich_cascade,
    make_rows,
)

from emsco import DataError, FileError
from emsco._base.documents import document_text
from emsco.data.columns import ColumnCode

ROWS = make_rows(60)


@pytest.fixture
def cascade():
    return make_cascade()


@pytest.fixture
def case(cascade):
    return cascade.open()


def fed(case, row, n_stages=99):
    """Give a case the values of a row, for a number of stages or until it is decided."""
    while case.needs and n_stages:
        case.give({name: row[case._stages.encoding.columns.index(name)] for name in case.needs})
        n_stages -= 1
    return case


def row_that_leaves(cascade, stage, accepted=True):
    decisions = cascade.decide(ROWS)
    return ROWS[np.flatnonzero((decisions.stage == stage) & (decisions.accepted == accepted))[0]]


def state(case):
    return repr(case.decision), case.needs, dict(case.given), case.to_json()


class TestNeeds:
    def test_are_the_features_of_one_stage_after_another(self, cascade, case):
        asked = []
        while case.needs:
            asked.append(case.needs)
            fed(case, row_that_leaves(cascade, 3, accepted=False), n_stages=1)
        assert asked == [("age", "pulse"), ("scan",), ("biopsy",)]

    def test_are_none_as_soon_as_the_case_is_decided(self, cascade, case):
        fed(case, row_that_leaves(cascade, 1), n_stages=1)
        assert case.needs == ()
        assert dict(case.given).keys() == {"age", "pulse"}

    @given(cascades_and_rows())
    @settings(max_examples=60, deadline=None)
    def test_are_never_what_was_given_before(self, drawn):
        cascade, rows = drawn
        case = cascade.open()
        while case.needs:
            stage = case.decision.stage
            assert case.needs == cascade.design.buys[stage]
            assert not set(case.needs) & set(case.given)
            fed(case, rows[0], n_stages=1)


def test_the_next_cost_is_that_of_what_is_needed(cascade, case):
    told = []
    while case.needs:
        told.append((case.decision.cost, case.next_cost))
        fed(case, row_that_leaves(cascade, 3, accepted=False), n_stages=1)
    assert told == [(0, 3.5), (3.5, 10), (13.5, 40)]
    assert case.next_cost == 0


NOT_NUMBERS = ["7.5", None, 1 + 2j, [1.0], np.array([1.0]), pd.NA]
NOT_USABLE = [math.nan, math.inf, -np.float32(np.inf), 1e101, -(10**5000), Fraction(10**400, 3)]


class TestGive:
    @pytest.mark.parametrize(
        "values",
        [
            {"age": 1},
            {},
            {"Age": 1, "pulse": 2},
            {"age": 1, "scan": 5, "pulse": 2},
            [1, 2],
            None,
            pd.Series({"age": 1}),
            *[{"age": 1, "pulse": one} for one in (*NOT_NUMBERS, *NOT_USABLE)],
        ],
    )
    def test_of_what_is_not_needed_or_no_number_is_refused_and_changes_nothing(
        self, cascade, case, values
    ):
        before = state(case)
        with pytest.raises(DataError):
            case.give(values)
        assert state(case) == before
        row = row_that_leaves(cascade, 2)
        assert fed(case, row).decision == fed(cascade.open(), row).decision

    def test_of_an_earlier_feature_at_a_later_stage_is_refused_and_changes_nothing(
        self, cascade, case
    ):
        fed(case, row_that_leaves(cascade, 2), n_stages=1)
        before = state(case)
        with pytest.raises(DataError):
            case.give({"age": 1, "scan": 2})
        assert state(case) == before

    @pytest.mark.parametrize(
        "one", [1, True, np.bool_(1), np.int8(1), np.float16(1), Fraction(1), np.uint64(1)]
    )
    def test_takes_any_real_number_for_what_it_is_worth(self, cascade, one):
        plain = cascade.open().give({"age": 1.0, "pulse": 2.0})
        case = cascade.open().give({"pulse": 2, "age": one})
        assert case.decision == plain.decision
        assert dict(case.given) == {"age": 1.0, "pulse": 2.0}

    def test_takes_the_largest_number_there_may_be(self, cascade, case):
        case.give({"age": 1e100, "pulse": -1e100})
        row = np.array([[1e100, -1e100, 0, 0]])
        assert case.decision.confidence == cascade.decide(row).confidence[0]

    @pytest.mark.parametrize("stage", [1, 3])
    def test_after_the_end_is_refused_and_changes_nothing(self, cascade, case, stage):
        fed(case, row_that_leaves(cascade, stage, accepted=stage == 1))
        before = state(case)
        with pytest.raises(DataError):
            case.give({"biopsy": 1})
        with pytest.raises(DataError):
            case.reject("too late")
        assert state(case) == before

    def test_what_was_given_cannot_be_changed_from_outside(self, case):
        case.give({"age": 0, "pulse": 0})
        with pytest.raises(TypeError, match="does not support item assignment"):
            case.given["age"] = 5


class TestDecision:
    def test_before_the_first_stage_knows_nothing_and_has_cost_nothing(self, case):
        now = case.decision
        assert (now.decided, now.accepted, now.label) == (False, False, None)
        assert (now.stage, now.cost, now.reason) == (0, 0.0, "waiting for age, pulse")
        assert math.isnan(now.confidence)

    def test_between_stages_tells_how_sure_the_last_one_was(self, cascade, case):
        row = row_that_leaves(cascade, 2)
        now = fed(case, row, n_stages=1).decision
        assert (now.decided, now.accepted, now.label) == (False, False, None)
        assert (now.stage, now.cost, now.reason) == (1, 3.5, "waiting for scan")
        first = make_cascade()
        object.__setattr__(first, "min_confidence", 0.0)  # so that every row leaves at once
        assert now.confidence == first.decide(row[None]).confidence[0] < 0.8

    def test_of_an_accepted_case_has_its_label(self, cascade, case):
        row = row_that_leaves(cascade, 2)
        wanted = cascade.decide(row[None])
        now = fed(case, row).decision
        assert (now.decided, now.accepted, now.stage, now.cost) == (True, True, 2, 13.5)
        assert now.reason == "sure at stage 2"
        assert now.label == wanted.labels[0]
        assert now.confidence == wanted.confidence[0]

    def test_of_a_rejected_case_has_no_label_and_the_cost_of_everything(self, cascade, case):
        now = fed(case, row_that_leaves(cascade, 3, accepted=False)).decision
        assert (now.decided, now.accepted, now.label) == (True, False, None)
        assert (now.stage, now.cost, now.reason) == (3, 53.5, "never sure")

    @pytest.mark.parametrize(
        "classes", [[False, True], ["no", "ja"], [0.5, 2.0], np.array(["a", "b"], dtype=object)]
    )
    def test_has_a_label_of_the_plain_type_of_the_classes(self, classes):
        cascade = make_cascade(classes=classes)
        label = fed(cascade.open(), row_that_leaves(cascade, 1)).decision.label
        assert type(label) is type(np.asarray(classes).tolist()[0])
        assert label in list(classes)


class TestSameAsATable:
    @given(cascades_and_rows())
    @settings(max_examples=150, deadline=None)
    def test_a_case_ends_as_its_row_does_to_the_last_bit(self, drawn):
        cascade, rows = drawn
        wanted = cascade.decide(rows)
        for i, row in enumerate(rows):
            now = fed(cascade.open(), row).decision
            assert now.decided
            assert now.accepted == wanted.accepted[i]
            assert now.label == (wanted.guesses[i] if now.accepted else None)
            assert (now.stage, now.cost) == (wanted.stage[i], wanted.cost[i])
            assert now.confidence.hex() == float(wanted.confidence[i]).hex()

    def test_cases_of_one_cascade_do_not_disturb_each_other(self, cascade):
        wanted = cascade.decide(ROWS)
        cases = [cascade.open() for _ in ROWS]
        for _ in range(3):
            for case, row in zip(cases, ROWS, strict=True):
                fed(case, row, n_stages=1)
        assert [case.decision.stage for case in cases] == wanted.stage.tolist()
        assert [case.decision.confidence for case in cases] == wanted.confidence.tolist()


class TestBudget:
    @pytest.mark.parametrize(
        ("budget", "stage", "reason"),
        [
            (0, 0, "stage 1 would cost 3.5, past the budget of 0"),
            (3.499, 0, "stage 1 would cost 3.5, past the budget of 3.499"),
            (3.5, 1, "stage 2 would cost 13.5, past the budget of 3.5"),
            (53, 2, "stage 3 would cost 53.5, past the budget of 53"),
            (53.5, 3, "never sure"),
            (math.inf, 3, "never sure"),
            (None, 3, "never sure"),
        ],
    )
    def test_ends_a_case_before_the_stage_that_would_pass_it(self, cascade, budget, stage, reason):
        case = fed(cascade.open(budget), row_that_leaves(cascade, 3, accepted=False))
        now = case.decision
        assert (now.decided, now.accepted, now.label) == (True, False, None)
        assert (now.stage, now.reason) == (stage, reason)
        assert now.cost == (0, *cascade.stage_costs)[stage]
        assert now.cost <= (math.inf if budget is None else budget)

    def test_does_not_stop_a_case_that_is_sure_within_it(self, cascade):
        case = fed(cascade.open(3.5), row_that_leaves(cascade, 1))
        assert case.decision.accepted

    def test_of_exactly_the_sum_of_decimal_costs_is_enough(self):
        cascade = make_cascade((0, 1, 1), ("a", "b", "c"), (0.1, 0.1, 0.1), min_confidence=1.0)
        assert 0.1 + 0.1 + 0.1 > 0.3
        case = fed(cascade.open(0.3), np.zeros(3))
        assert (case.decision.stage, case.decision.cost) == (2, 0.3)

    def test_of_nothing_buys_free_features(self):
        cascade = make_cascade((0, 1), ("free", "dear"), (0, 5), min_confidence=1.0)
        assert cascade.open(0).needs == ("free",)
        assert fed(cascade.open(0), np.zeros(2)).decision.stage == 1


class TestReject:
    def test_ends_a_case_and_keeps_what_it_has_cost(self, cascade, case):
        fed(case, row_that_leaves(cascade, 3), n_stages=2)
        sure = case.decision.confidence
        now = case.reject("the scanner is down").decision
        assert (now.decided, now.accepted, now.label, now.stage) == (True, False, None, 2)
        assert (now.cost, now.confidence, now.reason) == (13.5, sure, "the scanner is down")
        assert case.needs == ()


def rewritten(text, **changes):
    """Change values in the text of a case and update its checksum."""
    body = json.loads(text)["body"] | changes
    return document_text("case", 1, body)


class TestSessions:
    @pytest.mark.parametrize("budget", [None, 13.5])
    @pytest.mark.parametrize("stop", [0, 1, 2, 3])
    def test_resumed_at_any_stage_end_the_same(self, cascade, budget, stop):
        for row in ROWS[:20]:
            wanted = fed(cascade.open(budget), row)
            text = fed(cascade.open(budget), row, n_stages=stop).to_json()
            for kept in (text, text.encode()):
                case = fed(cascade.resume(kept), row)
                assert repr(case.decision) == repr(wanted.decision)
                assert case.to_json() == wanted.to_json()

    def test_keep_what_they_waited_for_and_what_they_knew(self, cascade, case):
        fed(case, row_that_leaves(cascade, 2), n_stages=1)
        again = cascade.resume(case.to_json())
        assert state(again) == state(case)

    def test_of_a_rejected_case_keep_the_reason(self, cascade, case):
        fed(case, row_that_leaves(cascade, 3), n_stages=1)
        again = cascade.resume(case.reject("moved to Zürich \ud800").to_json())
        assert again.decision == case.decision
        assert again.needs == ()

    def test_go_on_with_a_cascade_that_was_saved_and_loaded(self, cascade, tmp_path):
        cascade.save(tmp_path / "triage.json")
        loaded = type(cascade).load(tmp_path / "triage.json")
        row = row_that_leaves(cascade, 3)
        text = fed(cascade.open(), row, n_stages=1).to_json()
        assert fed(loaded.resume(text), row).decision == fed(cascade.open(), row).decision

    @pytest.mark.parametrize(
        "other",
        [
            {"seed": 1},
            {"min_confidence": 0.81},
            {"costs": (1, 2.5, 10, 41)},
            {"classes": ("0", "1")},
            {"names": ("age", "pulse", "scan", "Biopsy")},
            {"stages": (0, 0, 1, 1)},
        ],
        ids=lambda other: next(iter(other)),
    )
    def test_of_another_cascade_are_refused(self, case, other):
        with pytest.raises(FileError):
            make_cascade(**other).resume(case.to_json())

    def test_whose_text_was_changed_are_refused(self, cascade, case):
        fed(case, row_that_leaves(cascade, 2), n_stages=1)
        age = case.given["age"]
        text = case.to_json().replace(f'"age":{age!r}', f'"age":{age + 1!r}')
        assert text != case.to_json()
        with pytest.raises(FileError):
            cascade.resume(text)

    def test_cut_anywhere_are_refused(self, cascade, case):
        text = fed(case, row_that_leaves(cascade, 2), n_stages=1).to_json()
        for n in range(0, len(text.rstrip()), 3):
            with pytest.raises(FileError):
                cascade.resume(text[:n])

    @pytest.mark.parametrize(
        "changes",
        [
            {"budget": -1},
            {"budget": "5"},
            {"given": {"age": 1}},
            {"given": {"scan": 1}},
            {"given": {"x": 1, "age": 1, "pulse": 1}},
            {"given": {"age": "1", "pulse": 1}},
            {"given": {"age": None, "pulse": 1}},
            {"given": {"age": 1e101, "pulse": 1}},
            {"given": {"age": 10**400, "pulse": 1}},
            {"given": []},
            {"rejected": ""},
            {"rejected": 5},
            {"cascade": None},
        ],
    )
    def test_with_values_that_no_case_has_are_refused(self, changes):
        cascade = make_cascade(min_confidence=1.0)
        text = rewritten(cascade.open().to_json(), **changes)
        with pytest.raises(FileError):
            cascade.resume(text)

    @given(
        st.dictionaries(
            st.sampled_from(["cascade", "budget", "given", "rejected", "more"]),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from([*NAMES, "x"]), inner, max_size=4)
                ),
                max_leaves=8,
            ),
            min_size=1,
        )
    )
    @settings(max_examples=150, deadline=None)
    def test_of_any_values_are_resumed_or_refused(self, changes):
        cascade = make_cascade()
        text = rewritten(cascade.open().to_json(), **changes)
        try:
            case = cascade.resume(text)
        except FileError:
            return
        assert fed(case, ROWS[0]).decision.decided


def test_decimals_of_a_database_are_numbers():
    cascade = make_cascade()
    exact = cascade.open().give({"age": Decimal("1.5"), "pulse": Decimal("-0.25")})
    assert exact.decision == cascade.open().give({"age": 1.5, "pulse": -0.25}).decision


def test_the_ends_of_a_range_are_known_in_any_precision():
    code = ColumnCode("age", range=(float(np.float32(0.1)), float(np.float32(0.7))))
    assert code.warning(0.1) is None
    assert code.warning(0.7) is None
    assert code.warning(0.70001) == "age is 0.70001; in training it was 0.1 to 0.7."


def test_values_unlike_the_training_rows_are_taken_with_a_warning():
    cascade = make_rich_cascade()
    ranges = np.zeros(cascade.encoding.n_inputs), np.full(cascade.encoding.n_inputs, 90.0)
    known = replace(cascade, encoding=cascade.encoding.with_ranges(*ranges))
    assert known.stages.identity == cascade.stages.identity  # decisions do not depend on them
    case = known.open().give({"age": 630, "ward": "maternity"})
    said = (
        "age is 630; in training it was 0 to 90.",
        "ward is 'maternity'; in training it was one of 'A', 'B', 'ICU'.",
    )
    assert case.warnings == said
    assert known.resume(case.to_json()).warnings == said
    assert known.open().give({"age": None, "ward": "A"}).warnings == ()


@pytest.mark.parametrize("gaps", ["impute", "skip"])
def test_an_imputed_value_that_no_training_row_lacked_is_a_warning(gaps):
    case = make_rich_cascade(gaps=gaps).open().give({"age": None, "ward": None})
    # Training rows lacked ages; a stage without its values is skipped, not guessed.
    said = ("ward is missing; in training it never was.",)
    assert case.warnings == (said if gaps == "impute" else ())
