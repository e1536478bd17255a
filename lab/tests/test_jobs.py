from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import pytest
from emsco_lab.jobs import ResultStore, finish_jobs
from hypothesis import given
from hypothesis import strategies as st

from emsco._base.documents import document_text
from emsco._base.objectives import Objectives
from emsco.errors import EMSCOError


@dataclass(frozen=True)
class Square:
    number: int

    @property
    def title(self):
        return f"square of/{self.number}"


def square(job):
    return {"square": job.number**2}


shares = st.floats(0, 1)
objectives = st.builds(Objectives, shares, shares, st.floats(0, 100))


def done(folder, numbers, run=square, **more):
    jobs = [Square(number) for number in numbers]
    results, _ = finish_jobs(jobs, run, ResultStore(folder), **more)
    return {job.number: fields.whole("square", 0) for job, fields in results.items()}


def test_results_are_kept_and_not_computed_again(tmp_path):
    assert done(tmp_path, [2, 3]) == {2: 4, 3: 9}

    def refuse(job):
        raise AssertionError(job)

    assert done(tmp_path, [2, 3], refuse) == {2: 4, 3: 9}


def test_a_job_that_is_named_twice_is_done_once(tmp_path):
    asked = []
    assert done(tmp_path, [2, 2], lambda job: asked.append(job) or square(job)) == {2: 4}
    assert asked == [Square(2)]


def test_what_was_done_before_an_interruption_is_there_afterwards(tmp_path):
    def pressed(job):
        if job.number == 4:
            raise KeyboardInterrupt("pressed")
        return square(job)

    assert done(tmp_path, [2, 3, 4, 5], pressed) == {2: 4, 3: 9}
    asked = []
    assert done(tmp_path, [2, 3, 4, 5], lambda job: asked.append(job) or square(job))[5] == 25
    assert [job.number for job in asked] == [4, 5]


def _die(job):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills so surely here")
def test_a_worker_that_is_killed_is_one_sentence_and_earlier_results_stay(tmp_path):
    done(tmp_path, [2])
    with pytest.raises(EMSCOError, match=r"was killed.* after 1 of 3 jobs"):
        done(tmp_path, [2, 3, 4], _die, n_jobs=2)
    assert done(tmp_path, [2, 3]) == {2: 4, 3: 9}


def test_a_damaged_result_is_computed_again(tmp_path):
    done(tmp_path, [2])
    path = ResultStore(tmp_path).path(Square(2))
    path.write_text(path.read_text().replace("4", "5"))
    assert done(tmp_path, [2]) == {2: 4}


def test_a_result_without_its_job_or_its_values_is_computed_again(tmp_path):
    done(tmp_path, [2])
    path = ResultStore(tmp_path).path(Square(2))
    for body in (
        {"result": {"square": 5}},
        {"job": {"number": 2}},
        {"job": {"number": 2}, "result": 5},
    ):
        path.write_text(document_text("result of an experiment", 3, body))
        assert done(tmp_path, [2]) == {2: 4}


def test_results_of_other_or_impossible_jobs_are_passed_over(tmp_path):
    done(tmp_path, [2])
    for i, job in enumerate(({"size": 2}, {"number": [2]}, {"number": {}}, [])):
        body = {"job": job, "result": {"square": 5}}
        text = document_text("result of an experiment", 3, body)
        (tmp_path / f"other-{i}.json").write_text(text)
    assert [job for job, _ in ResultStore(tmp_path).every(Square)] == [Square(2)]


def test_files_have_plain_names_and_jobs_that_differ_have_their_own(tmp_path):
    store = ResultStore(tmp_path)
    assert store.path(Square(2)).name.startswith("square-of-2-")
    assert store.path(Square(2)) != store.path(Square(3))


def test_every_job_is_reported_known_ones_first(tmp_path):
    done(tmp_path, [3])
    seen = []
    done(tmp_path, [2, 3], report=lambda *job: seen.append(job))
    assert seen == [(1, 2, "square of/3 (known)"), (2, 2, "square of/2")]


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    assert done(tmp_path / "a", [2, 3], n_jobs=2) == done(tmp_path / "b", [2, 3], n_jobs=1)


@given(objectives, objectives)
def test_dominance_goes_one_way_and_never_lowers_the_balanced_score(one, other):
    if one.dominates(other):
        assert not other.dominates(one)
        assert one.balanced(100) >= other.balanced(100) - 1e-8
    assert not one.dominates(one)


def test_costs_that_differ_by_rounding_are_no_reason_to_be_dominated():
    exact, added_up = Objectives(1.0, 0.8, 0.3), Objectives(1.0, 0.8, 0.1 + 0.1 + 0.1)
    assert exact.cost != added_up.cost
    assert not exact.dominates(added_up)
    assert Objectives(1.0, 0.9, added_up.cost).dominates(exact)


def test_ctrl_c_keeps_what_is_complete_and_says_that_it_is_not_all(tmp_path):
    def report(done, _total, _what):
        if done == last:
            raise KeyboardInterrupt("pressed")

    jobs, store = [Square(2), Square(3)], ResultStore(tmp_path)
    last = 2
    results, complete = finish_jobs(jobs, square, store, report=report)
    assert (list(results), complete) == ([Square(2)], False)
    assert finish_jobs(jobs, square, store)[1]
    last = 1
    with pytest.raises(KeyboardInterrupt, match="pressed"):
        finish_jobs(jobs, square, store, report=report)
