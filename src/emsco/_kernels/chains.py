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

from typing import NamedTuple

import numpy as np

from emsco._base.typing import FloatArray, IntArray, SmallIntArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.compiler import helper, kernel
from emsco._kernels.slots import hash_words

NO_ROOM = 1  # for fresh labels
NO_PLACE = 2  # for candidates


@helper()
def allowance(known, accepted, wrong, shift):
    """Least known cost at no less coverage and accuracy than these; infinity if there is none.

    Allowances are coarse: accepted rows are rounded up and wrong ones down, to a line that is
    better than what was asked for. What beats the line beats what was asked for.
    """
    up = (accepted + (1 << shift) - 1) >> shift
    return known[up, wrong >> shift]


class ChainArrays(NamedTuple):
    """Rows and costs of every subset, with bounds on all larger subsets."""

    accepts: WordArray
    errs: WordArray  # accepted rows with the wrong label
    missing: WordArray  # rows that lack some of these features, by subset of `missing_mask`
    missing_mask: int  # the features that some row lacks
    weights: WordArray  # how much each row of a word counts
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


@helper()
def _later_cost(arrays, subset, rows):
    """Least that these undecided rows must still pay, each on its own.

    A row pays at least for the cheapest larger subset that accepts it. That is rounded down to
    one of a few levels, so that rows can be counted by bits: a row whose level is the third pays
    the rise to the first, to the second and to the third.
    """
    total = 0.0
    for level in range(len(arrays.rises)):
        n_expensive = np.uint64(0)
        for w in range(len(rows)):
            n_expensive += arrays.weights[w] * popcount(
                rows[w] & arrays.expensive[subset, level, w]
            )
        total += arrays.rises[level] * np.int64(n_expensive)
    return total


@helper()
def _may_go_on(rules, arrays, known, subset, rows, n_open, accepted, wrong, spent):
    """Whether more stages, none of which the design needs, can lead to something not dominated.

    The most expensive row that they accept tells what all rows still undecided pay at least: they
    are asked for as long as it takes to get there. Nobody knows which row that will be, so each
    level of cost is tried. At a level, all rows that some larger subset accepts for no more are
    taken for accepted, each at the least that its own level costs; all others pay this level's.
    """
    n_left = rules.n_rows - accepted
    cheapest_next = arrays.next_cost[subset]
    n_within, paid, level_cost = 0, 0.0, 0.0
    for level in range(len(arrays.rises) + 1):
        n_expensive = np.uint64(0)
        if level < len(arrays.rises):
            for w in range(len(rows)):
                n_expensive += arrays.weights[w] * popcount(
                    rows[w] & arrays.expensive[subset, level, w]
                )
        each = max(cheapest_next, level_cost)
        n_more = n_open - np.int64(n_expensive) - n_within
        n_within += n_more
        paid += n_more * each
        total = spent + paid + (n_left - n_within) * each
        # Stages that accept no row and cost something are worse than none.
        idle = n_within == 0 and n_left * each > 2.0 * rules.slack * total
        if not idle and (n_more > 0 or level == 0):
            allowed = allowance(known, accepted + n_within, wrong, rules.shift)
            if allowed >= total * (1.0 - rules.slack):
                return True
        if level < len(arrays.rises):
            level_cost += arrays.rises[level]
    return False


@helper()
def _most_stages(rules, cost):
    """How many stages a design may have that buys this much."""
    n_stages = 0
    while n_stages < rules.max_stages and (
        cost + rules.evaluation * (n_stages + 1) <= rules.most_paid
    ):
        n_stages += 1
    return n_stages


@helper()
def _add_candidate(candidates, tally, accepted, wrong, spent, stages, count, code):
    """Note a design that may be on the front; False if there is no place for it."""
    n = tally[0]
    if n == len(candidates.n_tied):
        return False
    candidates.accepted[n] = accepted
    candidates.wrong[n] = wrong
    candidates.spent[n] = spent
    candidates.stages[n] = stages
    candidates.n_tied[n] = count
    candidates.code[n] = code
    tally[0] = n + 1
    return True


@helper()
def _find_state(index, mask, labels, first, rows):
    """Where the chain of labels with these undecided rows hangs in the index, or would."""
    place = hash_words(rows) & mask
    while index[place] >= 0:
        head = first + index[place]
        same = True
        for w in range(len(rows)):
            same &= labels.undecided[head, w] == rows[w]
        if same:
            return place
        place = (place + np.uint64(1)) & mask
    return place


@helper()
def _hang(index, after, place, new):
    """Hang a label into the list of its state: first if the list is empty, else second."""
    if index[place] < 0:
        index[place], after[new] = new, -1
    else:
        after[new] = after[index[place]]
        after[index[place]] = new


@helper()
def _fill_index(index, mask, labels, first, last, after):
    """Index the first label of each state anew; `after` links the others to it."""
    for place in range(np.int64(mask) + 1):
        index[place] = -1
    for i in range(last - first):
        place = _find_state(index, mask, labels, first, labels.undecided[first + i])
        _hang(index, after, place, i)


@helper()
def _settle(labels, first, head, after, new, binding, slack):
    """Compare label `new` with those of its state: True if one of them makes it superfluous.

    One is beaten by another that accepts no fewer rows, no more of them wrong, in no more stages
    where their number is limited, and is better in at least one of rows or cost. Costs within
    `slack` may lead to equal ones, so they alone decide nothing. Equal labels become one, with
    the sum of their counts. The count of labels that `new` beats turns negative; `_close_set`
    takes them out.
    """
    accepted, wrong = labels.accepted[new], labels.wrong[new]
    spent, stages = labels.spent[new], labels.stages[new]
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


@helper()
def _close_set(
    rules, arrays, known, left, rest, digits_left, in_tail, fresh, begun, n_fresh,
    candidates, tally,
):  # fmt: skip
    """Close up the labels that stand; each, with its tail, is also a design.

    Only now are they, since a label may be beaten by one that came later to its set: that settles
    all designs which begin with its chains. A design is a candidate unless a known one beats it.

    Returns where they end, or -NO_PLACE.
    """
    full = len(arrays.cost) - 1
    kept = begun
    for i in range(begun, n_fresh):
        stages, count = fresh.stages[i], fresh.n_tied[i]
        if count < 0:
            rest_stages = rules.max_stages - stages if rules.binding else left
            tally[2] -= count * arrays.ways[left, rest_stages]
            continue
        tally[2] += count
        leaving, wrong = np.uint64(0), np.uint64(0)
        for w in range(fresh.undecided.shape[1]):
            rows = fresh.undecided[i, w]
            leaving += arrays.weights[w] * popcount(rows & in_tail[w])
            wrong += arrays.weights[w] * popcount(rows & in_tail[w] & arrays.errs[full, w])
            fresh.undecided[kept, w] = rows
        accepted = fresh.accepted[i] + np.int64(leaving)
        wrong_end = fresh.wrong[i] + np.int64(wrong)
        spent = fresh.spent[i] + (rules.n_rows - fresh.accepted[i]) * rest
        allowed = allowance(known, accepted, wrong_end, rules.shift)
        code = fresh.code[i] + stages * digits_left
        if allowed >= spent * (1.0 - rules.slack) and not _add_candidate(
            candidates, tally, accepted, wrong_end, spent, stages + rules.tail, count, code
        ):
            return -NO_PLACE
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


@helper()
def _extend_into(rules, arrays, known, labels, spans, target, begun, room):
    """Grow all chains into one set; return where its labels end, or -NO_ROOM or -NO_PLACE.

    Fresh labels of the set begin at `begun`.

    One long loop on purpose: handed to helpers, the many arrays have their references counted at
    every step, which took far longer than the work itself. Its steps, for each smaller
    subset and each of its labels: give the chain up by a test that reads no row; score it, if
    only the tail can follow; else see what the stage does to its rows, give it up if a known
    design beats all its futures, or if another label of its state does; keep it.
    """
    full = len(arrays.cost) - 1
    n_words = arrays.accepts.shape[1]
    tail = rules.tail
    fresh, candidates, index, after = room.fresh, room.candidates, room.states, room.after
    tally, scratch = room.tally, room.scratch
    # Of the largest cost that may follow.
    largest = arrays.cost[full] + rules.max_stages * rules.evaluation
    slack = rules.slack * rules.n_rows * largest
    rows, in_tail, leaves = scratch[0], scratch[1], scratch[2]
    errs, ends_here, wrong_ends = scratch[3], scratch[4], scratch[5]
    n_fresh = begun
    mask = np.uint64(255)
    _fill_index(index, mask, fresh, begun, begun, after)
    # The tail buys all that is left: `rest` is what each undecided row then pays.
    rest, digits_left = 0.0, 0
    if tail:
        rest = arrays.cost[full] - arrays.cost[target] + rules.evaluation
        digits_left = arrays.place[full] - arrays.place[target]
    for w in range(n_words):
        kept_from = arrays.missing[(full ^ target) & arrays.missing_mask, w]
        in_tail[w] = arrays.accepts[full, w] & ~kept_from if tail else np.uint64(0)
    left = np.int64(popcount(np.uint64(full ^ target)))  # features that are not bought yet
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
            n_ways = (  # designs that begin with this chain: what giving it up settles
                1
                if closing
                else arrays.ways[left, rules.max_stages - stages]
                if rules.binding
                else arrays.ways[left, left]
            )
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
                leaving, leaving_end, wrong_end = np.uint64(0), np.uint64(0), np.uint64(0)
                for w in range(n_words):
                    weight = arrays.weights[w]
                    open_rows = labels.undecided[q, w]
                    leaving += weight * popcount(open_rows & leaves[w])
                    leaving_end += weight * popcount(open_rows & ends_here[w])
                    wrong_end += weight * popcount(open_rows & wrong_ends[w])
                accepted = labels.accepted[q] + np.int64(leaving_end)
                wrong = labels.wrong[q] + np.int64(wrong_end)
                spent += (n_before - np.int64(leaving)) * rest
                tally[2] += labels.n_tied[q]
                allowed = allowance(known, accepted, wrong, rules.shift)
                if allowed >= spent * (1.0 - rules.slack) and not _add_candidate(
                    candidates, tally, accepted, wrong, spent, stages + tail,
                    labels.n_tied[q], code + stages * digits_left,
                ):  # fmt: skip
                    return -NO_PLACE
                continue
            # What the new stage does to the undecided rows. At best, every row that some
            # larger subset accepts (n_open) is accepted in the end, and only those are wrong
            # that the tail is sure to accept and no larger subset labels correctly (n_doomed).
            leaving, wrong_now, n_open, n_doomed = (
                np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0),
            )  # fmt: skip
            for w in range(n_words):
                weight = arrays.weights[w]
                open_rows = labels.undecided[q, w]
                leaving += weight * popcount(open_rows & leaves[w])
                wrong_now += weight * popcount(open_rows & errs[w])
                rows[w] = open_rows & ~leaves[w] & arrays.reach[target, w]
                n_open += weight * popcount(rows[w])
                n_doomed += weight * popcount(rows[w] & arrays.doomed[target, w])
            accepted = labels.accepted[q] + np.int64(leaving)
            wrong = labels.wrong[q] + np.int64(wrong_now)
            allowed = allowance(
                known, accepted + np.int64(n_open), wrong + np.int64(n_doomed), rules.shift
            )
            # At least, rows that no larger subset accepts pay for all that is left.
            min_spent = spent + (rules.n_rows - accepted - np.int64(n_open)) * rest
            alive = allowed >= min_spent * (1.0 - rules.slack)
            if tail:
                if alive:  # rows that are accepted later pay something first
                    min_spent += _later_cost(arrays, target, rows)
                    alive = allowed >= min_spent * (1.0 - rules.slack)
            elif alive and not _may_go_on(
                rules, arrays, known, target, rows, np.int64(n_open), accepted, wrong, spent
            ):
                # No future is worth a label. The chain as it stands may still be a design
                # worth knowing: it costs less than any future, though it accepts fewer rows.
                here = allowance(known, accepted, wrong, rules.shift)
                worthy = here >= spent * (1.0 - rules.slack)
                alive = worthy and rules.keep_all
                if (
                    worthy
                    and not alive
                    and not _add_candidate(
                        candidates, tally, accepted, wrong, spent, stages, labels.n_tied[q], code
                    )
                ):
                    return -NO_PLACE
            if not alive:
                tally[2] += labels.n_tied[q] * n_ways
                continue
            # A chain that may matter: a label, unless another of its state beats it.
            if n_fresh == len(fresh.n_tied):
                return -NO_ROOM
            for w in range(n_words):
                fresh.undecided[n_fresh, w] = rows[w]
            fresh.n_open[n_fresh] = np.int64(n_open)
            fresh.accepted[n_fresh] = accepted
            fresh.wrong[n_fresh] = wrong
            fresh.spent[n_fresh] = spent
            fresh.allowed[n_fresh] = allowed
            fresh.stages[n_fresh] = stages
            fresh.n_tied[n_fresh] = labels.n_tied[q]
            fresh.code[n_fresh] = code
            place = _find_state(index, mask, fresh, begun, rows)
            if _settle(fresh, begun, index[place], after, n_fresh, rules.binding, slack):
                tally[2] += fresh.n_tied[n_fresh] * n_ways
                continue
            _hang(index, after, place, n_fresh - begun)
            n_fresh += 1
            if 2 * (n_fresh - begun) > np.int64(mask):  # half full: four times the places
                mask = (mask << np.uint64(2)) | np.uint64(3)
                _fill_index(index, mask, fresh, begun, n_fresh, after)
    return _close_set(
        rules, arrays, known, left, rest, digits_left, in_tail, fresh, begun, n_fresh,
        candidates, tally,
    )  # fmt: skip


@kernel()
def extend_chains(
    rules: Rules,
    arrays: ChainArrays,
    known: FloatArray,
    labels: Labels,
    spans: IntArray,
    sets: IntArray,
    first_set: int,
    room: Room,
) -> tuple[int, int]:
    """Grow chains into each of `sets` from first_set on; which set to go on with, and why.

    `known` are the allowances, and `spans` delimits the labels of each subset.

    Sets are grown one after another, each as a whole: where room for labels or candidates runs
    out, counts go back to where the set began, and it is grown again once there is more room.
    """
    begun = room.ends[first_set - 1] if first_set else 0
    for t in range(first_set, len(sets)):
        n_candidates, n_seen, n_done = room.tally[0], room.tally[1], room.tally[2]
        end = _extend_into(rules, arrays, known, labels, spans, sets[t], begun, room)
        if end < 0:
            room.tally[0], room.tally[1], room.tally[2] = n_candidates, n_seen, n_done
            return t, -end
        room.ends[t] = begun = end
    return len(sets), 0
