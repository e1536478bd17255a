"""Schemas of bodies and answers, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

STATUSES = {
    400: "The body is no JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such case.",
    409: "The case is decided, or the id is taken; `case` says how it stands.",
    413: "The body is too large.",
    415: "The body does not say that it is JSON.",
    422: "The body cannot be used; the sentence says why.",
    429: "Too many requests; wait as long as Retry-After says.",
    503: "Nothing was changed, because the service cannot take more or cannot write; ask again.",
}


def of_schema(name: str) -> dict[str, str]:
    """Return the reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def _list_of(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _said(kind: str, words: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": words, **more}


_NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
_VALUES = {
    "type": "object",
    "description": "Name → value, exactly for the names in `needs`; null for a missing value.",
    "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
    "example": {"age": 63, "pulse": 71.5},
}
_PRICES = {**_NUMBERS, "description": "What this row pays for features with prices by row."}
_SPENT = {**_NUMBERS, "description": "What was paid for them, if it was not known before."}
_LABEL = {"description": "The label; null for an open or rejected case."}
_ID = _said("string", "1 to 64 letters, digits and ._-", example="patient-17")
_BUDGET = _said("number", "Highest cost of the row; by default there is no limit.")
_DECISION = {
    "decided": _said("boolean", "Whether the case is closed."),
    "accepted": _said("boolean", "Whether it got a label."),
    "label": _LABEL,
    "confidence": {"type": ["number", "null"], "description": "Probability at the last stage."},
    "stage": _said("integer", "Number of stages that have judged the case."),
    "cost": _said("number", "What the case has cost so far."),
    "reason": _said("string", "Why it was accepted or rejected, or what it waits for."),
    "needs": {
        **_list_of({"type": "string"}),
        "description": "What to buy next; empty once decided.",
    },
    "next_cost": _said("number", "What that costs."),
    "warnings": {
        **_list_of({"type": "string", "example": "age is 630; in training it was 29 to 77."}),
        "description": "Values given so far that are unlike the training rows: numbers outside "
        "their range, unknown categories. The case takes them all the same.",
    },
    "delay": _said("number", "Time waited so far, if features have delays."),
}
_CASE = {"id": _ID, **_DECISION}
_WHOLE = {
    "given": _said("object", "The values given so far."),
    "opened": _said("number", "Seconds since 1970."),
    "changed": _said("number", "Seconds since 1970."),
}
_OPENING = {"id": _ID, "budget": _BUDGET, "prices": _PRICES, "values": _VALUES, "spent": _SPENT}
_STAGE = _object(
    {
        "stage": {"type": "integer"},
        "buys": _list_of({"type": "string"}),
        "needs": _list_of({"type": "string"}),
        "cost": {"type": "number"},
        "cost_so_far": {"type": "number"},
        "thresholds": _list_of(_object({"label": {}, "confidence": {"type": "number"}})),
        "delay_so_far": {"type": "number"},
    }
)
_GIVEN = {"values": _VALUES, "spent": _SPENT}
_ROWS = {
    "rows": _list_of({"type": "object", "example": {"age": 63, "pulse": 71.5, "scan": 0.2}}),
    "budget": _BUDGET,
    "prices": _said("object", "Feature → its price for all rows, or a list with one a row."),
}
_CASCADE = {
    "fingerprint": _said("string", "Digest of everything that decisions depend on."),
    "labels": _list_of({}),
    "stages": _list_of(_STAGE),
    "columns": _said("object", "Name → kind (number, truth, category), categories, range."),
    "prices_by_row": _list_of({"type": "string"}),
    "missing_values": _said("string", "refuse, impute or skip."),
}


def _either(name: str, *schemas: dict[str, Any]) -> dict[str, Any]:
    return _object({name: _list_of({"anyOf": list(schemas)})}, name)


SCHEMAS: dict[str, Any] = {
    "Error": _object({"error": _said("string", "What is wrong, in one sentence.")}, "error"),
    "Case": _object(_CASE, *(name for name in _CASE if name != "delay")),
    "WholeCase": _object({**_CASE, **_WHOLE}),
    "Opening": _object(_OPENING),
    "Values": _object(_GIVEN, "values"),
    "Reason": _object({"reason": _said("string", "Why the case ends without a label.")}, "reason"),
    "Deleted": _object({"id": _ID, "deleted": {"type": "boolean"}}),
    "Openings": _object({"cases": _list_of(of_schema("Opening"))}, "cases"),
    "ManyValues": _object(
        {"cases": _list_of(_object({"id": _ID, **_GIVEN}, "id", "values"))}, "cases"
    ),
    "Cases": _either("cases", of_schema("Case"), of_schema("Error")),
    "Rows": _object(_ROWS, "rows"),
    "Decisions": _either("decisions", _object(_DECISION), of_schema("Error")),
    "Cascade": _object(_CASCADE),
    "Health": _object({"status": {"type": "string"}}),
}
