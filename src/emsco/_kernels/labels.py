"""Chains of nested subsets, grown by one subset at a time, without any that cannot matter.

A *label* stands for chains that end in one subset and differ in nothing that matters of what may
follow: the rows still undecided, the rows accepted and wrong, the cost, and the stages where their
number is limited. Whatever stages come next, they accept the same rows, at the same cost, after
each of these chains: one number of them, and the simplest, are all there is to keep. Rows that no
larger subset accepts are left out of a label's rows: nothing that follows decides them.

A chain is given up for one of two reasons, and both are proofs:

- *A known design beats all its futures.* From a label one can tell the most rows that any future
  accepts, the fewest of them that are wrong, and the least that it costs. `known` holds, for as
  many accepted and wrong rows, the least cost of a design at no less coverage and accuracy. If
  that is less, some design is better than every future.
- *Another label beats it.* Two labels of a subset with the same rows have the same futures. Each
  future adds the same accepted rows, wrong rows and cost to both, so one that is behind in
  something and ahead in nothing stays so to the end.

Every chain that is given up stands for a number of designs, which count as settled; at the end
their sum must be the size of the space, or something was lost. That is exact search.

With a *width*, labels of a subset are compared whatever their rows, and of too many only those
that come nearest to the front stay. That is no proof, but a good front in little time, of stages
with a choice of thresholds, *levels*, too.

Where exact search must buy everything, a design is a chain and the full set after it, its *tail*.
It is counted with the chain, which then needs no label if nothing else can follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import cython
import numpy as np
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    Labels,
    OutFloats2,
    OutInts1,
    OutInts2,
    OutWords2,
    Words2,
    Words3,
)
from cython.cimports.emsco._kernels.bits import popcount

LABEL = np.dtype(
    [
        ("accepted", np.int64),
        ("wrong", np.int64),
        ("n_open", np.int64),  # rows still undecided that some larger subset accepts
        ("n_tied", np.int64),  # chains that it stands for; negative once it is beaten
        ("stages", np.int32),
        ("before", np.int32),  # the label that the simplest of them has grown from
        ("element", np.int32),  # what it has grown into: subset · levels + level
        # Of a design: level of the full set that ends it, or -1. Of labels: a rank, where some go.
        ("tail", np.int32),
        ("spent", np.float64),
        ("allowed", np.float64),  # a future that spends more than this is beaten
        ("behind", np.float64),  # how much cheaper a completion had to be to join the front
        ("code", np.float64),  # smaller for a simpler design, of those with as many stages
    ]
)
_SPARE = cython.declare(cython.int, 4)  # times `width` labels of a subset are kept until it is done
_INFINITY = cython.declare(cython.double, float("inf"))
_EVERY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_BASIS = cython.declare(cython.ulonglong, 14695981039346656037)
_PRIME = cython.declare(cython.ulonglong, 1099511628211)


@cython.cclass
@dataclass(eq=False, repr=False)
class Space:
    """Subsets, and what holds for all chains of them.

    A subset comes after all that are parts of it: the empty set first, the full set last.
    """

    members: Words2  # features of each subset, 32 in a word
    is_whole: cython.bint  # whether a subset's place is its number, feature i being bit i
    accepts: Words3  # rows by subset and level
    errs: Words3  # accepted rows with the wrong label
    reach: Words2  # rows that some larger subset accepts
    doomed: Words2  # rows sure to be accepted in the end, and wrong in every larger subset
    missing: Words2  # rows that lack a feature, by feature; none if no row lacks any
    weights: Ints1  # how much each row of a word counts
    early: Bytes1  # levels of a stage before the last
    last: Bytes1  # levels of the last stage
    cost: Floats1
    next_cost: Floats1  # least that one more stage costs
    place: Floats1  # a subset's share of a label's code
    ways: Ints2  # ways to go on with m features in at most r stages, by m and r
    n_rows: cython.longlong
    max_stages: cython.longlong
    may_stop: cython.bint  # whether a design may leave features out
    evaluation: cython.double  # cost of running a stage
    most_paid: cython.double  # largest cost of a row
    slack: cython.double  # costs this close, relatively, are equal
    shift: cython.int  # `known` has a line for every 2 ** shift rows
    binding: cython.bint  # whether the number of stages can matter before the features run out
    width: cython.longlong  # most labels of a subset; 0 for exact search
    tries: Ints1  # levels at which the full set is tried after each chain


@cython.cclass
@dataclass(eq=False, repr=False)
class Room:
    """Where chains that are grown into some subsets go, and room to work in.

    Labels of a subset are *fresh* until all of them are known. Those that are compared with each
    other hang in a list: `heads`, a hash table by rows, has the first of each list, and `after` the
    next one of each label, counted from the first fresh label of the subset; -1 for none.
    """

    fresh: Labels
    rows: OutWords2  # of fresh labels
    designs: Labels
    heads: OutInts1
    after: OutInts1
    tally: OutInts1  # designs noted, labels tried, designs settled
    blocked: OutWords2  # rows that lack a feature which a stage buys: the new one, and the tail


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _allowance(
    known: Floats2, accepted: cython.longlong, wrong: cython.longlong, shift: cython.int
) -> cython.double:
    """Least known cost at no less coverage and accuracy than these; infinity if there is none.

    Accepted rows are rounded up and wrong ones down, to a place that is better than what was asked
    for. What beats the place beats what was asked for.
    """
    line: cython.longlong = 1
    return known[(accepted + (line << shift) - 1) >> shift, wrong >> shift]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(
    known: OutFloats2,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
    shift: cython.int,
) -> cython.void:
    """Note in `known` what a design costs, at all places that are no better than the design."""
    one: cython.longlong = 1
    fewest: cython.longlong
    line: cython.longlong = accepted >> shift
    while line >= 0:
        # Fewest wrong rows, of as many accepted ones, at which the design is no less accurate;
        # where nothing is accepted, accuracy is 0.
        fewest = line << shift
        if accepted:
            fewest = (fewest * wrong + accepted - 1) // accepted
        column = (fewest + (one << shift) - 1) >> shift
        if known[line, column] <= spent:
            return
        while column < known.shape[1] and known[line, column] > spent:
            known[line, column] = spent
            column += 1
        line -= 1


def note_designs(
    known: OutFloats2, accepted: Ints1, wrong: Ints1, spent: Floats1, shift: cython.int
) -> None:
    """Note designs in `known`."""
    with cython.nogil:
        for i in range(accepted.shape[0]):
            _note(known, accepted[i], wrong[i], spent[i], shift)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_part(members: Words2, small: cython.Py_ssize_t, large: cython.Py_ssize_t) -> cython.bint:
    """Whether all features of one subset are in another."""
    for w in range(members.shape[1]):
        if members[small, w] & ~members[large, w]:
            return False
    return True


def join_larger(members: Words2, rows: Words2, joined: OutWords2) -> None:
    """For each subset, join the rows of all larger ones."""
    with cython.nogil:
        for t in range(members.shape[0]):
            for u in range(t + 1, members.shape[0]):
                if _is_part(members, t, u):
                    for w in range(rows.shape[1]):
                        joined[t, w] |= rows[u, w]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _block(
    space: Space,
    small: cython.Py_ssize_t,
    large: cython.Py_ssize_t,
    blocked: OutWords2,
    line: cython.Py_ssize_t,
) -> cython.void:
    """Rows that lack a feature which the step from one subset to a larger one buys."""
    bought: cython.ulonglong
    if space.missing.shape[0] == 0:
        return
    for w in range(blocked.shape[1]):
        blocked[line, w] = 0
    for i in range(space.missing.shape[0]):
        bought = space.members[large, i // 32] & ~space.members[small, i // 32]
        if (bought >> (i % 32)) & 1:
            for w in range(blocked.shape[1]):
                blocked[line, w] |= space.missing[i, w]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_design(
    room: Room,
    space: Space,
    known: OutFloats2,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
    stages: cython.longlong,
    n_tied: cython.longlong,
    code: cython.double,
    before: cython.longlong,
    element: cython.longlong,
    tail: cython.longlong,
) -> cython.bint:
    """Keep a design that no known one beats; False if there is no place for it."""
    n = room.tally[0]
    if n == room.designs.shape[0]:
        return False
    room.designs[n].accepted = accepted
    room.designs[n].wrong = wrong
    room.designs[n].spent = spent
    room.designs[n].stages = stages
    room.designs[n].n_tied = n_tied
    room.designs[n].code = code
    room.designs[n].before = before
    room.designs[n].element = element
    room.designs[n].tail = tail
    room.tally[0] = n + 1
    _note(known, accepted, wrong, spent, space.shift)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_list(
    room: Room,
    mask: cython.ulonglong,
    begun: cython.Py_ssize_t,
    new: cython.Py_ssize_t,
) -> cython.ulonglong:
    """Where the list of labels with the rows of `new` begins in the index, or would."""
    same: cython.bint
    place: cython.ulonglong = _BASIS
    for w in range(room.rows.shape[1]):  # FNV-1a, mixed so that the low bits depend on all
        place = ((place ^ cython.cast(cython.ulonglong, room.rows[new, w])) * _PRIME) & _EVERY
        place ^= place >> 32
    place &= mask
    while mask and room.heads[place] >= 0:
        head = begun + room.heads[place]
        same = True
        for w in range(room.rows.shape[1]):
            same &= room.rows[head, w] == room.rows[new, w]
        if same:
            return place
        place = (place + 1) & mask
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang(room: Room, place: cython.ulonglong, new: cython.longlong) -> cython.void:
    """Hang a label into its list: first if the list is empty, else second."""
    if room.heads[place] < 0:
        room.heads[place], room.after[new] = new, -1
    else:
        room.after[new] = room.after[room.heads[place]]
        room.after[room.heads[place]] = new


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hang_all(
    room: Room, mask: cython.ulonglong, begun: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.void:
    """Make all lists anew."""
    for place in range(cython.cast(cython.longlong, mask) + 1):
        room.heads[place] = -1
    for i in range(end - begun):
        _hang(room, _find_list(room, mask, begun, begun + i), i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_superfluous(
    room: Room,
    space: Space,
    begun: cython.Py_ssize_t,
    head: cython.longlong,
    new: cython.Py_ssize_t,
    slack: cython.double,
) -> cython.bint:
    """Compare label `new` with those of its list: True if one of them makes it superfluous.

    One is beaten by another that accepts no fewer rows, no more of them wrong, in no more stages
    where their number is limited, and is better in at least one of rows or cost. Costs within
    `slack` may lead to equal ones, so they alone decide nothing. Equal labels become one, with
    the sum of their counts. The count of labels that `new` beats turns negative; `_close` takes
    them out.
    """
    unequal: cython.bint
    cheaper: cython.bint
    costlier: cython.bint
    is_simpler: cython.bint
    i: cython.longlong = head
    while i >= 0:
        old = begun + i
        i = room.after[i]
        if room.fresh[old].n_tied < 0:
            continue
        more = room.fresh[old].accepted - room.fresh[new].accepted
        worse = room.fresh[old].wrong - room.fresh[new].wrong
        later = room.fresh[old].stages - room.fresh[new].stages
        dearer = room.fresh[old].spent - room.fresh[new].spent
        unequal = more != 0 or worse != 0
        if not unequal and dearer == 0.0 and (later == 0 or not space.binding):
            n_tied = room.fresh[old].n_tied + room.fresh[new].n_tied
            is_simpler = later > 0 or (later == 0 and room.fresh[new].code < room.fresh[old].code)
            if is_simpler and space.width == 0:
                room.fresh[old] = room.fresh[new]
            room.fresh[old].n_tied, room.fresh[new].n_tied = n_tied, 0
            return True
        if not space.binding:
            later = 0
        cheaper = (unequal and dearer <= 0.0) or dearer < -slack
        if cheaper and more >= 0 and worse <= 0 and later <= 0:
            return True
        costlier = (unequal and dearer >= 0.0) or dearer > slack
        if costlier and more <= 0 and worse >= 0 and later >= 0:
            room.fresh[old].n_tied = -room.fresh[old].n_tied
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _close(
    room: Room, space: Space, begun: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Close up the labels of a subset that stand: with a width, those nearest to the front."""
    n_nearer: cython.longlong
    for i in range(begun, end if space.width else begun):
        n_nearer = 0
        for j in range(begun, end):
            n_nearer += room.fresh[j].n_tied > 0 and (
                room.fresh[j].behind < room.fresh[i].behind
                or (room.fresh[j].behind == room.fresh[i].behind and j < i)
            )
        room.fresh[i].tail = n_nearer - space.width  # below 0 for those that stay
    kept = begun
    for i in range(begun, end):
        if room.fresh[i].n_tied > 0 and room.fresh[i].tail < 0:
            if i != kept:
                room.fresh[kept] = room.fresh[i]
                for w in range(room.rows.shape[1]):
                    room.rows[kept, w] = room.rows[i, w]
            kept += 1
    return kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _try_all(
    space: Space, room: Room, known: OutFloats2, t: cython.Py_ssize_t, i: cython.Py_ssize_t
) -> cython.bint:
    """Buy all features after fresh label `i` of subset `t`; False if there is no place for it.

    With exact search that is a design, else it tells how near to the front the label comes.
    """
    full = space.cost.shape[0] - 1
    stages = room.fresh[i].stages + 1
    step = space.cost[full] - space.cost[t] + space.evaluation
    spent = room.fresh[i].spent + (space.n_rows - room.fresh[i].accepted) * step
    code = room.fresh[i].code + stages * (space.place[full] - space.place[t])
    accepted: cython.longlong
    wrong: cython.longlong
    here: cython.ulonglong
    for k in range(space.tries.shape[0]):
        accepted, wrong = room.fresh[i].accepted, room.fresh[i].wrong
        for w in range(room.rows.shape[1]):
            here = room.rows[i, w] & ~room.blocked[1, w]
            accepted += space.weights[w] * popcount(here & space.accepts[full, space.tries[k], w])
            wrong += space.weights[w] * popcount(here & space.errs[full, space.tries[k], w])
        allowed = _allowance(known, accepted, wrong, space.shift)
        room.fresh[i].behind = min(room.fresh[i].behind, spent - allowed)
        if space.width or allowed < spent * (1.0 - space.slack):
            continue
        if not _add_design(
            room, space, known, accepted, wrong, spent, stages, room.fresh[i].n_tied, code,
            room.fresh[i].before, room.fresh[i].element, space.tries[k],
        ):  # fmt: skip
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow_into(
    space: Space,
    known: OutFloats2,
    labels: Labels,
    rows: Words2,
    spans: Ints2,
    t: cython.longlong,
    begun: cython.Py_ssize_t,
    room: Room,
) -> cython.longlong:
    """Grow all chains into subset `t`; return where its labels end, or -1 where room runs out.

    The steps, for each smaller subset and each of its labels: give the chain up by a test that
    reads no row; see what the stage does to its rows; note the designs that end here, or after the
    full set; give the chain up if a known design beats all its futures, or another label does.
    """
    full: cython.longlong = space.cost.shape[0] - 1
    n_words = rows.shape[1]
    n_levels = space.accepts.shape[1]
    n_rows = space.n_rows
    strict: cython.double = 1.0 - space.slack
    is_exact: cython.bint = space.width == 0
    buys_all: cython.bint = not space.may_stop
    may_end: cython.bint = space.may_stop or t == full
    # Whether the full set is a design after each chain, so that no chain need grow into it.
    tail: cython.longlong = is_exact and buys_all
    n_tails: cython.longlong = space.tries.shape[0] if tail else 0
    all_next: cython.double = space.cost[full] - space.cost[t] + space.evaluation
    rest: cython.double = all_next if buys_all and t != full else 0.0
    rest_share: cython.double = space.place[full] - space.place[t]
    cheapest_next: cython.double = space.next_cost[t]
    # Costs that lie this close may be equal: those of the largest that may follow.
    largest = space.cost[full] + space.max_stages * space.evaluation
    slack: cython.double = space.slack * n_rows * largest
    n_early: cython.longlong = 0
    n_last: cython.longlong = 0
    left: cython.longlong = 0  # features that are not bought yet
    mask: cython.ulonglong = 255 if is_exact else 0
    n_fresh = begun
    n_tried: cython.longlong = 0
    n_settled: cython.longlong = 0
    source: cython.longlong = t
    goes_on: cython.bint
    min_spent: cython.double
    is_last: cython.bint
    leaving: cython.longlong
    errors: cython.longlong
    more: cython.longlong
    worse: cython.longlong
    first: cython.ulonglong
    later: cython.ulonglong
    n_open: cython.longlong
    n_doomed: cython.longlong
    n_ways: cython.longlong
    here: cython.ulonglong
    spent: cython.double
    nearest: cython.double
    code: cython.double
    for w in range(space.members.shape[1]):
        left += popcount(space.members[full, w] & ~space.members[t, w])
    for level in range(n_levels):
        n_early += space.early[level]
        n_last += space.last[level]
    _block(space, t, full, room.blocked, 1)
    _hang_all(room, mask, begun, begun)
    while source > 0:
        if space.is_whole:
            source = (source - 1) & t
        else:
            source -= 1
            if not _is_part(space.members, source, t):
                continue
        if tail and t == full:
            source = 0  # chains that end with the full set are known, but for this one
        if spans[source, 0] == spans[source, 1]:
            continue
        step = space.cost[t] - space.cost[source] + space.evaluation
        share = space.place[t] - space.place[source]
        _block(space, source, t, room.blocked, 0)
        for q in range(spans[source, 0], spans[source, 1]):
            stages = labels[q].stages + 1
            if stages > space.max_stages or (stages == space.max_stages and not may_end):
                continue
            n_tried += 1
            n_before = n_rows - labels[q].accepted
            spent = labels[q].spent + n_before * step  # all undecided rows pay for the stage
            n_tied = labels[q].n_tied
            n_ways = space.ways[left, space.max_stages - stages]
            # The cheapest test comes first, without a look at rows. Undecided rows that no
            # larger subset accepts pay for all that is left. No future through `t` accepts more
            # or errs less than the best conceivable one of label q.
            hopeless = (n_before - labels[q].n_open) * rest + spent
            paid = space.cost[t] + stages * space.evaluation + rest
            if labels[q].allowed < hopeless * strict or paid > space.most_paid:
                n_settled += n_tied * (n_early * n_ways + (n_last if may_end else 0))
                continue
            goes_on = left > tail and stages < space.max_stages - tail
            code = labels[q].code + stages * share
            nearest = _INFINITY
            if n_levels == 1 and tail and not goes_on and t != full:
                # Nothing but the full set can follow, of one level: all in one pass.
                leaving, more, worse = 0, 0, 0
                for w in range(n_words):
                    here = rows[q, w] & ~room.blocked[0, w]
                    first = here & space.accepts[t, 0, w]
                    later = rows[q, w] & ~first & ~room.blocked[1, w]
                    leaving += space.weights[w] * popcount(first)
                    more += space.weights[w] * popcount(first | (later & space.accepts[full, 0, w]))
                    worse += space.weights[w] * popcount(
                        (here & space.errs[t, 0, w]) | (later & space.errs[full, 0, w])
                    )
                ended = spent + (n_before - leaving) * all_next
                n_settled += n_tied
                more, worse = labels[q].accepted + more, labels[q].wrong + worse
                allowed = _allowance(known, more, worse, space.shift)
                if allowed >= ended * strict and not _add_design(
                    room, space, known, more, worse, ended, stages + 1, n_tied,
                    code + (stages + 1) * rest_share, q, t, 0,
                ):  # fmt: skip
                    return -1
                continue
            is_last = left == 0 or stages == space.max_stages
            for level in range(n_levels):
                if not (may_end and space.last[level]):
                    continue
                leaving, errors = 0, 0
                for w in range(n_words):
                    here = rows[q, w] & ~room.blocked[0, w]
                    leaving += space.weights[w] * popcount(here & space.accepts[t, level, w])
                    errors += space.weights[w] * popcount(here & space.errs[t, level, w])
                accepted = labels[q].accepted + leaving
                wrong = labels[q].wrong + errors
                n_settled += n_tied
                allowed = _allowance(known, accepted, wrong, space.shift)
                nearest = min(nearest, spent - allowed)
                if allowed >= spent * strict and not _add_design(
                    room, space, known, accepted, wrong, spent, stages, n_tied, code,
                    q, t * n_levels + level, -1,
                ):  # fmt: skip
                    return -1
            if is_last:
                continue
            for level in range(n_levels):
                if not space.early[level]:
                    continue
                if n_fresh == room.fresh.shape[0]:
                    return -1
                leaving, errors, n_open, n_doomed = 0, 0, 0, 0
                for w in range(n_words):
                    here = rows[q, w] & ~room.blocked[0, w] & space.accepts[t, level, w]
                    later = rows[q, w] & ~here & space.reach[t, w]
                    room.rows[n_fresh, w] = later
                    leaving += space.weights[w] * popcount(here)
                    errors += space.weights[w] * popcount(here & space.errs[t, level, w])
                    n_open += space.weights[w] * popcount(later)
                    n_doomed += space.weights[w] * popcount(later & space.doomed[t, w])
                # A stage that nobody leaves at is worse than none, unless values are missing: who
                # lacks a feature of one stage may leave at the next.
                if leaving == 0 and not is_exact and space.missing.shape[0] == 0:
                    continue
                accepted, wrong = labels[q].accepted + leaving, labels[q].wrong + errors
                # At best, every row that some larger subset accepts is accepted in the end, and
                # only those are wrong that are doomed. All rows still undecided pay for one more
                # stage, and those that no larger subset accepts for all that is left.
                allowed = _allowance(known, accepted + n_open, wrong + n_doomed, space.shift)
                min_spent = spent + (n_rows - accepted) * cheapest_next
                min_spent += (n_rows - accepted - n_open) * max(0.0, rest - cheapest_next)
                if allowed < min_spent * strict:
                    n_settled += n_tied * n_ways
                    continue
                room.fresh[n_fresh].accepted = accepted
                room.fresh[n_fresh].wrong = wrong
                room.fresh[n_fresh].stages = stages
                room.fresh[n_fresh].n_open = n_open
                room.fresh[n_fresh].n_tied = n_tied
                room.fresh[n_fresh].before = q
                room.fresh[n_fresh].element = t * n_levels + level
                room.fresh[n_fresh].tail = -1
                room.fresh[n_fresh].spent = spent
                room.fresh[n_fresh].allowed = allowed
                room.fresh[n_fresh].behind = nearest
                room.fresh[n_fresh].code = code
                if not (is_exact and goes_on) and not _try_all(space, room, known, t, n_fresh):
                    return -1
                if not goes_on:
                    n_settled += n_tied * n_tails
                    continue
                place = _find_list(room, mask, begun, n_fresh)
                if _is_superfluous(room, space, begun, room.heads[place], n_fresh, slack):
                    n_settled += room.fresh[n_fresh].n_tied * n_ways
                    continue
                _hang(room, place, n_fresh - begun)
                n_fresh += 1
                if is_exact and 2 * (n_fresh - begun) > cython.cast(cython.longlong, mask):
                    mask = (mask << 2) | 3  # four times the places, as half of them are taken
                    _hang_all(room, mask, begun, n_fresh)
                elif not is_exact and n_fresh - begun == _SPARE * space.width:
                    n_fresh = _close(room, space, begun, n_fresh)
                    _hang_all(room, mask, begun, n_fresh)
    # Only now is it known which labels stand: a label may be beaten by one that came later.
    for i in range(begun, n_fresh):
        if room.fresh[i].n_tied < 0:
            n_ways = space.ways[left, space.max_stages - room.fresh[i].stages]
            n_settled -= room.fresh[i].n_tied * n_ways
        elif tail:
            n_settled += room.fresh[i].n_tied * n_tails
            if not _try_all(space, room, known, t, i):
                return -1
    room.tally[1] += n_tried
    room.tally[2] += n_settled
    return _close(room, space, begun, n_fresh)


def grow_chains(
    space: Space,
    known: OutFloats2,
    labels: Labels,
    rows: Words2,
    spans: OutInts2,
    subsets: Ints1,
    first: cython.Py_ssize_t,
    ends: OutInts1,
    room: Room,
) -> int:
    """Grow chains into each of `subsets` from `first` on; return which one to go on with.

    `spans` delimits the `labels` of each subset, `rows` are theirs, and `ends` says where the fresh
    labels of each subset end. `known` takes note of designs that are found.

    Each subset is grown into as a whole: where room runs out, counts go back to where it began, and
    it is grown into again once there is more room.
    """
    i: cython.Py_ssize_t = first
    begun: cython.longlong = ends[first - 1] if first else 0
    with cython.nogil:
        while i < subsets.shape[0]:
            n_designs, n_tried, n_settled = room.tally[0], room.tally[1], room.tally[2]
            end = _grow_into(space, known, labels, rows, spans, subsets[i], begun, room)
            if end < 0:
                room.tally[0], room.tally[1], room.tally[2] = n_designs, n_tried, n_settled
                break
            ends[i] = begun = end
            i += 1
    return i
