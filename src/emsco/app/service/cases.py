"""The desk: opens cases, takes values, decides, and keeps every step before it answers."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from emsco.app.service.messages import RefusalError, parse_object, plain
from emsco.app.service.metrics import Metrics, Sums, sample
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore, Stored, WriteError
from emsco.cascade import Cascade, Case
from emsco.errors import EMSCOError, FileError

_MOST_AT_HAND = 50_000
_PAUSE_AFTER = 100  # rows that are decided without letting other requests in
_OPENING = ("id", "budget", "prices", "values", "spent")
_GIVING = ("values", "spent")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_REASON = 500

_Step = Callable[[dict[str, Any]], Awaitable["_Entry"]]


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


class Desk:
    """Cases of one cascade: in memory while they are busy, in the store always.

    Every answer about a case waits until what it says is on the disk.

    Parameters
    ----------
    cascade : Cascade
    store : CaseStore
    settings : Settings
    """

    def __init__(self, cascade: Cascade, store: CaseStore, settings: Settings) -> None:
        self.cascade, self.store, self.settings = cascade, store, settings
        self.metrics = Metrics(store.counts())
        self.n_open, self.n_decided = store.n_cases()
        self._entries: dict[str, _Entry] = {}
        priced = cascade.stages.prices.prices
        self._price_columns = [(one.feature, one.column) for one in priced if one.column]
        store.on_commit = self.metrics.kept.add

    async def open(self, found: Any) -> dict[str, Any]:
        """Open a case; say what to buy first."""
        return await self._kept(await self._open(found))

    async def give(self, case: str, found: Any) -> dict[str, Any]:
        """Give the values of a stage; say what to buy next, or what was decided."""
        return await self._kept(await self._give(case, found))

    async def reject(self, case: str, found: Any) -> dict[str, Any]:
        """End a case without a label."""
        reason = parse_object(found, ("reason",)).get("reason")
        if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST_REASON:
            rule = f"reason must be text of 1 to {_LONGEST_REASON} characters"
            raise RefusalError(422, f"{rule}, got {type(reason).__name__ if reason else 'none'}.")
        entry = await self._find(case)
        if not entry.case.needs:
            raise await self._decided(entry)
        entry.case.reject(reason)
        return await self._kept(self._save(entry, "by hand"))

    async def look(self, case: str) -> dict[str, Any]:
        """Say how a case stands, with the values that it was given."""
        entry = await self._find(case)
        more = {"given": dict(entry.case.given), "opened": entry.opened, "changed": entry.changed}
        return {**await self._kept(entry), **more}

    async def delete(self, case: str) -> dict[str, Any]:
        """Forget a case."""
        entry = await self._find(case)
        entry.is_gone = True
        entry.saved = self.store.delete(case, {"emsco_cases_deleted_total": 1})
        self._count_states(was_open=bool(entry.case.needs), is_open=False, is_kept=False)
        await self._safe(entry)
        self._entries.pop(case, None)
        return {"id": case, "deleted": True}

    async def open_many(self, found: Any) -> dict[str, Any]:
        """Open many cases; each is answered on its own."""
        return await self._many(found, self._open)

    async def give_many(self, found: Any) -> dict[str, Any]:
        """Give values to many cases; each is answered on its own."""

        async def give_one(one: dict[str, Any]) -> _Entry:
            parse_object(one, ("id", *_GIVING), "each case")
            rest = {name: value for name, value in one.items() if name != "id"}
            return await self._give(_checked_id(one.get("id")), rest)

        return await self._many(found, give_one)

    async def decide(self, found: Any) -> dict[str, Any]:
        """Decide rows whose values are all known, without keeping them."""
        given = parse_object(found, ("rows", "budget", "prices"))
        rows, counts = self._listed(given, "rows"), Sums()
        prices = _prices_by_row(given.get("prices"), len(rows))
        answers = []
        for i, row in enumerate(rows):
            if i % _PAUSE_AFTER == _PAUSE_AFTER - 1:
                await asyncio.sleep(0)
            try:
                case = self._decide_one(row, given.get("budget"), prices(i))
            except (EMSCOError, RefusalError) as error:
                answers.append({"error": str(error)})
                counts.add({"emsco_rows_refused_total": 1})
                continue
            now = case.decision
            outcome = "accepted" if now.accepted else "rejected"
            exit_of = sample("emsco_rows_decided_total", outcome=outcome, stage=now.stage)
            counts.add({exit_of: 1, "emsco_rows_cost_total": now.cost})
            answers.append(self._said(case))
        self.store.count(counts)
        return {"decisions": answers}

    async def expire(self) -> None:
        """Delete cases that were decided long ago."""
        n_old = await self.store.expire(self.settings.retain)
        if not n_old:
            return
        self.n_decided -= n_old
        for name in [name for name, entry in self._entries.items() if not entry.case.needs]:
            if (saved := self._entries[name].saved) is None or saved.done():
                del self._entries[name]

    async def _open(self, found: Any) -> _Entry:
        given = parse_object(found, _OPENING, "a case")
        if self.n_open >= self.settings.max_open:
            said = f"at most {self.settings.max_open:,} cases may be open, and they are"
            raise RefusalError(
                503, f"{said}; decide or delete some.", headers={"retry-after": "60"}
            )
        case = self.cascade.open(given.get("budget"), given.get("prices"))
        if "values" in given and case.needs:
            case.give(given["values"], given.get("spent"))
        elif "spent" in given:
            raise RefusalError(422, "spent must come with values, got it alone.")
        name = _new_id() if given.get("id") is None else _checked_id(given["id"])
        if given.get("id") is not None and (known := await self._known(name)) is not None:
            said = f"id must be new, got {name!r}, which is a case already."
            raise RefusalError(409, said, {"case": await self._kept(known)})
        now = time.time()
        entry = self._entries[name] = _Entry(name, case, -1, now, now)
        self._forget_old()
        return self._save(entry)

    async def _give(self, case: str, found: Any) -> _Entry:
        given = parse_object(found, _GIVING)
        if "values" not in given:
            raise RefusalError(422, "the body must have 'values', got none.")
        entry = self._entries.get(case)
        if entry is None or entry.is_gone:
            entry = await self._find(case)
        if not entry.case.needs:
            if _is_repeated(entry.case, given["values"]):
                return entry
            raise await self._decided(entry)
        try:
            entry.case.give(given["values"], given.get("spent"))
        except EMSCOError:
            if _is_repeated(entry.case, given["values"]):
                return entry
            raise
        return self._save(entry)

    async def _many(self, found: Any, step: _Step) -> dict[str, Any]:
        ends: list[_Entry | RefusalError] = []
        for one in self._listed(parse_object(found, ("cases",)), "cases"):
            try:
                ends.append(await step(one))
            except RefusalError as error:
                ends.append(error)
            except EMSCOError as error:
                ends.append(RefusalError(422, str(error)))
        answers = []
        for end in ends:
            if isinstance(end, RefusalError):
                answers.append({"error": str(end), "status": end.status, **end.facts})
            else:
                answers.append(await self._kept(end))
        return {"cases": answers}

    def _listed(self, given: Mapping[str, Any], name: str) -> list[Any]:
        most, found = self.settings.max_rows, given.get(name)
        if not isinstance(found, list) or not 0 < len(found) <= most:
            got = f"{len(found):,}" if isinstance(found, list) else "none"
            raise RefusalError(422, f"{name} must be a list of 1 to {most:,} objects, got {got}.")
        return found

    def _decide_one(self, row: Any, budget: Any, prices: dict[str, Any]) -> Case:
        """Let a row buy from its own values; names that the cascade does not read are ignored."""
        if not isinstance(row, dict):
            raise RefusalError(422, "each row must be an object of names and values.")
        own = {name: row[column] for name, column in self._price_columns if column in row}
        own |= prices
        case = self.cascade.open(budget, own or None)
        while case.needs:
            case.give({name: row[name] for name in case.needs if name in row})
        return case

    async def _find(self, case: str) -> _Entry:
        entry = await self._known(case)
        if entry is None:
            raise RefusalError(404, f"there must be a case {case[:64]!r}, got none.")
        return entry

    async def _known(self, case: str) -> _Entry | None:
        """Return a case, from the store if it is not at hand."""
        entry = self._entries.pop(case, None)
        if entry is None:
            if _ID.fullmatch(case) is None or (stored := await self.store.find(case)) is None:
                return None
            if (entry := self._entries.pop(case, None)) is None:
                entry = self._resumed(stored)
        self._entries[case] = entry  # the last to be forgotten
        self._forget_old()
        return None if entry.is_gone else entry

    def _resumed(self, stored: Stored) -> _Entry:
        try:
            stored.check()
            case = self.cascade.resume(stored.document)
        except FileError as error:
            raise RefusalError(500, f"the stored case must be whole: {error}") from None
        return _Entry(stored.id, case, stored.version, stored.opened, stored.changed)

    def _save(self, entry: _Entry, rejected: str | None = None) -> _Entry:
        """Hand a changed case to the store, with what it adds to the counts."""
        case, is_new = entry.case, entry.version < 0
        entry.version, entry.changed = entry.version + 1, time.time()
        counts: dict[str, float] = {"emsco_cases_opened_total": 1} if is_new else {}
        is_open = bool(case.needs)
        if not is_open:
            counts |= self._counts_of(case, rejected)
        stored = Stored(
            entry.id, not is_open, entry.version, entry.opened, entry.changed, case.to_json()
        )
        entry.saved = self.store.save(stored, counts)
        self._count_states(was_open=not is_new, is_open=is_open, is_kept=True)
        return entry

    def _count_states(self, *, was_open: bool, is_open: bool, is_kept: bool) -> None:
        self.n_open += is_open - was_open
        self.n_decided += (is_kept and not is_open) - (not is_kept and not was_open)

    def _counts_of(self, case: Case, rejected: str | None) -> dict[str, float]:
        now = case.decision
        if now.accepted:
            why = sample("emsco_cases_labelled_total", label=now.label)
        else:
            kind = "never sure" if now.stage == self.cascade.n_stages else "budget"
            why = sample("emsco_cases_rejected_total", reason=rejected or kind)
        outcome = "accepted" if now.accepted else "rejected"
        exit_of = sample("emsco_cases_decided_total", outcome=outcome, stage=now.stage)
        return {exit_of: 1, why: 1, "emsco_cases_cost_total": now.cost}

    async def _kept(self, entry: _Entry) -> dict[str, Any]:
        """Say how a case stands, once that is on the disk."""
        said = {"id": entry.id, **self._said(entry.case)}
        await self._safe(entry)
        return said

    async def _safe(self, entry: _Entry) -> None:
        """Wait until the last change of a case is on the disk; forget one that never gets there."""
        saved = entry.saved
        if saved is None:
            return
        try:
            await asyncio.shield(saved)
        except WriteError as error:
            if self._entries.get(entry.id) is entry:
                del self._entries[entry.id]
                with suppress(FileError):  # a disk that cannot be written may not be read either
                    self.n_open, self.n_decided = self.store.n_cases()
            raise RefusalError(
                503,
                f"the change must be written to the disk, and could not be ({error}); ask again.",
                headers={"retry-after": "5"},
            ) from None

    async def _decided(self, entry: _Entry) -> RefusalError:
        said = await self._kept(entry)
        sentence = f"the case must be open, got a decided one ({said['reason']})."
        return RefusalError(409, sentence, {"case": said})

    def _said(self, case: Case) -> dict[str, Any]:
        now = case.decision
        return {
            "decided": now.decided,
            "accepted": now.accepted,
            "label": now.label,
            "confidence": plain(now.confidence),
            "stage": now.stage,
            "cost": now.cost,
            "reason": now.reason,
            "needs": list(case.needs),
            "next_cost": case.next_cost,
            "warnings": list(case.warnings),
            **({"delay": now.delay} if self.cascade.stages.delays else {}),
        }

    def _forget_old(self) -> None:
        """Keep few cases in memory; those with a write on its way stay."""
        while len(self._entries) > _MOST_AT_HAND:
            name = next(iter(self._entries))
            entry = self._entries.pop(name)
            if entry.saved is not None and not entry.saved.done():
                self._entries[name] = entry
                return


def _new_id() -> str:
    """Return an id that nobody can guess, and that sorts by time: the file grows at its end."""
    return f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(8)}"


def _checked_id(given: Any) -> str:
    if not isinstance(given, str) or _ID.fullmatch(given) is None:
        raise RefusalError(
            422, "id must be 1 to 64 letters, digits and ._- after the first, got another text."
        )
    return given


def _prices_by_row(given: Any, n_rows: int) -> Callable[[int], dict[str, Any]]:
    """Return what gives the prices of a row; each is one number, or a list with one a row."""
    prices = {} if given is None else given
    if not isinstance(prices, dict):
        raise RefusalError(422, "prices must be an object of features and prices.")
    for name, price in prices.items():
        if isinstance(price, list) and len(price) != n_rows:
            rule = f"prices of {name[:60]!r} must be one number, or one for each of {n_rows:,} rows"
            raise RefusalError(422, f"{rule}, got {len(price):,}.")

    def of_row(i: int) -> dict[str, Any]:
        return {name: one[i] if isinstance(one, list) else one for name, one in prices.items()}

    return of_row


def _is_repeated(case: Case, values: Any) -> bool:
    """Tell whether these values were given before: a client asks again after a lost answer."""
    if not isinstance(values, dict) or not values:
        return False
    given = case.given
    return all(name in given and given[name] == value for name, value in values.items())
