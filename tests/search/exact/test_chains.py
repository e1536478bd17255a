"""Exact search against a twin that scores every design: the whole front, its ties, its proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import (
    ALIKE,
    BROKEN,
    FREE_AND_EXPENSIVE,
    Instance,
    RealInstance,
    dominates,
    every_design,
    front_of,
    varied,
)

from emsco._kernels.chains import Candidates, Labels
from emsco.designs.space import DesignSpace
from emsco.search.exact import chains
from emsco.search.exact.chains import find_front, tied_designs
from emsco.search.exact.proof import ExactTies, TimeLimitError

# One more feature takes longer than all smaller problems together.
UP_TO_5 = [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.thorough)]
COSTS = {"free and expensive": FREE_AND_EXPENSIVE, "alike": ALIKE, "broken": BROKEN}


def some_of(blocks):
    """The first half of blocks of seeds; the others are for thorough runs."""
    half = len(blocks) // 2
    return [*blocks[:half], *(pytest.param(n, marks=pytest.mark.thorough) for n in blocks[half:])]


def simplest_and_ties(front):
    """The twin's front in the form of `found_ones`."""
    return {designs[0]: len(designs) for designs in front.values()}


def found_ones(result):
    """The simplest design of each vector, with the number of designs that tie."""
    designs = [tuple(design) for design in result.designs.tolist()]
    assert len(set(designs)) == len(designs)
    return dict(zip(designs, result.n_tied.tolist(), strict=True))


def assert_whole(instance, **options):
    """Check that the search finds the front of the twin and settles every design."""
    result = find_front(instance.landscape(), **options)
    assert found_ones(result) == simplest_and_ties(instance.front())
    assert result.n_settled == len(instance.every_design()) == instance.space.size
    assert result.stopped is None
    return result


class TestFront:
    @pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
    @pytest.mark.parametrize("n_features", UP_TO_5)
    @pytest.mark.parametrize(
        ("n_rows", "density"),
        [(1, 0.3), (4, 0.05), (4, 0.7), (40, 0.0), (40, 0.05), (40, 0.3), (40, 1.0), (130, 0.1)],
    )
    def test_is_what_scoring_every_design_finds(self, n_features, n_rows, density, costs):
        for max_stages in range(1, n_features + 1):
            assert_whole(Instance.random(n_features, max_stages, n_rows, density, costs))

    @pytest.mark.parametrize(
        "max_stages", [2, 3, *(pytest.param(n, marks=pytest.mark.thorough) for n in (4, 5))]
    )
    def test_is_the_same_for_other_draws_of_bits_and_costs(self, max_stages):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            costs = tuple(rng.integers(0, 4, size=5).tolist())
            n_rows, density = int(rng.integers(2, 80)), rng.uniform(0.02, 0.5)
            instance = Instance.random(5, max_stages, n_rows, density, costs, seed)
            assert_whole(instance)
            assert_whole(instance.with_idle(int(rng.integers(5))))

    @pytest.mark.thorough
    @pytest.mark.parametrize("max_stages", [3, 5, 6])
    @pytest.mark.parametrize("costs", [FREE_AND_EXPENSIVE, BROKEN], ids=["whole", "broken"])
    def test_of_six_features_is_found_too(self, max_stages, costs):
        assert_whole(Instance.random(6, max_stages, 70, 0.15, costs))
        assert_whole(Instance.random(6, max_stages, 70, 0.15, costs).with_idle(3))
        assert_whole(Instance.random(6, max_stages, 5, 0.02, costs))

    def test_counts_every_design_where_no_row_is_ever_accepted(self):
        result = find_front(Instance.random(5, 5, 9, 0.0).landscape())
        assert found_ones(result) == {(0, 0, 0, 0, 0): 541}

    def test_is_the_cheapest_first_feature_where_every_row_is_accepted_at_once(self):
        everyone = np.ones((8, 5), dtype=bool)
        everyone[0] = False
        result = find_front(Instance(everyone, everyone, (4, 2, 5), 3).landscape())
        assert found_ones(result) == {(1, 0, 1): 3}  # {1} → {0, 2}, {1} → {0} → {2} and back

    def test_prefers_fewer_stages_to_a_smaller_chromosome(self):
        accepts = np.zeros((8, 2), dtype=bool)
        accepts[0b001, 0] = accepts[0b011, 1] = True
        accepts[[0b110, 0b111]] = True
        instance = Instance(accepts, accepts, (2, 2, 1), 3)
        ties = [(1, 0, 0), (0, 1, 2), (2, 0, 1), (2, 1, 0)]
        assert instance.front() == {(2, 2, 6): ties}
        assert found_ones(find_front(instance.landscape())) == {(1, 0, 0): 4}

    def test_counts_longer_chains_that_come_after_a_shorter_one_of_the_same_state(self):
        accepts, correct = np.zeros((2, 64, 1), dtype=bool)
        accepts[[0b010, 0b100, 0b111]] = correct[0b111] = True
        result = assert_whole(Instance(accepts, correct, ALIKE, 5))
        # {0, 1, 2} after nothing, {0} or a pair, then 3 features in at most 4 or 3 stages; or
        # after {0} and a pair, then in at most 2.
        assert found_ones(result)[0, 0, 0, 1, 1, 1] == 5 * 13 + 2 * 7


class TestRealProblems:
    @pytest.mark.parametrize("block", some_of(range(10)))
    def test_the_front_is_what_scoring_every_design_finds_for_any_combination(self, block):
        for seed in range(24 * block, 24 * (block + 1)):
            assert_whole(varied(seed))

    @pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
    @pytest.mark.parametrize(("n_rows", "density"), [(4, 0.05), (40, 0.0), (40, 0.3), (130, 0.1)])
    def test_features_may_be_left_out(self, n_rows, density, costs):
        for n_features, max_stages in ((1, 1), (3, 1), (4, 2), (4, 4), (5, 3)):
            instance = Instance.random(n_features, max_stages, n_rows, density, costs)
            assert_whole(replace(instance, allow_exclusion=True))

    @pytest.mark.parametrize("allow_exclusion", [False, True])
    def test_a_row_of_weight_two_counts_as_two_rows(self, allow_exclusion):
        instance = Instance.random(4, 3, 128, 0.1, (3, 5, 1, 2))
        instance = replace(instance, allow_exclusion=allow_exclusion)
        doubled = replace(
            instance,
            accepts=np.repeat(instance.accepts, [1] * 64 + [2] * 64, axis=1),
            correct=np.repeat(instance.correct, [1] * 64 + [2] * 64, axis=1),
        )
        weighed = find_front(replace(instance, word_weights=(1, 2)).landscape())
        assert found_ones(weighed) == found_ones(find_front(doubled.landscape()))

    def test_a_row_with_a_gap_is_accepted_by_a_later_stage_that_buys_something_else(self):
        everyone = np.ones((4, 2), dtype=bool)
        everyone[0] = False
        missing = np.array([[True, False], [False, False]])
        instance = Instance(everyone, everyone, (1, 3), 2, missing=missing)
        assert found_ones(assert_whole(instance)) == {(0, 1): 1}
        assert instance.score((0, 1)) == (2, 2, 5)  # one row buys the second feature, too
        assert instance.score((0, 0)) == (1, 1, 8)

    @pytest.mark.parametrize("allow_exclusion", [False, True])
    def test_a_limit_of_mean_costs_cuts_the_front_there(self, allow_exclusion):
        instance = Instance.random(5, 3, 70, 0.1, (3, 5, 1, 2, 7))
        instance = replace(instance, allow_exclusion=allow_exclusion)
        spent = sorted(vector[2] for vector in instance.front())
        limit = spent[len(spent) // 2]
        result = assert_whole(replace(instance, most_spent=limit))
        expected = {v: d for v, d in instance.front().items() if v[2] <= limit}
        assert found_ones(result) == simplest_and_ties(expected)

    def test_nothing_is_found_where_nothing_is_within_the_limits(self):
        instance = Instance.random(4, 3, 70, 0.1, (3, 5, 1, 2))
        assert len(assert_whole(replace(instance, most_paid=10.5)).designs) == 0
        assert len(assert_whole(replace(instance, most_spent=69)).designs) == 0

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_threads_and_designs_known_before_change_nothing(self, n_jobs):
        for seed in range(400, 418):
            instance = varied(seed, most_spent=np.inf, most_paid=np.inf)
            every = instance.every_design()
            known = instance.scores(every[:: 1 + len(every) // 5])
            assert_whole(instance, known=known, n_jobs=n_jobs)

    def test_known_designs_past_the_limits_hide_none_within(self):
        instance = Instance.random(4, 3, 70, 0.1, (3, 5, 1, 2))
        instance = replace(instance, allow_exclusion=True, most_paid=6)
        known = instance.scores(instance.every_design())
        past = [0.0 if instance.is_affordable(d) else 1.0 for d in instance.every_design()]
        assert_whole(instance, known=replace(known, excess=np.array(past)))


# With a limit of stages that binds and one that does not; several words of bits; many ties.
@pytest.fixture(params=[4, pytest.param(5, marks=pytest.mark.thorough), 6], scope="module")
def hard(request):
    instance = Instance.random(6, request.param, 150, 0.04, (3, 5, 0, 2, 7, 11), seed=3)
    return instance.with_idle(2)


@pytest.fixture(scope="module")
def plain(hard):
    return found_ones(find_front(hard.landscape()))


class TestIndifference:
    @pytest.mark.parametrize("n_known", [1, 30, 1000])
    def test_designs_known_before_save_work_and_change_nothing(self, hard, plain, n_known):
        every = every_design(6, hard.max_stages)
        picked = np.random.default_rng(0).permutation(len(every))[:n_known]
        known = hard.scores([every[i] for i in picked])
        alone = find_front(hard.landscape())
        helped = find_front(hard.landscape(), known=known)
        assert found_ones(helped) == plain
        assert helped.n_settled == alone.n_settled == len(every)
        assert helped.n_transitions <= alone.n_transitions

    def test_knowing_the_whole_front_before_changes_nothing_but_the_work(self, hard, plain):
        known = hard.scores(list(plain))
        helped = find_front(hard.landscape(), known=known)
        assert found_ones(helped) == plain
        assert helped.n_labels < find_front(hard.landscape()).n_labels

    @pytest.mark.parametrize("chunk", [4_000_000, 100])
    def test_threads_change_nothing(self, monkeypatch, hard, plain, chunk):
        monkeypatch.setattr(chains, "_CHUNK", chunk)
        one, two = (find_front(hard.landscape(), n_jobs=n_jobs) for n_jobs in (1, 2))
        assert one.designs.tolist() == two.designs.tolist()
        assert one.n_tied.tolist() == two.n_tied.tolist()
        assert (one.n_settled, one.n_labels) == (two.n_settled, two.n_labels)
        assert found_ones(two) == plain

    @pytest.mark.parametrize("max_stages", [4, 7])
    def test_room_that_must_be_doubled_changes_nothing(self, monkeypatch, max_stages):
        instance = Instance.random(7, max_stages, 400, 0.1, (3, 5, 0, 2, 7, 11, 4), seed=1)
        landscape = instance.with_idle(2).landscape()
        roomy = find_front(landscape)
        enlarged, enlarge = [], chains._enlarged
        monkeypatch.setattr(chains, "_ROOM", 32)
        monkeypatch.setattr(
            chains,
            "_enlarged",
            lambda old, *given: enlarged.append(type(old)) or enlarge(old, *given),
        )
        tight = find_front(landscape)
        assert found_ones(tight) == found_ones(roomy)
        assert (tight.n_settled, tight.n_labels) == (roomy.n_settled, roomy.n_labels)
        assert enlarged.count(Labels) > 1  # the first is the room to begin with
        assert Candidates in enlarged

    @pytest.mark.parametrize("n_lines", [1, 4, 30])
    def test_a_coarse_table_of_allowances_changes_nothing(self, monkeypatch, hard, plain, n_lines):
        monkeypatch.setattr("emsco.search.allowances._LINES", n_lines)
        coarse = find_front(hard.landscape(), known=hard.scores(list(plain)))
        assert chains.ChainPool(hard.landscape(), 1000).rules.shift > 0
        assert found_ones(coarse) == plain
        assert coarse.n_settled == DesignSpace(6, hard.max_stages).size


class StopAfter:
    """A report that raises in its n-th call."""

    def __init__(self, n_calls, error):
        self._left, self._error = n_calls, error

    def __call__(self, _):
        self._left -= 1
        if self._left == 0:
            raise self._error


def assert_part(result, instance):
    """Check that the designs are a front of the space, without repeats or too many ties."""
    every = set(every_design(instance.n_features, instance.max_stages))
    ones = found_ones(result)
    assert ones.keys() <= every
    vectors = {instance.score(design): n_tied for design, n_tied in ones.items()}
    assert len(vectors) == len(ones)
    assert not any(dominates(one, other) for one in vectors for other in vectors)
    scored = [instance.score(design) for design in every]
    assert all(n_tied <= scored.count(vector) for vector, n_tied in vectors.items())
    assert result.n_settled < len(every)


class TestStopping:
    @pytest.fixture
    def instance(self):
        return Instance.random(5, 4, 100, 0.1, (3, 5, 1, 2, 7))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("n_calls", [1, 3, 8])
    def test_a_time_limit_ends_with_what_is_known(self, instance, n_calls, n_jobs):
        stop = StopAfter(n_calls, TimeLimitError(2.0))
        result = find_front(instance.landscape(), n_jobs=n_jobs, report=stop)
        assert str(result.stopped) == "the time limit of 2 s was reached"
        assert_part(result, instance)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_an_interrupt_ends_with_what_is_known(self, instance, n_jobs):
        stop = StopAfter(6, KeyboardInterrupt())
        result = find_front(instance.landscape(), n_jobs=n_jobs, report=stop)
        assert result.stopped.is_interrupted
        assert_part(result, instance)

    @pytest.mark.parametrize("memory_limit", [1, 500, 4000])
    def test_too_little_memory_is_named_and_ends_with_what_is_known(self, instance, memory_limit):
        result = find_front(instance.landscape(), memory_limit=memory_limit)
        assert str(result.stopped).startswith("memory_limit was reached by ")
        said = f"{result.n_labels:,} kinds of chains; raise it, or lower max_stages"
        assert said in str(result.stopped)
        assert_part(result, instance)

    def test_other_errors_of_a_report_are_not_swallowed(self, instance):
        with pytest.raises(ZeroDivisionError):
            find_front(instance.landscape(), report=StopAfter(1, ZeroDivisionError("mine")))

    def test_the_design_of_one_stage_is_known_from_the_start(self, instance):
        result = find_front(instance.landscape(), memory_limit=1)
        assert found_ones(result) == {(0, 0, 0, 0, 0): 1}
        assert result.n_settled == 1


class TestProgress:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_is_told_from_the_first_size_to_the_last(self, n_jobs):
        steps = []
        result = find_front(
            Instance.random(5, 3, 40, 0.1).landscape(), n_jobs=n_jobs, report=steps.append
        )
        done = [step.done for step in steps]
        assert done == sorted(done)
        assert {step.n_sizes for step in steps} == {4}
        assert 0 < done[0] < 1
        assert done[-1] == pytest.approx(4)
        covered = [step.n_settled for step in steps]
        assert covered == sorted(covered)
        assert covered[-1] == result.n_settled == DesignSpace(5, 3).size
        assert steps[-1].n_labels == result.n_labels


class TestPaperSets:
    @pytest.fixture(scope="class")
    @staticmethod
    def pima(paper_set):
        return RealInstance.from_set(paper_set("pima"), 0.65, 8)

    @pytest.fixture(scope="class")
    @staticmethod
    def heart(paper_set):
        return RealInstance.from_set(paper_set("heart"), 0.75, 12)

    @pytest.mark.parametrize("max_stages", [1, 2, 3, 4])
    def test_the_front_of_pima_is_what_scoring_every_design_finds(self, pima, max_stages):
        result = find_front(pima.landscape(max_stages))
        assert found_ones(result) == simplest_and_ties(pima.front(max_stages))
        assert result.n_settled == DesignSpace(8, max_stages).size

    def test_the_front_of_heart_is_what_scoring_every_design_of_two_stages_finds(self, heart):
        result = find_front(heart.landscape(2))
        assert found_ones(result) == simplest_and_ties(heart.front(2))

    @pytest.mark.parametrize(("one", "other"), [(2, 3), (3, 4), (4, 12)])
    def test_no_design_of_fewer_stages_beats_the_front_of_more(self, heart, one, other):
        fronts = [find_front(heart.landscape(k), n_jobs=2).designs for k in (one, other)]
        scores = heart.evaluator.score(np.concatenate(fronts))
        columns = (scores.accepted, scores.correct, scores.spent)
        vectors = list(zip(*(column.tolist() for column in columns), strict=True))
        fewer, more = vectors[: len(fronts[0])], set(vectors[len(fronts[0]) :])
        together = front_of((vector, None) for vector in vectors)
        assert together.keys() == more
        assert all(any(v == m or dominates(m, v) for m in more) for v in fewer)


LIMIT = 2**22


def ties_of(instance, memory_limit=LIMIT):
    """Ties of a random instance's front, and the twin's ties by point."""
    result = find_front(instance.landscape())
    front, designs = instance.front(), result.designs.tolist()
    scores = instance.scores(designs) if designs else None
    source = ExactTies(
        tied_designs, instance.landscape(), result.designs, scores, result.n_tied, memory_limit
    )
    return source, [front[instance.score(design)] for design in designs]


def assert_all_ties(source, expected):
    for point, designs in enumerate(expected):
        ties = [tuple(design.tolist()) for design in source(point)]
        assert ties[0] == designs[0]
        assert sorted(ties) == sorted(designs)


class TestTies:
    @pytest.mark.parametrize(
        "costs", [FREE_AND_EXPENSIVE, ALIKE], ids=["free and expensive", "alike"]
    )
    @pytest.mark.parametrize("n_features", UP_TO_5)
    @pytest.mark.parametrize(
        ("n_rows", "density"), [(1, 0.3), (4, 0.05), (40, 0.0), (40, 0.3), (70, 0.02), (9, 1.0)]
    )
    def test_are_what_scoring_every_design_finds(self, n_features, n_rows, density, costs):
        for max_stages in range(1, n_features + 1):
            instance = Instance.random(n_features, max_stages, n_rows, density, costs)
            assert_all_ties(*ties_of(instance))
