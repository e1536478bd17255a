"""Features bought on demand for many rows, from sources that fail, lie and stall."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import NAMES, assert_same_bits, cascades_and_rows, make_cascade, make_rows

from emsco import Decisions, ParameterError

ROWS = make_rows(40)
IDS = list(range(40))


def columns(names, ids):
    """Values of some features of some rows."""
    return ROWS[np.ix_(ids, [NAMES.index(name) for name in names])]


class Source:
    """Records its calls and answers in a given form; `before` may make it fail."""

    def __init__(self, form=None, before=None):
        self.form, self.before = form, before
        self.asked = []

    def __call__(self, names, ids):
        self.asked.append((tuple(names), list(ids)))
        if self.before:
            self.before(len(self.asked), names, ids)
        table = columns(names, ids)
        return self.form(table, names) if self.form else table

    async def later(self, names, ids):
        await asyncio.sleep(0)
        return self(names, ids)


def arun(cascade, ids, acquire, *arguments, **options):
    return asyncio.run(cascade.arun(ids, acquire, *arguments, **options))


def by_run(cascade, ids, source, *arguments, **options):
    return cascade.run(ids, source, *arguments, **options)


def by_arun(cascade, ids, source, *arguments, **options):
    return arun(cascade, ids, source.later, *arguments, **options)


either_way = pytest.mark.parametrize("run", [by_run, by_arun])


def picked(decisions, which):
    names = ("guesses", "accepted", "confidence", "stage", "cost")
    return Decisions(*(getattr(decisions, name)[which] for name in names))


def whole(sentence):
    return f"^{re.escape(sentence)}$"


def failed(n, total=40):
    return pytest.warns(
        UserWarning, match=rf"^{n} of {total} rows were rejected because their features could not"
    )


@pytest.fixture
def cascade():
    return make_cascade()


@pytest.fixture
def wanted(cascade):
    return cascade.decide(ROWS)


@pytest.fixture
def pauses(monkeypatch):
    """Replace sleeping by a list of the seconds asked for."""
    slept, pause = [], asyncio.sleep

    async def no_pause(seconds):
        if seconds:
            slept.append(seconds)
        await pause(0)

    monkeypatch.setattr("emsco.cascade.acquisition.time.sleep", slept.append)
    monkeypatch.setattr("asyncio.sleep", no_pause)
    return slept


def reached(decisions, stage):
    """Rows for which this stage was bought."""
    return np.flatnonzero(decisions.stage >= stage).tolist()


class TestAsksForNoMoreThanIsNeeded:
    def test_only_new_features_of_rows_still_undecided_are_fetched(self, cascade, wanted):
        source = Source()
        cascade.run(IDS, source)
        assert source.asked == [
            (("age", "pulse"), reached(wanted, 1)),
            (("scan",), reached(wanted, 2)),
            (("biopsy",), reached(wanted, 3)),
        ]

    @pytest.mark.parametrize("batch_size", [1, 7, 40, None])
    @pytest.mark.parametrize("concurrency", [1, 3, 100])
    def test_in_batches_too(self, cascade, wanted, batch_size, concurrency):
        sources = Source(), Source()
        cascade.run(IDS, sources[0], batch_size=batch_size)
        arun(cascade, IDS, sources[1].later, batch_size=batch_size, concurrency=concurrency)
        for source in sources:
            for stage in (1, 2, 3):
                names = cascade.design.buys[stage - 1]
                asked = [ids for needs, ids in source.asked if needs == names]
                assert sorted(id_ for ids in asked for id_ in ids) == reached(wanted, stage)
                assert max(map(len, asked)) <= (batch_size or 40)

    def test_a_batch_that_is_decided_is_not_asked_about_again(self, cascade, wanted):
        early = np.flatnonzero(wanted.stage == 1)[:3].tolist()
        source = Source()
        cascade.run(early, source)
        assert source.asked == [(("age", "pulse"), early)]

    @either_way
    def test_no_rows_ask_for_nothing(self, cascade, run):
        source = Source()
        decisions = run(cascade, [], source)
        assert len(decisions) == len(decisions.ids) == len(decisions.reasons) == 0
        assert_same_bits(decisions, cascade.decide(np.zeros((0, 4))))
        assert source.asked == []


class TestSameAsATable:
    @given(
        cascades_and_rows(),
        st.integers(1, 8) | st.none(),
        st.integers(1, 4),
        st.lists(st.integers(0, 100), max_size=12),
    )
    @settings(max_examples=80, deadline=None)
    def test_any_batches_order_and_duplicates_give_the_same_bits(
        self, drawn, batch_size, concurrency, numbers
    ):
        cascade, rows = drawn
        ids = [number % len(rows) for number in numbers]
        names = cascade.design.names

        def acquire(needs, ids):
            return rows[np.ix_(ids, [names.index(name) for name in needs])]

        async def later(needs, ids):
            await asyncio.sleep(0)
            return acquire(needs, ids)

        wanted = cascade.decide(rows[ids])
        for decisions in (
            cascade.run(ids, acquire, batch_size=batch_size),
            arun(cascade, ids, later, batch_size=batch_size, concurrency=concurrency),
        ):
            assert_same_bits(decisions, wanted)
            assert decisions.ids.tolist() == ids

    @pytest.mark.parametrize("id_", [0, 5, 39])
    @either_way
    def test_one_row_alone_gives_the_same_bits(self, cascade, wanted, run, id_):
        assert_same_bits(run(cascade, [id_], Source()), picked(wanted, [id_]))

    def test_batches_that_end_out_of_order_are_put_in_order(self, cascade, wanted):
        async def acquire(names, ids):
            await asyncio.sleep(0.001 * (40 - ids[0]) / 4)
            return columns(names, ids)

        decisions = arun(cascade, IDS, acquire, concurrency=40)
        assert_same_bits(decisions, wanted)
        assert decisions.ids.tolist() == IDS

    def test_one_cascade_serves_many_threads_at_once(self, wanted):
        cascade, ready = make_cascade(), threading.Barrier(8)

        def serve(run):
            ready.wait()
            return run(cascade, IDS, Source(), batch_size=5)

        with ThreadPoolExecutor(8) as threads:
            for decisions in threads.map(serve, [by_run, by_arun] * 4):
                assert_same_bits(decisions, wanted)


class TestIds:
    @pytest.mark.parametrize("batch_size", [1, 2, None])
    @pytest.mark.parametrize(
        ("ids", "kind"),
        [
            ([3, 1, 2], "i"),
            (["c", "a", "bb"], "U"),
            ([1, "a", None], "O"),
            ([(1, 2), (3, 4), (5, 6)], "O"),
            ([[1, 2], [3, 4], [5, 6]], "O"),
            ([1, 2**63, -1], "O"),
            (["a\0", "a", "b"], "O"),
            ([True, 1, 1.0], "O"),
        ],
        ids=str,
    )
    def test_come_back_as_they_were_however_rows_are_batched(self, cascade, ids, kind, batch_size):
        def acquire(names, asked):
            assert all(one in ids for one in asked)
            return np.zeros((len(asked), len(names)))

        decisions = cascade.run(ids, acquire, batch_size=batch_size)
        assert decisions.ids.dtype.kind == kind
        assert decisions.ids.tolist() == ids
        assert list(map(type, decisions.ids.tolist())) == list(map(type, ids))

    def test_are_a_column_of_the_table(self, cascade):
        table = cascade.run([4, 2], Source()).to_pandas()
        assert table["id"].tolist() == [4, 2]
        assert table["reason"].str.startswith("sure at stage").all()


def as_mapping(kind, table, names):
    return {name: kind(table[:, i]) for i, name in enumerate(names)}


def as_masked(table, names):
    return np.ma.masked_array(table, mask=np.zeros_like(table))


def with_more(library, table, names):
    """Frame with its columns in another order and one extra column."""
    frame = {"note": ["fine"] * len(table), **as_mapping(list, table, names)}
    return library.DataFrame(dict(reversed(frame.items())))


FORMS = {
    "array": lambda table, _: table,
    "fortran": lambda table, _: np.asfortranarray(table),
    "objects": lambda table, _: table.astype(object),
    "lists": lambda table, _: table.tolist(),
    "tuples": lambda table, _: tuple(map(tuple, table.tolist())),
    "arrays in a list": lambda table, _: list(table),
    "masked": as_masked,
    "pandas": partial(with_more, pd),
    "nullable pandas": lambda table, names: with_more(pd, table, names).convert_dtypes(),
    "polars": partial(with_more, pl),
    "mapping of arrays": partial(as_mapping, np.array),
    "mapping of lists": partial(as_mapping, list),
    "mapping of tuples": partial(as_mapping, tuple),
    "mapping of series": partial(as_mapping, pd.Series),
    "mapping with more": lambda table, names: as_mapping(list, table, names) | {"note": None, 5: 6},
}


class TestTables:
    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    @either_way
    def test_of_any_form_give_the_same_bits(self, cascade, wanted, run, form):
        assert_same_bits(run(cascade, IDS, Source(form)), wanted)

    @pytest.mark.parametrize(
        "form", ["lists", "tuples", "objects", "mapping of lists", "mapping of tuples"]
    )
    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (None, "no number"),
            (math.nan, "no number"),
            ("7", "no number"),
            (1j, "no number"),
            ([1, 2], "no number"),
            (pd.NaT, "no number"),
            (np.datetime64(5, "s"), "no number"),
            (-math.inf, "infinity (-inf)"),
            (1e101, "1e+101"),
            (10**400, "infinity (inf)"),
        ],
        ids=repr,
    )
    def test_reject_only_the_row_that_lacks_a_number(self, cascade, wanted, form, value, said):
        def holed(table, names):
            table = table.astype(object)
            if "pulse" in names:
                table[3, 1] = value
            if form.startswith("mapping"):
                return as_mapping(tuple if "tuples" in form else list, table, names)
            return FORMS[form](table, names)

        with failed(1):
            decisions = cascade.run(IDS, Source(holed))
        others = np.delete(np.arange(40), 3)
        assert_same_bits(picked(decisions, others), picked(wanted, others))
        assert decisions.reasons[3] == f"stage 1 got {said} for 'pulse'"
        assert (decisions.accepted[3], decisions.stage[3], decisions.cost[3]) == (False, 0, 0.0)
        assert np.isnan(decisions.confidence[3])

    def test_that_lack_a_number_at_a_later_stage_keep_what_the_row_has_cost(self, cascade, wanted):
        late = int(np.flatnonzero(wanted.stage == 3)[0])

        def holed(table, names):
            return np.full_like(table, np.nan) if list(names) == ["biopsy"] else table

        with failed(len(reached(wanted, 3))):
            decisions = cascade.run(IDS, Source(holed))
        assert (decisions.stage[late], decisions.cost[late]) == (2, 13.5)
        assert decisions.reasons[late] == "stage 3 got no number for 'biopsy'"
        assert 0.5 <= decisions.confidence[late] < 0.8


def raised(decisions):
    """The single reason why rows were not acquired."""
    (reason,) = {reason for reason in decisions.reasons if reason.startswith("could not be")}
    return reason.removeprefix("could not be acquired: ")


COLUMNS = "a table with the columns 'age', 'pulse'"


class TestMalformedTables:
    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (None, f"{COLUMNS}, got None."),
            (5, f"{COLUMNS}, got 5."),
            ("table", f"{COLUMNS}, got 'table'."),
            (np.zeros((3, 3)), f"{COLUMNS}, got shape (3, 3)."),
            (np.zeros((3, 2, 1)), f"{COLUMNS}, got shape (3, 2, 1)."),
            (np.zeros(3), f"{COLUMNS}, got shape (3,)."),
            (((1, 2), (3,), (4, 5)), f"{COLUMNS}, got shape (3,)."),
            (np.zeros((2, 2)), "3 rows, one per id, got shape (2,) for 'age'."),
            ([[1, 2]] * 4, "3 rows, one per id, got shape (4,) for 'age'."),
            ({"age": [1, 2, 3]}, "a column 'pulse', got ['age']."),
            (pd.DataFrame({"pulse": [1, 2, 3]}), "a column 'age', got ['pulse']."),
            (pl.DataFrame({"Age": [1, 2, 3]}), "a column 'age', got ['Age']."),
            (dict.fromkeys(range(1000)), f"a column 'age', got {str([*range(99)])[:59]}…."),
            (
                {"age": [1, 2, 3], "pulse": [1, 2]},
                "3 rows, one per id, got shape (2,) for 'pulse'.",
            ),
            ({"age": 1, "pulse": 2}, "3 rows, one per id, got shape () for 'age'."),
            (
                {"age": np.zeros((3, 2)), "pulse": [1, 2, 3]},
                "3 rows, one per id, got shape (3, 2) for 'age'.",
            ),
        ],
        ids=lambda one: type(one).__name__ if not isinstance(one, str) else "",
    )
    @either_way
    def test_reject_their_rows_at_once_without_a_second_try(
        self, cascade, pauses, run, answer, said
    ):
        source = Source(lambda *_: answer)
        with failed(3, total=3):
            decisions = run(cascade, IDS[:3], source, batch_size=3)
        assert raised(decisions) == f"DataError: acquire must return {said}"
        assert not decisions.accepted.any()
        assert (len(source.asked), pauses) == (1, [])

    def test_of_one_batch_leave_the_others_alone(self, cascade, wanted):
        def form(table, names):
            return None if (table[0] == ROWS[10, : table.shape[1]]).all() else table

        with failed(10):
            decisions = cascade.run(IDS, Source(form), batch_size=10)
        others = np.r_[:10, 20:40]
        assert_same_bits(picked(decisions, others), picked(wanted, others))


class TestFailures:
    @pytest.mark.parametrize("retries", [0, 1, 3])
    @either_way
    def test_are_tried_again_as_often_as_said_with_doubled_pauses(
        self, cascade, pauses, run, retries
    ):
        def fail(n_calls, names, ids):
            raise ConnectionError("no route to host")

        source = Source(before=fail)
        with failed(40):
            decisions = run(cascade, IDS, source, batch_size=40, retries=retries, pause=0.5)
        assert source.asked == [(("age", "pulse"), IDS)] * (1 + retries)
        assert pauses == [0.5, 1.0, 2.0][:retries]
        assert raised(decisions) == "ConnectionError: no route to host"
        assert not decisions.accepted.any()

    @either_way
    def test_that_pass_change_no_bit(self, cascade, wanted, pauses, run):
        def fail_twice(n_calls, names, ids):
            if n_calls % 3:
                raise OSError("busy")

        decisions = run(cascade, IDS, Source(before=fail_twice), batch_size=40)
        assert_same_bits(decisions, wanted)
        assert pauses == [0.1, 0.2] * 3

    @pytest.mark.parametrize("batch_size", [1, 8])
    @either_way
    def test_reject_only_the_rows_of_their_batch(self, cascade, wanted, run, batch_size):
        def fail(n_calls, names, ids):
            if 17 in ids:
                raise KeyError("row 17")

        start = 17 // batch_size * batch_size
        gone = np.arange(start, start + batch_size)
        with failed(batch_size):
            decisions = run(cascade, IDS, Source(before=fail), batch_size=batch_size, pause=0)
        others = np.delete(np.arange(40), gone)
        assert_same_bits(picked(decisions, others), picked(wanted, others))
        assert not decisions.accepted[gone].any()
        assert raised(decisions) == "KeyError: 'row 17'"

    def test_at_a_later_stage_keep_rows_that_left_before(self, cascade, wanted):
        def fail(n_calls, names, ids):
            if "scan" in names:
                raise RuntimeError

        with failed(len(reached(wanted, 2))):
            decisions = cascade.run(IDS, Source(before=fail), retries=0)
        early = wanted.stage == 1
        assert_same_bits(picked(decisions, early), picked(wanted, early))
        assert (decisions.stage == 1).all()
        assert (decisions.cost == 3.5).all()
        assert raised(decisions) == "RuntimeError"


class TestTimeouts:
    def test_count_as_failures_and_say_so(self, cascade, wanted):
        async def acquire(names, ids):
            await asyncio.sleep(10 if ids == [7] else 0)
            return columns(names, ids)

        with failed(1):
            decisions = arun(cascade, IDS, acquire, timeout=0.01, retries=1, pause=0)
        assert raised(decisions) == "no answer within 0.01 s"
        others = np.delete(np.arange(40), 7)
        assert_same_bits(picked(decisions, others), picked(wanted, others))

    def test_are_none_where_a_second_try_answers(self, cascade, wanted):
        calls = []

        async def acquire(names, ids):
            calls.append(ids)
            await asyncio.sleep(10 if len(calls) == 1 else 0)
            return columns(names, ids)

        decisions = arun(cascade, IDS, acquire, batch_size=None, timeout=0.01, pause=0)
        assert_same_bits(decisions, wanted)
        assert len(calls) == 4


class TestConcurrency:
    @pytest.mark.parametrize("concurrency", [1, 3, 16, 64])
    def test_is_the_most_calls_in_flight_and_is_reached(self, cascade, concurrency):
        flying, most = set(), []

        async def acquire(names, ids):
            flying.add(tuple(ids))
            most.append(len(flying))
            await asyncio.sleep(0)
            flying.remove(tuple(ids))
            return columns(names, ids)

        arun(cascade, IDS, acquire, concurrency=concurrency)
        assert max(most) == min(concurrency, 40)

    def test_of_one_asks_for_one_row_after_another(self, cascade, wanted):
        source = Source()
        arun(cascade, IDS, source.later, concurrency=1)
        firsts = [ids[0] for names, ids in source.asked if "age" in names]
        assert firsts == IDS
        assert [ids[0] for _, ids in source.asked] == np.repeat(IDS, wanted.stage).tolist()


class TestInterrupts:
    def test_keep_the_rows_that_were_decided_and_warn(self, cascade, wanted):
        def interrupt(n_calls, names, ids):
            if ids[0] >= 20 and "scan" in names:
                raise KeyboardInterrupt

        undecided = int(np.flatnonzero(wanted.stage[20:] > 1)[0]) + 20
        with pytest.warns(
            UserWarning, match=whole("Interrupted; the decisions so far are kept.")
        ) as caught:
            decisions = cascade.run(IDS, Source(before=interrupt), batch_size=10)
        assert caught[0].filename == __file__
        assert_same_bits(picked(decisions, slice(20)), picked(wanted, slice(20)))
        assert decisions.reasons[undecided] == "interrupted"
        assert (decisions.stage[undecided], decisions.cost[undecided]) == (1, 3.5)
        assert set(decisions.reasons[30:]) == {"interrupted"}
        assert (decisions.stage[30:] == 0).all()
        assert decisions.ids.tolist() == IDS

    def test_while_pausing_end_a_run_too(self, cascade, monkeypatch):
        def interrupt(seconds):
            raise KeyboardInterrupt

        def fail(names, ids):
            raise OSError

        monkeypatch.setattr("emsco.cascade.acquisition.time.sleep", interrupt)
        with pytest.warns(UserWarning, match="nterrupted"):
            decisions = cascade.run(IDS, fail)
        assert set(decisions.reasons) == {"interrupted"}

    @pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
    def test_at_any_line_keep_what_was_decided(self, cascade, wanted, step):
        n_kept = []
        for line in count(1, step):
            source = Source()
            run = partial(cascade.run, IDS[:6], source, batch_size=3)
            decisions, came = interrupted_at(line, run)
            if not came:
                break
            if decisions is None:  # there was nothing to keep yet
                assert not source.asked
                continue
            kept = np.flatnonzero(decisions.reasons != "interrupted")
            assert_same_bits(picked(decisions, kept), picked(wanted, kept))
            assert not np.delete(decisions.accepted, kept).any()
            n_kept.append(len(kept))
        assert n_kept == sorted(n_kept)
        assert len(n_kept) > 100 / step
        assert n_kept[-8 // step :] == [6] * (8 // step)  # the last lines assemble the decisions


def interrupted_at(line, run):
    """Press Ctrl-C before a line of a run; return what it returns, and whether it came so far."""
    left, files = line, ("acquisition.py", "decisions.py")

    def trace(frame, event, _):
        nonlocal left
        if Path(frame.f_code.co_filename).name not in files:
            return None
        left -= event == "line"
        if not left:
            left = -1
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.settrace(trace)
        try:
            return run(), left < 0
        except KeyboardInterrupt:
            return None, True
        finally:
            sys.settrace(before)


def handed_over(error):
    """Decisions that a timeout brings; `asyncio.timeout` of early Python 3.11 names no cause."""
    return (error.__cause__ or error.__context__).decisions


class TestCancelling:
    """Source that answers for ids up to 9 at once and never for the others."""

    @pytest.fixture
    def stalling(self):
        async def acquire(names, ids):
            if ids[0] >= 10:
                await asyncio.sleep(10)
            return columns(names, ids)

        return acquire

    def check(self, decisions, wanted):
        assert_same_bits(picked(decisions, slice(10)), picked(wanted, slice(10)))
        assert set(decisions.reasons[10:]) == {"cancelled"}
        assert not decisions.accepted[10:].any()
        assert decisions.ids.tolist() == IDS

    def test_a_task_raises_and_hands_over_what_was_decided(self, cascade, wanted, stalling):
        async def main():
            task = asyncio.create_task(cascade.arun(IDS, stalling))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError, match=r"^$") as caught:
                await task
            return caught.value.decisions

        self.check(asyncio.run(main()), wanted)

    def test_by_a_timeout_raises_and_hands_over_what_was_decided(self, cascade, wanted, stalling):
        async def main():
            with pytest.raises(TimeoutError, match=r"^$") as caught:
                async with asyncio.timeout(0.01):
                    await cascade.arun(IDS, stalling)
            return handed_over(caught.value)

        self.check(asyncio.run(main()), wanted)

    def test_leaves_no_call_running(self, cascade):
        ended = []

        async def acquire(names, ids):
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(ids)

        async def main():
            with pytest.raises(TimeoutError, match=r"^$"):
                async with asyncio.timeout(0.01):
                    await cascade.arun(IDS, acquire, concurrency=5)
            assert len(asyncio.all_tasks()) == 1

        asyncio.run(main())
        assert sorted(ended) == [[0], [1], [2], [3], [4]]

    @pytest.mark.parametrize("then", ["answers", "raises"])
    def test_stops_even_where_a_source_takes_no_notice(self, cascade, then):
        asked = []

        async def acquire(names, ids):
            asked.append(ids)
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                if then == "raises":
                    raise OSError("closed") from None
            return columns(names, ids)

        async def main():
            with pytest.raises(TimeoutError, match=r"^$") as caught:
                async with asyncio.timeout(0.01):
                    await cascade.arun(IDS, acquire, concurrency=2)
            return handed_over(caught.value)

        decisions = asyncio.run(main())
        assert asked == [[0], [1]]
        assert set(decisions.reasons[2:]) == {"cancelled"}


class TestBudget:
    @pytest.mark.parametrize("budget", [0, 3.5, 13.4, 13.5, 53.5, math.inf, None])
    @either_way
    def test_stops_every_row_as_it_stops_a_case(self, cascade, run, budget):
        decisions = run(cascade, IDS, Source(), budget, batch_size=7)
        for i, row in enumerate(ROWS):
            case = cascade.open(budget)
            while case.needs:
                case.give({name: row[NAMES.index(name)] for name in case.needs})
            now = case.decision
            assert (decisions.stage[i], decisions.cost[i]) == (now.stage, now.cost)
            assert (decisions.accepted[i], decisions.reasons[i]) == (now.accepted, now.reason)
            assert repr(float(decisions.confidence[i])) == repr(now.confidence)

    def test_keeps_the_source_from_being_asked(self, cascade):
        source = Source()
        cascade.run(IDS, source, 13.49)
        assert [names for names, _ in source.asked] == [("age", "pulse")]

    def test_below_the_first_stage_buys_nothing_and_is_no_failure(self, cascade):
        source = Source()
        decisions = cascade.run(IDS, source, 3)
        assert source.asked == []
        assert set(decisions.reasons) == {"stage 1 would cost 3.5, past the budget of 3"}


class TestParameters:
    def test_an_async_source_is_refused_where_nothing_is_awaited(self, cascade):
        with pytest.raises(ParameterError):
            cascade.run(IDS, Source().later)

    def test_so_is_one_that_only_turns_out_to_be_async(self, cascade):
        source = Source()
        with pytest.raises(ParameterError):
            cascade.run(IDS, lambda names, ids: source.later(names, ids))
        assert source.asked == []

    def test_a_plain_source_is_refused_where_it_is_awaited(self, cascade):
        with pytest.raises(ParameterError):
            arun(cascade, IDS, Source())
