"""Chains of nested subsets, grown by one subset at a time, without any that cannot matter.

A *label* stands for all chains that end in one subset with the same undecided rows and the same
accepted and wrong rows, cost and stages. Whatever stages follow, they accept the same rows, at the
same cost, after each of these chains: one number of them, and the simplest, are all there is to
keep. Rows that no larger subset accepts are left out of a label's undecided rows: they stay
undecided whatever follows, so chains that differ in them alone have the same futures too.

A chain is given up for one of two reasons:

- *Another label beats it.* Two labels of a subset with the same undecided rows have the same
  futures. Each future adds the same accepted rows, wrong rows and cost to both, so one that is
  behind in something and ahead in nothing stays so to the end. See `_settle`.
- *A known design beats all its futures.* From a label one can tell the most rows that any future
  accepts, the fewest of them that are wrong, and the least that it costs. A design that is known,
  by whatever search, and is better than these three together is better than every future. The
  allowances hold, for accepted and wrong rows, the least cost known at no less coverage and
  accuracy. See `emsco.search.allowances`.

Every chain that is given up stands for a number of designs, which are counted as settled; at the
end their sum must be the size of the space, or something was lost.

Where every feature must be bought, a design is a chain and the full set after it, the *tail*. Where
features may be left out there is no tail: every chain is a design as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import cython
from cython.cimports.emsco._kernels.arrays import (
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    OutFloats1,
    OutInts1,
    OutSmallInts1,
    OutWords2,
    Words1,
    Words2,
    Words3,
)
from cython.cimports.emsco._kernels.bits import popcount

from emsco._base.typing import FloatArray, IntArray, SmallIntArray, WordArray

_NO_ROOM = cython.declare(cython.int, 1)  # for fresh labels
_NO_PLACE = cython.declare(cython.int, 2)  # for candidates
NO_ROOM, NO_PLACE = _NO_ROOM, _NO_PLACE
_EVERY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_BASIS = cython.declare(cython.ulonglong, 14695981039346656037)
_PRIME = cython.declare(cython.ulonglong, 1099511628211)


class ChainArrays(NamedTuple):
    """Rows and costs of every subset, with bounds on all larger subsets."""

    accepts: WordArray
    errs: WordArray  # accepted rows with the wrong label
    missing: WordArray  # rows that lack some of these features, by subset of `missing_mask`
    missing_mask: int  # the features that some row lacks
    weights: IntArray  # how much each row of a word counts
    reach: WordArray  # accepted by some larger subset
    doomed: WordArray  # sure to be accepted by the tail, correct in no larger subset
    expensive: WordArray  # rows that no larger subset accepts for less, by level of cost
    rises: FloatArray  # by how much each level's cost is above the last one's, same for all
    cost: FloatArray
    next_cost: FloatArray  # least that a stage after this one costs; 0 for the full set
    place: IntArray  # sum of the digits' values of the subset's features in a chromosome number
    ways: IntArray  # ways to go on with m features in at most r stages, by m and r


class Labels(NamedTuple):
    """Chains, by what matters of them for their future."""

    undecided: WordArray  # of the rows that some larger subset accepts
    n_open: SmallIntArray  # how many these are
    accepted: SmallIntArray
    wrong: SmallIntArray
    spent: FloatArray
    allowed: FloatArray  # a future that spends more than this is dominated
    stages: SmallIntArray
    n_tied: IntArray
    code: IntArray  # the simplest one's chromosome number, later features as 0


class Candidates(NamedTuple):
    """Objectives of whole designs, with the simplest design and the number of them."""

    accepted: SmallIntArray
    wrong: SmallIntArray
    spent: FloatArray
    stages: SmallIntArray
    n_tied: IntArray
    code: IntArray


class Rules(NamedTuple):
    """Numbers that hold for a whole search."""

    n_rows: int
    max_stages: int
    tail: int  # 1 where the full set ends every design, else 0
    evaluation: float  # cost of running a stage
    most_paid: float  # largest cost of a row that is rejected
    binding: bool  # whether the number of stages can matter before the features run out
    slack: float  # costs this close, relatively, are equal
    shift: int  # allowances have a line for every 2 ** shift rows
    keep_all: bool  # whether chains that only one design stands for become labels, too


class Room(NamedTuple):
    """Where chains that are grown into some sets go, and room to work in.

    Labels of a set are *fresh* until all of them are known. Those with the same undecided rows, a
    *state*, hang in a list: `states`, a hash table, has the first of each list, and `after` the
    next one of each label, counted from the first fresh label of the set; -1 for none.
    """

    fresh: Labels
    ends: IntArray  # where the fresh labels of each set end
    candidates: Candidates
    states: IntArray
    after: IntArray
    tally: IntArray  # candidates, transitions, and designs that need no further look
    scratch: WordArray  # six lines of rows


@cython.cclass
@dataclass(eq=False, repr=False)
class _Arrays:
    """`ChainArrays` in C, where their fields are read without Python; so are those below."""

    accepts: Words2
    errs: Words2
    missing: Words2
    missing_mask: cython.longlong
    weights: Ints1
    reach: Words2
    doomed: Words2
    expensive: Words3
    rises: Floats1
    cost: Floats1
    next_cost: Floats1
    place: Ints1
    ways: Ints2


@cython.cclass
@dataclass(eq=False, repr=False)
class _Labels:
    """`Labels` in C."""

    undecided: OutWords2
    n_open: OutSmallInts1
    accepted: OutSmallInts1
    wrong: OutSmallInts1
    spent: OutFloats1
    allowed: OutFloats1
    stages: OutSmallInts1
    n_tied: OutInts1
    code: OutInts1


@cython.cclass
@dataclass(eq=False, repr=False)
class _Candidates:
    """`Candidates` in C."""

    accepted: OutSmallInts1
    wrong: OutSmallInts1
    spent: OutFloats1
    stages: OutSmallInts1
    n_tied: OutInts1
    code: OutInts1


@cython.cclass
@dataclass(eq=False, repr=False)
class _Rules:
    """`Rules` in C."""

    n_rows: cython.longlong
    max_stages: cython.longlong
    tail: cython.int
    evaluation: cython.double
    most_paid: cython.double
    binding: cython.bint
    slack: cython.double
    shift: cython.int
    keep_all: cython.bint


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _allowance(
    known: Floats2, accepted: cython.longlong, wrong: cython.longlong, shift: cython.int
) -> cython.double:
    """Least known cost at no less coverage and accuracy than these; infinity if there is none.

    Allowances are coarse: accepted rows are rounded up and wrong ones down, to a line that is
    better than what was asked for. What beats the line beats what was asked for.
    """
    line: cython.longlong = 1
    return known[(accepted + (line << shift) - 1) >> shift, wrong >> shift]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _later_cost(arrays: _Arrays, subset: cython.Py_ssize_t, rows: Words1) -> cython.double:
    """Least that these undecided rows must still pay, each on its own.

    A row pays at least for the cheapest larger subset that accepts it. That is rounded down to
    one of a few levels, so that rows can be counted by bits: a row whose level is the third pays
    the rise to the first, to the second and to the third.
    """
    total: cython.double = 0.0
    n_expensive: cython.longlong
    for level in range(arrays.rises.shape[0]):
        n_expensive = 0
        for w in range(rows.shape[0]):
            n_expensive += arrays.weights[w] * popcount(
                rows[w] & arrays.expensive[subset, level, w]
            )
        total += arrays.rises[level] * n_expensive
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_go_on(
    rules: _Rules,
    arrays: _Arrays,
    known: Floats2,
    subset: cython.Py_ssize_t,
    rows: Words1,
    n_open: cython.longlong,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
) -> cython.bint:
    """Whether more stages, none of which the design needs, can lead to something not dominated.

    The most expensive row that they accept tells what all rows still undecided pay at least: they
    are asked for as long as it takes to get there. Nobody knows which row that will be, so each
    level of cost is tried. At a level, all rows that some larger subset accepts for no more are
    taken for accepted, each at the least that its own level costs; all others pay this level's.
    """
    n_levels = arrays.rises.shape[0]
    n_left = rules.n_rows - accepted
    cheapest_next = arrays.next_cost[subset]
    n_within: cython.longlong = 0
    paid: cython.double = 0.0
    level_cost: cython.double = 0.0
    n_expensive: cython.longlong
    idle: cython.bint
    for level in range(n_levels + 1):
        n_expensive = 0
        if level < n_levels:
            for w in range(rows.shape[0]):
                n_expensive += arrays.weights[w] * popcount(
                    rows[w] & arrays.expensive[subset, level, w]
                )
        each = max(cheapest_next, level_cost)
        n_more = n_open - n_expensive - n_within
        n_within += n_more
        paid += n_more * each
        total = spent + paid + (n_left - n_within) * each
        # Stages that accept no row and cost something are worse than none.
        idle = n_within == 0 and n_left * each > 2.0 * rules.slack * total
        if not idle and (n_more > 0 or level == 0):
            allowed = _allowance(known, accepted + n_within, wrong, rules.shift)
            if allowed >= total * (1.0 - rules.slack):
                return True
        if level < n_levels:
            level_cost += arrays.rises[level]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _most_stages(rules: _Rules, cost: cython.double) -> cython.longlong:
    """How many stages a design may have that buys this much."""
    n_stages: cython.longlong = 0
    while n_stages < rules.max_stages and (
        cost + rules.evaluation * (n_stages + 1) <= rules.most_paid
    ):
        n_stages += 1
    return n_stages


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_candidate(
    candidates: _Candidates,
    tally: OutInts1,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
    stages: cython.longlong,
    count: cython.longlong,
    code: cython.longlong,
) -> cython.bint:
    """Note a design that may be on the front; False if there is no place for it."""
    n = tally[0]
    if n == candidates.n_tied.shape[0]:
        return False
    candidates.accepted[n] = accepted
    candidates.wrong[n] = wrong
    candidates.spent[n] = spent
    candidates.stages[n] = stages
    candidates.n_tied[n] = count
    candidates.code[n] = code
    tally[0] = n + 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hash_words(keys: Words2, i: cython.Py_ssize_t) -> cython.ulonglong:
    """FNV-1a over the words of a line, then mixed so that the low bits depend on all."""
    h: cython.ulonglong = _BASIS
    for w in range(keys.shape[1]):
        h = ((h ^ cython.cast(cython.ulonglong, keys[i, w])) * _PRIME) & _EVERY
        h ^= h >> 32
    return h


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_state(
    index: OutInts1,
    mask: cython.ulonglong,
    undecided: Words2,
    first: cython.Py_ssize_t,
    new: cython.Py_ssize_t,
) -> cython.ulonglong:
    """Where the chain of labels with the undecided rows of `new` hangs in the index, or would."""
    place: cython.ulonglong = _hash_words(undecided, new) & mask
    same: cython.bint
    while index[place] >= 0:
        head = first + index[place]
        same = True
        for w in range(undecided.shape[1]):
            same &= undecided[head, w] == undecided[new, w]
        if same:
            return place
        place = (place + 1) & mask
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang(
    index: OutInts1, after: OutInts1, place: cython.ulonglong, new: cython.longlong
) -> cython.void:
    """Hang a label into the list of its state: first if the list is empty, else second."""
    if index[place] < 0:
        index[place], after[new] = new, -1
    else:
        after[new] = after[index[place]]
        after[index[place]] = new


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_index(
    index: OutInts1,
    mask: cython.ulonglong,
    undecided: Words2,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    after: OutInts1,
) -> cython.void:
    """Index the first label of each state anew; `after` links the others to it."""
    for place in range(cython.cast(cython.longlong, mask) + 1):
        index[place] = -1
    for i in range(last - first):
        _hang(index, after, _find_state(index, mask, undecided, first, first + i), i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settle(
    labels: _Labels,
    first: cython.Py_ssize_t,
    head: cython.longlong,
    after: Ints1,
    new: cython.Py_ssize_t,
    binding: cython.bint,
    slack: cython.double,
) -> cython.bint:
    """Compare label `new` with those of its state: True if one of them makes it superfluous.

    One is beaten by another that accepts no fewer rows, no more of them wrong, in no more stages
    where their number is limited, and is better in at least one of rows or cost. Costs within
    `slack` may lead to equal ones, so they alone decide nothing. Equal labels become one, with
    the sum of their counts. The count of labels that `new` beats turns negative; `_close_set`
    takes them out.
    """
    accepted, wrong = labels.accepted[new], labels.wrong[new]
    spent, stages = labels.spent[new], labels.stages[new]
    unequal: cython.bint
    cheaper: cython.bint
    more_expensive: cython.bint
    i = head
    while i >= 0:
        old = first + i
        more = labels.accepted[old] - accepted
        worse = labels.wrong[old] - wrong
        later = labels.stages[old] - stages if binding else 0
        difference = labels.spent[old] - spent
        if labels.n_tied[old] > 0:
            if more == 0 and worse == 0 and difference == 0.0 and later == 0:
                labels.n_tied[old] += labels.n_tied[new]
                if stages < labels.stages[old] or (
                    stages == labels.stages[old] and labels.code[new] < labels.code[old]
                ):
                    labels.stages[old], labels.code[old] = stages, labels.code[new]
                labels.n_tied[new] = 0
                return True
            unequal = more != 0 or worse != 0
            cheaper = (unequal and difference <= 0.0) or difference < -slack
            more_expensive = (unequal and difference >= 0.0) or difference > slack
            if more >= 0 and worse <= 0 and later <= 0 and cheaper:
                return True
            if more <= 0 and worse >= 0 and later >= 0 and more_expensive:
                labels.n_tied[old] = -labels.n_tied[old]
        i = after[i]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close_set(
    rules: _Rules,
    arrays: _Arrays,
    known: Floats2,
    left: cython.longlong,
    rest: cython.double,
    digits_left: cython.longlong,
    in_tail: Words1,
    fresh: _Labels,
    begun: cython.Py_ssize_t,
    n_fresh: cython.Py_ssize_t,
    candidates: _Candidates,
    tally: OutInts1,
) -> cython.longlong:
    """Close up the labels that stand; each, with its tail, is also a design.

    Only now are they, since a label may be beaten by one that came later to its set: that settles
    all designs which begin with its chains. A design is a candidate unless a known one beats it.

    Returns where they end, or -NO_PLACE.
    """
    full = arrays.cost.shape[0] - 1
    kept = begun
    leaving: cython.longlong
    wrong: cython.longlong
    for i in range(begun, n_fresh):
        stages, count = fresh.stages[i], fresh.n_tied[i]
        if count < 0:
            rest_stages = rules.max_stages - stages if rules.binding else left
            tally[2] -= count * arrays.ways[left, rest_stages]
            continue
        tally[2] += count
        leaving, wrong = 0, 0
        for w in range(fresh.undecided.shape[1]):
            rows = fresh.undecided[i, w]
            leaving += arrays.weights[w] * popcount(rows & in_tail[w])
            wrong += arrays.weights[w] * popcount(rows & in_tail[w] & arrays.errs[full, w])
            fresh.undecided[kept, w] = rows
        accepted = fresh.accepted[i] + leaving
        wrong_end = fresh.wrong[i] + wrong
        spent = fresh.spent[i] + (rules.n_rows - fresh.accepted[i]) * rest
        allowed = _allowance(known, accepted, wrong_end, rules.shift)
        code = fresh.code[i] + stages * digits_left
        if allowed >= spent * (1.0 - rules.slack) and not _add_candidate(
            candidates, tally, accepted, wrong_end, spent, stages + rules.tail, count, code
        ):
            return -_NO_PLACE
        fresh.n_open[kept] = fresh.n_open[i]
        fresh.accepted[kept] = fresh.accepted[i]
        fresh.wrong[kept] = fresh.wrong[i]
        fresh.spent[kept] = fresh.spent[i]
        fresh.allowed[kept] = fresh.allowed[i]
        fresh.stages[kept] = stages
        fresh.n_tied[kept] = count
        fresh.code[kept] = fresh.code[i]
        kept += 1
    return kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _extend_into(
    rules: _Rules,
    arrays: _Arrays,
    known: Floats2,
    labels: _Labels,
    spans: Ints2,
    target: cython.longlong,
    begun: cython.Py_ssize_t,
    fresh: _Labels,
    candidates: _Candidates,
    index: OutInts1,
    after: OutInts1,
    tally: OutInts1,
    scratch: OutWords2,
) -> cython.longlong:
    """Grow all chains into one set; return where its labels end, or -NO_ROOM or -NO_PLACE.

    Fresh labels of the set begin at `begun`.

    The steps, for each smaller subset and each of its labels: give the chain up by a test that
    reads no row; score it, if only the tail can follow; else see what the stage does to its rows,
    give it up if a known design beats all its futures, or if another label of its state does; keep
    it.
    """
    full: cython.longlong = arrays.cost.shape[0] - 1
    n_words = arrays.accepts.shape[1]
    tail = rules.tail
    # Of the largest cost that may follow.
    largest = arrays.cost[full] + rules.max_stages * rules.evaluation
    slack = rules.slack * rules.n_rows * largest
    rows, in_tail, leaves = scratch[0], scratch[1], scratch[2]
    errs, ends_here, wrong_ends = scratch[3], scratch[4], scratch[5]
    spent: cython.double
    min_spent: cython.double
    leaving: cython.longlong
    leaving_end: cython.longlong
    wrong_end: cython.longlong
    wrong_now: cython.longlong
    n_open: cython.longlong
    n_doomed: cython.longlong
    n_ways: cython.longlong
    last: cython.bint
    closing: cython.bint
    alive: cython.bint
    worthy: cython.bint
    n_fresh = begun
    mask: cython.ulonglong = 255
    _fill_index(index, mask, fresh.undecided, begun, begun, after)
    # The tail buys all that is left: `rest` is what each undecided row then pays.
    rest: cython.double = 0.0
    digits_left: cython.longlong = 0
    if tail:
        rest = arrays.cost[full] - arrays.cost[target] + rules.evaluation
        digits_left = arrays.place[full] - arrays.place[target]
    for w in range(n_words):
        kept_from = arrays.missing[(full ^ target) & arrays.missing_mask, w]
        in_tail[w] = arrays.accepts[full, w] & ~kept_from if tail else 0
    left = popcount(full ^ target)  # features that are not bought yet
    # Nothing but the tail, if anything, fits after the target.
    last = left == tail
    # A row that is never accepted pays for all features bought and all stages: no future of a
    # chain buys less than this, nor has fewer stages.
    affordable = _most_stages(rules, arrays.cost[full if tail else target]) - tail
    # Then every smaller subset, from the largest number down to the empty set.
    source = target
    while source > 0:
        source = (source - 1) & target
        if spans[source, 0] == spans[source, 1]:
            continue
        step = arrays.cost[target] - arrays.cost[source] + rules.evaluation
        digits = arrays.place[target] - arrays.place[source]
        # Rows that the new stage accepts, unless they lack a feature that it buys, and
        # rows that the tail accepts after it.
        for w in range(n_words):
            kept_from = arrays.missing[(target ^ source) & arrays.missing_mask, w]
            leaves[w] = arrays.accepts[target, w] & ~kept_from
            errs[w] = arrays.errs[target, w] & ~kept_from
            later = in_tail[w] & ~leaves[w]
            ends_here[w] = leaves[w] | later
            wrong_ends[w] = errs[w] | (later & arrays.errs[full, w])
        for q in range(spans[source, 0], spans[source, 1]):
            stages = labels.stages[q] + 1
            if rules.binding and stages > rules.max_stages - tail:
                continue
            tally[1] += 1
            # No stage but the tail can follow: this is one design, and needs no label.
            closing = last or (rules.binding and stages == rules.max_stages - tail)
            closing &= not rules.keep_all
            n_before = rules.n_rows - labels.accepted[q]
            spent = labels.spent[q] + n_before * step  # all undecided rows pay for the stage
            # Designs that begin with this chain: what giving it up settles.
            n_ways = 1
            if not closing:
                n_ways = arrays.ways[left, rules.max_stages - stages if rules.binding else left]
            # The cheapest test comes first, without a look at rows. Undecided rows that no
            # larger subset accepts pay up to the tail. No future through the target accepts
            # more or errs less than the best conceivable one of label q, for which `allowed`
            # was looked up when q was made: designs found since then could only allow less.
            hopeless = (n_before - labels.n_open[q]) * rest + spent
            if labels.allowed[q] < hopeless * (1.0 - rules.slack) or stages > affordable:
                # A closing label stands for the design through target, and no other.
                tally[2] += labels.n_tied[q] * n_ways
                continue
            code = labels.code[q] + (labels.stages[q] + 1 - tail) * digits
            if closing:
                # The objectives of the one design, tail included, in one pass over the rows.
                leaving, leaving_end, wrong_end = 0, 0, 0
                for w in range(n_words):
                    weight = arrays.weights[w]
                    open_rows = labels.undecided[q, w]
                    leaving += weight * popcount(open_rows & leaves[w])
                    leaving_end += weight * popcount(open_rows & ends_here[w])
                    wrong_end += weight * popcount(open_rows & wrong_ends[w])
                accepted = labels.accepted[q] + leaving_end
                wrong = labels.wrong[q] + wrong_end
                spent += (n_before - leaving) * rest
                tally[2] += labels.n_tied[q]
                allowed = _allowance(known, accepted, wrong, rules.shift)
                if allowed >= spent * (1.0 - rules.slack) and not _add_candidate(
                    candidates, tally, accepted, wrong, spent, stages + tail,
                    labels.n_tied[q], code + stages * digits_left,
                ):  # fmt: skip
                    return -_NO_PLACE
                continue
            # What the new stage does to the undecided rows. At best, every row that some
            # larger subset accepts (n_open) is accepted in the end, and only those are wrong
            # that the tail is sure to accept and no larger subset labels correctly (n_doomed).
            leaving, wrong_now, n_open, n_doomed = 0, 0, 0, 0
            for w in range(n_words):
                weight = arrays.weights[w]
                open_rows = labels.undecided[q, w]
                leaving += weight * popcount(open_rows & leaves[w])
                wrong_now += weight * popcount(open_rows & errs[w])
                rows[w] = open_rows & ~leaves[w] & arrays.reach[target, w]
                n_open += weight * popcount(rows[w])
                n_doomed += weight * popcount(rows[w] & arrays.doomed[target, w])
            accepted = labels.accepted[q] + leaving
            wrong = labels.wrong[q] + wrong_now
            allowed = _allowance(known, accepted + n_open, wrong + n_doomed, rules.shift)
            # At least, rows that no larger subset accepts pay for all that is left.
            min_spent = spent + (rules.n_rows - accepted - n_open) * rest
            alive = allowed >= min_spent * (1.0 - rules.slack)
            if tail:
                if alive:  # rows that are accepted later pay something first
                    min_spent += _later_cost(arrays, target, rows)
                    alive = allowed >= min_spent * (1.0 - rules.slack)
            elif alive and not _may_go_on(
                rules, arrays, known, target, rows, n_open, accepted, wrong, spent
            ):
                # No future is worth a label. The chain as it stands may still be a design
                # worth knowing: it costs less than any future, though it accepts fewer rows.
                here = _allowance(known, accepted, wrong, rules.shift)
                worthy = here >= spent * (1.0 - rules.slack)
                alive = worthy and rules.keep_all
                if (
                    worthy
                    and not alive
                    and not _add_candidate(
                        candidates, tally, accepted, wrong, spent, stages, labels.n_tied[q], code
                    )
                ):
                    return -_NO_PLACE
            if not alive:
                tally[2] += labels.n_tied[q] * n_ways
                continue
            # A chain that may matter: a label, unless another of its state beats it.
            if n_fresh == fresh.n_tied.shape[0]:
                return -_NO_ROOM
            for w in range(n_words):
                fresh.undecided[n_fresh, w] = rows[w]
            fresh.n_open[n_fresh] = n_open
            fresh.accepted[n_fresh] = accepted
            fresh.wrong[n_fresh] = wrong
            fresh.spent[n_fresh] = spent
            fresh.allowed[n_fresh] = allowed
            fresh.stages[n_fresh] = stages
            fresh.n_tied[n_fresh] = labels.n_tied[q]
            fresh.code[n_fresh] = code
            place = _find_state(index, mask, fresh.undecided, begun, n_fresh)
            if _settle(fresh, begun, index[place], after, n_fresh, rules.binding, slack):
                tally[2] += fresh.n_tied[n_fresh] * n_ways
                continue
            _hang(index, after, place, n_fresh - begun)
            n_fresh += 1
            if 2 * (n_fresh - begun) > cython.cast(
                cython.Py_ssize_t, mask
            ):  # half full: four times the places
                mask = (mask << 2) | 3
                _fill_index(index, mask, fresh.undecided, begun, n_fresh, after)
    return _close_set(
        rules, arrays, known, left, rest, digits_left, in_tail, fresh, begun, n_fresh,
        candidates, tally,
    )  # fmt: skip


def extend_chains(
    rules: Rules,
    arrays: ChainArrays,
    known: Floats2,
    labels: Labels,
    spans: Ints2,
    sets: Ints1,
    first_set: cython.Py_ssize_t,
    room: Room,
) -> tuple[int, int]:
    """Grow chains into each of `sets` from first_set on; which set to go on with, and why.

    `known` are the allowances, and `spans` delimits the labels of each subset.

    Sets are grown one after another, each as a whole: where room for labels or candidates runs
    out, counts go back to where the set began, and it is grown again once there is more room.
    """
    rules_in_c: _Rules = _Rules(*rules)
    arrays_in_c: _Arrays = _Arrays(*arrays)
    labels_in_c: _Labels = _Labels(*labels)
    fresh: _Labels = _Labels(*room.fresh)
    candidates: _Candidates = _Candidates(*room.candidates)
    ends: OutInts1 = room.ends
    states: OutInts1 = room.states
    after: OutInts1 = room.after
    tally: OutInts1 = room.tally
    scratch: OutWords2 = room.scratch
    begun: cython.longlong = ends[first_set - 1] if first_set else 0
    t: cython.Py_ssize_t = first_set
    lack: cython.longlong = 0
    with cython.nogil:
        while t < sets.shape[0]:
            n_candidates, n_seen, n_done = tally[0], tally[1], tally[2]
            end = _extend_into(
                rules_in_c, arrays_in_c, known, labels_in_c, spans, sets[t], begun,
                fresh, candidates, states, after, tally, scratch,
            )  # fmt: skip
            if end < 0:
                tally[0], tally[1], tally[2] = n_candidates, n_seen, n_done
                lack = -end
                break
            ends[t] = begun = end
            t += 1
    return t, lack
