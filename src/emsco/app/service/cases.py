"""Open cases, take values, decide, and keep every step before it is answered."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from emsco.app.service import messages
from emsco.app.service.messages import RefusalError, check_fields, finite
from emsco.app.service.metrics import Metrics, sample
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore, Stored, Sums, WriteError
from emsco.cascade import Cascade, Case
from emsco.cascade.case import plain_value
from emsco.errors import EMSCOError, FileError

_MAX_AT_HAND = 50_000
_PAUSE_AFTER = 100  # rows that are decided without letting other requests in
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_REASON = 500


@dataclass(slots=True)
class _Entry:
    """A case at hand, and the write that its last change waits for."""

    id: str
    case: Case
    version: int
    opened: float
    changed: float
    saved: asyncio.Future[None] | None = None
    is_gone: bool = False


class CaseService:
    """Cases of one cascade: in memory while they are busy, in the store always.

    Every answer about a case waits until what it says is on the disk. Bodies are plain values, as
    JSON has them.

    Parameters
    ----------
    cascade : Cascade
    store : CaseStore
    settings : Settings
    """

    def __init__(self, cascade: Cascade, store: CaseStore, settings: Settings) -> None:
        self.cascade, self.store, self.settings = cascade, store, settings
        self.n_open, self.n_decided = store.n_cases()
        self.metrics = Metrics(store, cascade.stages.identity, lambda: self.n_open)
        self._entries: dict[str, _Entry] = {}
        # Prices that a table has in a column come with the rows when rows are decided at once.
        self._price_columns = [
            (name, column)
            for name, column in cascade.stages.prices.costs.prices.items()
            if isinstance(column, str)
        ]

    async def describe(self) -> messages.CascadeFacts:
        """Say what the cascade reads, stage by stage, and what that costs."""
        stages = self.cascade.stages
        codes = {code.name: code for code in self.cascade.encoding.codes}
        told: list[messages.StageFacts] = []
        before = self.cascade.design.before
        for j, cost in enumerate(stages.costs):
            thresholds = zip(stages.labels, stages.thresholds[j].tolist(), strict=True)
            stage: messages.StageFacts = {
                "stage": j + 1,
                "buys": list(stages.buys[j]),
                "needs": list(stages.columns[j]),
                "cost": cost - (stages.costs[before[j]] if before[j] >= 0 else 0.0),
                "cost_so_far": cost,
                "thresholds": [{"label": label, "confidence": p} for label, p in thresholds],
            }
            if stages.delays:
                stage["delay_so_far"] = finite(stages.delays[j])
            if stages.branches:
                stage["before"] = before[j] + 1 or None
            told.append(stage)
        branches: list[messages.BranchFacts] = [
            {
                "after": j + 1,
                "ways": [
                    {"when": when, "stage": first + 1}
                    for when, first in zip(branch.ways, branch.starts, strict=True)
                ],
                "if_missing": branch.starts[branch.usual] + 1,
            }
            for j, branch in self.cascade.design.branches.items()
        ]
        facts: messages.CascadeFacts = {
            "fingerprint": stages.identity,
            "labels": list(stages.labels),
            "stages": told,
            "columns": {
                name: {
                    "kind": codes[name].kind,
                    "categories": list(codes[name].categories),
                    "range": codes[name].range,
                }
                for names in stages.columns
                for name in names
            },
            "prices_by_row": list(stages.prices.features),
            "missing_values": self.cascade.encoding.gaps,
            "run": self.settings.run,
            "target": self.settings.target,
            "unit": self.settings.unit,
        }
        if branches:
            facts["branches"] = branches
        return facts

    async def health(self) -> messages.Health:
        """Say whether the service can write cases."""
        if self.store.is_failing:
            raise RefusalError(503, "The last change could not be written to the disk.")
        return {"status": "ok"}

    async def open(self, body: Any) -> messages.CaseState:
        """Open a case. The answer names its id, what to buy first and what that costs."""
        return await self._state(await self._open(body))

    async def give(self, case: str, body: Any) -> messages.CaseState:
        """Give a value for each name that the case needs. The answer is the decision, or what to
        buy next. Giving the same values again changes nothing.
        """  # noqa: D205
        return await self._state(await self._give(case, check_fields(messages.Given, body)))

    async def reject(self, case: str, body: Any) -> messages.CaseState:
        """End a case without a label, for example if a value cannot be had."""
        reason: Any = check_fields(messages.Reason, body).reason
        if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST_REASON:
            rule = f"reason must be text of 1 to {_LONGEST_REASON} characters"
            raise RefusalError(422, f"{rule}, got {type(reason).__name__ if reason else 'none'}.")
        entry = await self._find(case)
        if not entry.case.needs:
            raise await self._decided(entry)
        entry.case.reject(reason)
        return await self._state(self._save(entry, "by hand"))

    async def look(self, case: str) -> messages.WholeCase:
        """Say how a case stands, and which values it was given."""
        entry = await self._find(case)
        # Before the wait for the disk, so that values and state belong together.
        given, opened, changed = dict(entry.case.given), entry.opened, entry.changed
        state = await self._state(entry)
        return {**state, "given": given, "opened": opened, "changed": changed}

    async def delete(self, case: str) -> messages.Deleted:
        """Delete a case with its values."""
        entry = await self._find(case)
        # Gone at once for other requests, though the disk is not done yet.
        entry.is_gone = True
        entry.saved = self.store.delete(case, {"emsco_cases_deleted_total": 1})
        is_open = bool(entry.case.needs)
        self._count(entry.saved, n_open=-int(is_open), n_decided=-int(not is_open))
        await self._safe(entry)
        # Meanwhile the id may have been opened anew.
        if self._entries.get(case) is entry:
            del self._entries[case]
        return {"id": case, "deleted": True}

    async def open_many(self, body: Any) -> messages.Cases:
        """Open many cases. Each has its own answer, in order: a case, or an error with a status."""
        return await self._many(check_fields(messages.Openings, body).cases, self._open)

    async def give_many(self, body: Any) -> messages.Cases:
        """Give values to many cases. Each has its own answer, in order."""

        async def give_one(item: Any) -> _Entry:
            given = check_fields(messages.GivenTo, item, "each case")
            return await self._give(_checked_id(given.id), given)

        return await self._many(check_fields(messages.ManyGiven, body).cases, give_one)

    async def decide(self, body: Any) -> messages.Decisions:
        """Decide rows whose values are known. Rows are not kept; a row needs values for the stages
        that it reaches, and other names in it are ignored.
        """  # noqa: D205
        given = check_fields(messages.Rows, body)
        rows = self._listed("rows", given.rows)
        prices: Any = {} if given.prices is None else given.prices
        if not isinstance(prices, dict):
            raise RefusalError(422, "prices must be an object of features and prices.")
        for name, price in prices.items():
            if isinstance(price, list) and len(price) != len(rows):
                rule = f"one number, or one for each of {len(rows):,} rows"
                raise RefusalError(
                    422, f"prices of {name[:60]!r} must be {rule}, got {len(price):,}."
                )
        answers: list[messages.Decision | messages.Error] = []
        counts = Sums()
        for i, row in enumerate(rows):
            # A long list must not keep other requests waiting.
            if i % _PAUSE_AFTER == _PAUSE_AFTER - 1:
                await asyncio.sleep(0)
            try:
                of_row = {
                    name: price[i] if isinstance(price, list) else price
                    for name, price in prices.items()
                }
                case = self._decide_one(row, given.budget, of_row)
            except (EMSCOError, RefusalError) as error:
                # One wrong row must not spoil the answers to the others.
                answers.append({"error": str(error)})
                counts.add({"emsco_rows_refused_total": 1})
                continue
            decision = case.decision
            outcome = "accepted" if decision.accepted else "rejected"
            name = sample("emsco_rows_decided_total", outcome=outcome, stage=decision.stage)
            counts.add({name: 1, "emsco_rows_cost_total": decision.cost})
            answers.append(self._decision(case))
        self.store.count(counts)
        return {"decisions": answers}

    async def expire(self) -> None:
        """Delete cases that were decided long ago."""
        n_old = await self.store.expire(self.settings.retain)
        if not n_old:
            return
        self.n_decided -= n_old
        # What was read into memory may be expired on the disk; open cases never are.
        for name, entry in list(self._entries.items()):
            if not entry.case.needs and (entry.saved is None or entry.saved.done()):
                del self._entries[name]

    async def _open(self, body: Any) -> _Entry:
        opening = check_fields(messages.Opening, body, "a case")
        # Costs and prices are checked here, before the case has a name.
        case = self.cascade.open(opening.budget, opening.prices)
        if "values" in opening.model_fields_set and case.needs:
            values: Any = opening.values
            case.give(values, opening.spent)
        elif "spent" in opening.model_fields_set:
            raise RefusalError(422, "spent must come with values, got it alone.")
        if opening.id is None:
            # Nobody can guess it, and it sorts by time: the file grows at its end.
            name = f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(8)}"
        else:
            name = _checked_id(opening.id)
            # The answer to a repeated request must tell the client how the case stands.
            if (known := await self._known(name)) is not None:
                raise RefusalError(
                    409,
                    f"id must be new, got {name!r}, which is a case already.",
                    {"case": await self._state(known)},
                )
        # From here on nothing waits, so that no other request comes between check and entry.
        if self.n_open >= self.settings.max_open:
            raise RefusalError(
                503,
                f"Too many cases: {self.settings.max_open:,} are open. Decide or delete some.",
                headers={"retry-after": "60"},
            )
        now = time.time()
        entry = self._entries[name] = _Entry(name, case, -1, now, now)
        self._forget_old()
        return self._save(entry)

    async def _give(self, case: str, given: messages.Given) -> _Entry:
        entry = self._entries.get(case)
        if entry is None or entry.is_gone:
            entry = await self._find(case)
        if not entry.case.needs:
            # A client that lost an answer gives the same values again: that is no error.
            if _is_repeated(entry.case, given.values):
                return entry
            raise await self._decided(entry)
        try:
            entry.case.give(given.values, given.spent)
        except EMSCOError:
            # The case has moved on since, so these values do not fit, but they were taken.
            if _is_repeated(entry.case, given.values):
                return entry
            raise
        return self._save(entry)

    async def _many(self, items: Any, step: Callable[[Any], Awaitable[_Entry]]) -> messages.Cases:
        """Take a step in each case, and answer once all of them are on the disk."""
        ends: list[_Entry | RefusalError] = []
        for item in self._listed("cases", items):
            try:
                ends.append(await step(item))
            except RefusalError as error:
                ends.append(error)
            except EMSCOError as error:
                ends.append(RefusalError(422, str(error)))
        # Answers wait for the disk together, so that many cases cost one write.
        answers: list[Any] = []
        for end in ends:
            if isinstance(end, RefusalError):
                answers.append({"error": str(end), "status": end.status, **end.facts})
            else:
                answers.append(await self._state(end))
        return {"cases": answers}

    def _listed(self, name: str, items: Any) -> list[Any]:
        max_rows = self.settings.max_rows
        if not isinstance(items, list) or not 0 < len(items) <= max_rows:
            got = f"{len(items):,}" if isinstance(items, list) else "none"
            raise RefusalError(
                422, f"{name} must be a list of 1 to {max_rows:,} objects, got {got}."
            )
        return items

    def _decide_one(self, row: Any, budget: Any, prices: dict[str, Any]) -> Case:
        """Let a row buy from its own values; names that the cascade does not read are ignored."""
        if not isinstance(row, dict):
            raise RefusalError(422, "each row must be an object of names and values.")
        # Prices in the request come before those of the row.
        in_row = {name: row[column] for name, column in self._price_columns if column in row}
        case = self.cascade.open(budget, {**in_row, **prices} or None)
        while case.needs:
            case.give({name: row[name] for name in case.needs if name in row})
        return case

    async def _find(self, case: str) -> _Entry:
        entry = await self._known(case)
        if entry is None:
            raise RefusalError(404, f"No case {case[:64]!r}.")
        return entry

    async def _known(self, case: str) -> _Entry | None:
        """Return a case, from the store if it is not at hand."""
        entry = self._entries.pop(case, None)
        if entry is None:
            if _ID.fullmatch(case) is None:
                return None
            stored = await self.store.find(case)
            # Meanwhile another request may have read or opened the same case: look again.
            entry = self._entries.pop(case, None)
            if entry is None and stored is not None:
                entry = self._resumed(stored)
            if entry is None:
                return None
        self._entries[case] = entry  # the last to be forgotten
        self._forget_old()
        return None if entry.is_gone else entry

    def _resumed(self, stored: Stored) -> _Entry:
        try:
            stored.check()
            case = self.cascade.resume(stored.document)
        except FileError as error:
            raise RefusalError(500, f"The stored case is damaged: {error}") from None
        return _Entry(stored.id, case, stored.version, stored.opened, stored.changed)

    def _save(self, entry: _Entry, rejected: str | None = None) -> _Entry:
        """Hand a changed case to the store, with what it adds to the counts."""
        case, counts = entry.case, Sums()
        is_new, is_decided = entry.version < 0, not case.needs
        if is_new:
            counts.add({"emsco_cases_opened_total": 1})
        if is_decided:
            decision = case.decision
            if decision.accepted:
                why = sample("emsco_cases_labelled_total", label=decision.label)
            else:
                is_at_end = decision.stage - 1 in self.cascade.design.leaves
                kind = "never sure" if is_at_end else "budget"
                why = sample("emsco_cases_rejected_total", reason=rejected or kind)
            outcome = "accepted" if decision.accepted else "rejected"
            name = sample("emsco_cases_decided_total", outcome=outcome, stage=decision.stage)
            counts.add({name: 1, why: 1, "emsco_cases_cost_total": decision.cost})
        entry.version, entry.changed = entry.version + 1, time.time()
        stored = Stored(
            id=entry.id,
            decided=is_decided,
            version=entry.version,
            opened=entry.opened,
            changed=entry.changed,
            document=case.to_json(),
        )
        entry.saved = self.store.save(stored, counts)
        self._count(entry.saved, n_open=is_new - is_decided, n_decided=int(is_decided))
        return entry

    def _count(self, saved: asyncio.Future[None], n_open: int, n_decided: int) -> None:
        """Count cases at once, so that limits hold; a write that fails takes that back."""
        self.n_open += n_open
        self.n_decided += n_decided

        def take_back(saved: asyncio.Future[None]) -> None:
            if saved.cancelled() or saved.exception() is not None:
                self.n_open -= n_open
                self.n_decided -= n_decided

        saved.add_done_callback(take_back)

    async def _state(self, entry: _Entry) -> messages.CaseState:
        """Say how a case stands, once that is on the disk."""
        # Read before the wait: another request may change the case meanwhile.
        state: messages.CaseState = {"id": entry.id, **self._decision(entry.case)}
        await self._safe(entry)
        return state

    async def _safe(self, entry: _Entry) -> None:
        """Wait until the last change of a case is on the disk; forget one that never gets there."""
        saved = entry.saved
        if saved is None:
            return
        try:
            await asyncio.shield(saved)  # a client that hangs up must not cancel it for others
        except WriteError as error:
            if self._entries.get(entry.id) is entry:
                del self._entries[entry.id]
            raise RefusalError(
                503,
                f"The change could not be written to the disk ({error}). Retry.",
                headers={"retry-after": "5"},
            ) from None

    async def _decided(self, entry: _Entry) -> RefusalError:
        state = await self._state(entry)
        return RefusalError(409, f"The case is decided ({state['reason']}).", {"case": state})

    def _decision(self, case: Case) -> messages.Decision:
        decision = case.decision
        values: messages.Decision = {
            "decided": decision.decided,
            "accepted": decision.accepted,
            "label": decision.label,
            "confidence": finite(decision.confidence),
            "stage": decision.stage,
            "cost": decision.cost,
            "reason": decision.reason,
            "needs": list(case.needs),
            "next_cost": case.next_cost,
            "warnings": list(case.warnings),
        }
        if self.cascade.stages.delays:
            values["delay"] = decision.delay
        if self.cascade.stages.branches:
            values["path"] = list(decision.path)
            values["next_stage"] = case.next_stage
        return values

    def _forget_old(self) -> None:
        """Keep few cases in memory; those with a write on its way stay."""
        while len(self._entries) > _MAX_AT_HAND:
            name = next(iter(self._entries))
            entry = self._entries.pop(name)
            # Its entry is the only place that knows of the write.
            if entry.saved is not None and not entry.saved.done():
                self._entries[name] = entry
                return


def _checked_id(given: Any) -> str:
    if not isinstance(given, str) or _ID.fullmatch(given) is None:
        raise RefusalError(
            422, "id must be 1 to 64 letters, digits and ._- after the first, got another text."
        )
    return given


def _is_repeated(case: Case, values: Any) -> bool:
    """Tell whether these values were given before: a client asks again after a lost answer."""
    if not isinstance(values, dict) or not values:
        return False
    given = case.given
    for name, value in values.items():
        # As the case keeps it: a whole number past 2^53 is rounded.
        kept = plain_value(value) if isinstance(value, (int, float)) else value
        if name not in given or given[name] != kept:
            return False
    return True
