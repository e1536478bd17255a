"""Bodies and answers: pydantic checks their fields and documents them; refusals are sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn, NotRequired, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError
from starlette.responses import JSONResponse
from typing_extensions import TypedDict

from emsco._base.documents import distinct_names
from emsco._base.text import brief, some

_ID = Field(description="1 to 64 letters, digits and ._-", examples=["patient-17"])
_BUDGET = Field(description="Highest cost of the row; by default there is no limit.")
_PRICES = Field(description="What this row pays for features with prices by row.")
_PRICES_OF_ROWS = Field(description="Feature → its price for all rows, or a list with one a row.")
_SPENT = Field(description="What was paid for them, if it was not known before.")
_VALUES = Field(
    description="Name → value, exactly for the names in `needs`; null for a missing value.",
    examples=[{"age": 63, "pulse": 71.5}],
)


class JSONAnswer(JSONResponse):
    """An answer in JSON, as Starlette writes it, by an encoder that is made once."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return _WRITER.encode(content).encode()


class RefusalError(Exception):
    """A request that is answered with an error: a status, one sentence and perhaps facts."""

    def __init__(
        self,
        status: int,
        sentence: str,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.facts = dict(facts or {})
        self.headers = dict(headers or {})

    def response(self) -> JSONAnswer:
        """Return the error as an answer."""
        return JSONAnswer({"error": str(self), **self.facts}, self.status, self.headers)


Values = dict[str, float | str | bool | None]


# Only names are checked here: the cascade checks values, with sentences of its own.
class Body(BaseModel):
    """What a request may say; other fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Opening(Body):
    """A new case."""

    id: SkipValidation[Annotated[str | None, _ID]] = None
    budget: SkipValidation[Annotated[float | None, _BUDGET]] = None
    prices: SkipValidation[Annotated[dict[str, float] | None, _PRICES]] = None
    values: SkipValidation[Annotated[Values | None, _VALUES]] = None
    spent: SkipValidation[Annotated[dict[str, float] | None, _SPENT]] = None


class Given(Body):
    """The values of a stage."""

    values: SkipValidation[Annotated[Values, _VALUES]]
    spent: SkipValidation[Annotated[dict[str, float] | None, _SPENT]] = None


class GivenTo(Given):
    """The values of a stage of one of many cases."""

    id: SkipValidation[Annotated[str, _ID]]


class Reason(Body):
    """A rejection by hand."""

    reason: SkipValidation[Annotated[str, Field(description="Why the case ends without a label.")]]


class Openings(Body):
    """Many new cases."""

    cases: SkipValidation[list[Opening]]


class ManyGiven(Body):
    """The values of many cases."""

    cases: SkipValidation[list[GivenTo]]


class Rows(Body):
    """Rows to decide at once."""

    rows: SkipValidation[Annotated[list[dict[str, Any]], Field(examples=[[{"age": 63}]])]]
    budget: SkipValidation[Annotated[float | None, _BUDGET]] = None
    prices: SkipValidation[Annotated[dict[str, float | list[float]] | None, _PRICES_OF_ROWS]] = None


class Decision(TypedDict):
    """How a row stands."""

    decided: Annotated[bool, Field(description="Whether the case is closed.")]
    accepted: Annotated[bool, Field(description="Whether it got a label.")]
    label: Annotated[Any, Field(description="The label; null for an open or rejected case.")]
    confidence: Annotated[float | None, Field(description="Probability at the last stage.")]
    stage: Annotated[int, Field(description="Last stage that has judged the case; 0 before any.")]
    cost: Annotated[float, Field(description="What the case has cost so far.")]
    reason: Annotated[
        str, Field(description="Why it was accepted or rejected, or what it waits for.")
    ]
    needs: Annotated[list[str], Field(description="What to buy next; empty once decided.")]
    next_cost: Annotated[float, Field(description="What that costs.")]
    warnings: Annotated[
        list[str],
        Field(
            description="Values given so far that are unlike the training rows: numbers outside "
            "their range, unknown categories, imputed values of columns that were never missing. "
            "The case takes them all the same.",
            examples=[["age is 630; in training it was 29 to 77."]],
        ),
    ]
    delay: NotRequired[
        Annotated[float, Field(description="Time waited so far, if features have delays.")]
    ]
    path: NotRequired[
        Annotated[
            list[str],
            Field(
                description="The stages that have judged the case and what held at each branch, if "
                "the cascade branches.",
                examples=[["stage 1", "age ≤ 50", "stage 2"]],
            ),
        ]
    ]
    next_stage: NotRequired[
        Annotated[
            int, Field(description="The stage that `needs` is for, if the cascade branches; or 0.")
        ]
    ]


class CaseState(Decision):
    """How a case stands."""

    id: Annotated[str, _ID]


class WholeCase(CaseState):
    """How a case stands, and what it was given."""

    given: Annotated[dict[str, Any], Field(description="The values given so far.")]
    opened: Annotated[float, Field(description="Seconds since 1970.")]
    changed: Annotated[float, Field(description="Seconds since 1970.")]


class Error(TypedDict):
    """A refusal."""

    error: Annotated[str, Field(description="What is wrong, in one sentence.")]
    status: NotRequired[Annotated[int, Field(description="Of one case of many.")]]
    case: NotRequired[Annotated[CaseState, Field(description="How the case stands.")]]


class Deleted(TypedDict):
    """A case that is gone."""

    id: Annotated[str, _ID]
    deleted: bool


class Cases(TypedDict):
    """Answers to many cases, in order."""

    cases: list[CaseState | Error]


class Decisions(TypedDict):
    """Answers to many rows, in order."""

    decisions: list[Decision | Error]


class Threshold(TypedDict):
    """The confidence that accepts a label."""

    label: Any
    confidence: float


class StageFacts(TypedDict):
    """What a stage buys and costs."""

    stage: int
    buys: list[str]
    needs: list[str]
    cost: float
    cost_so_far: float
    thresholds: list[Threshold]
    delay_so_far: NotRequired[float | None]
    before: NotRequired[
        Annotated[
            int | None,
            Field(description="The stage before it, if the cascade branches; null for the first."),
        ]
    ]


class WayFacts(TypedDict):
    """One way at a branch."""

    when: Annotated[str, Field(description="What holds for rows that go this way.")]
    stage: Annotated[int, Field(description="The stage that comes next for them.")]


class BranchFacts(TypedDict):
    """What is asked after a stage, and where rows go."""

    after: Annotated[int, Field(description="The stage after which rows go different ways.")]
    ways: Annotated[list[WayFacts], Field(description="The first that holds is taken.")]
    if_missing: Annotated[
        int, Field(description="The next stage if the value asked about is missing or unknown.")
    ]


class ColumnFacts(TypedDict):
    """What a column held in training."""

    kind: Annotated[str, Field(description="number, truth or category.")]
    categories: list[str]
    range: tuple[float, float] | None


class CascadeFacts(TypedDict):
    """What clients need to know about the cascade."""

    fingerprint: Annotated[str, Field(description="Digest of everything that decisions depend on.")]
    labels: list[Any]
    stages: list[StageFacts]
    columns: dict[str, ColumnFacts]
    prices_by_row: list[str]
    missing_values: Annotated[str, Field(description="refuse, impute or skip.")]
    run: Annotated[str | None, Field(description="Name of the run that is served.")]
    target: Annotated[str | None, Field(description="Column whose labels it gives.")]
    unit: Annotated[str | None, Field(description="Unit of all costs.")]
    branches: NotRequired[list[BranchFacts]]


class Health(TypedDict):
    """Whether the service can write cases."""

    status: str


_Body = TypeVar("_Body", bound=Body)


def parse_json(body: bytes) -> Any:
    """Return the values of a JSON body; refuse what is not valid JSON."""
    if not body:
        raise RefusalError(400, "The body is empty; send JSON.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise RefusalError(400, "The body is not valid UTF-8.") from None
    try:
        values = _READER.decode(text)
        if "\\u" in text:  # may be half a character, which no answer could repeat
            _WRITER.encode(values).encode()
    except RecursionError:
        raise RefusalError(400, "The body is not valid JSON: nested too deeply.") from None
    except UnicodeEncodeError:
        raise RefusalError(400, "The body is not valid Unicode: half a character.") from None
    except ValueError as error:
        raise RefusalError(400, f"The body is not valid JSON: {error}.") from None
    return values


def check_fields(kind: type[_Body], values: Any, what: str = "the body") -> _Body:
    """Return the fields of an object; refuse other fields and missing ones."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "missing":
        sentence = f"{what} must have {first['loc'][0]!r}, got none."
    elif first["type"] == "extra_forbidden":
        known = some(tuple(kind.model_fields))
        sentence = f"{what} must have no fields but {known}, got {brief(first['loc'][0])}."
    else:
        sentence = f"{what} must be a JSON object, got {brief(values)}."
    raise RefusalError(422, sentence)


def finite(number: float) -> float | None:
    """Return a number as JSON has it: None for NaN and infinity.

    Examples
    --------
    >>> finite(0.5), finite(float("nan"))
    (0.5, None)
    """
    return number if math.isfinite(number) else None


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number; a missing value is null")


# Made once: json.loads and json.dumps would make one for every request.
_READER = json.JSONDecoder(object_pairs_hook=distinct_names, parse_constant=_no_constant)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
