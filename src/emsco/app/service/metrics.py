"""Counts of cases and requests, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache

__all__ = ["FAMILIES", "Metrics", "Sums", "sample"]

FAMILIES = {
    "emsco_cases_opened_total": ("counter", "Cases opened."),
    "emsco_cases_decided_total": ("counter", "Cases decided, by the stage where they ended."),
    "emsco_cases_labelled_total": ("counter", "Cases accepted, by label."),
    "emsco_cases_rejected_total": ("counter", "Cases rejected, by the kind of reason."),
    "emsco_cases_deleted_total": ("counter", "Cases deleted by request."),
    "emsco_cases_cost_total": ("counter", "Sum of the costs of decided cases."),
    "emsco_rows_decided_total": ("counter", "Rows decided without a case, by stage."),
    "emsco_rows_cost_total": ("counter", "Sum of the costs of rows decided without a case."),
    "emsco_rows_refused_total": ("counter", "Rows that could not be decided."),
    "emsco_cases_open": ("gauge", "Cases that wait for values."),
    "emsco_requests_total": ("counter", "Requests since the start, by route and status."),
    "emsco_request_seconds": ("histogram", "Seconds from a request to its answer."),
    "emsco_commits_total": ("counter", "Batches written to the disk since the start."),
    "emsco_commit_failures_total": ("counter", "Batches that could not be written."),
    "emsco_service_info": ("gauge", "The cascade and the version; always 1."),
}
_STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@cache
def sample(family: str, **labels: object) -> str:
    r"""Name a sample, with its labels escaped.

    Examples
    --------
    >>> print(sample("emsco_cases_labelled_total", label='a "b"'))
    emsco_cases_labelled_total{label="a \"b\""}
    """
    if not labels:
        return family
    return f"{family}{{{','.join(f'{name}={_quoted(v)}' for name, v in labels.items())}}}"


class Sums(dict[str, float]):
    """Numbers by name, which are added up.

    Examples
    --------
    >>> sums = Sums({"cost": 2.5})
    >>> sums.add({"cost": 1, "cases": 1})
    >>> sums
    {'cost': 3.5, 'cases': 1}
    """

    def add(self, more: Mapping[str, float]) -> None:
        """Add each number to that of the same name."""
        for name, number in more.items():
            self[name] = self.get(name, 0) + number


class Metrics:
    """What has happened: `kept` is in the database, `seen` since the start only."""

    def __init__(self, kept: Mapping[str, float] | None = None) -> None:
        self.kept = Sums(kept or {})
        self.seen = Sums()
        self._buckets = [0] * (len(_STEPS) + 1)
        self._seconds = 0.0

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.seen.add({_request(method, route, status): 1})
        self._buckets[bisect_left(_STEPS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Write all samples, family by family."""
        found = {**self.kept, **self.seen, **gauges, **dict(self._histogram())}
        lines: list[str] = []
        for family, (kind, words) in FAMILIES.items():
            own = [name for name in found if _is_of(name, family)]
            lines += [f"# HELP {family} {words}", f"# TYPE {family} {kind}"] if own else []
            lines += [f"{name} {_number(found[name])}" for name in own]
        return "\n".join([*lines, ""])

    def _histogram(self) -> Iterator[tuple[str, float]]:
        total, family = 0, "emsco_request_seconds"
        for step, n in zip([*_STEPS, "+Inf"], self._buckets, strict=True):
            total += n
            yield sample(f"{family}_bucket", le=step), total
        yield f"{family}_sum", self._seconds
        yield f"{family}_count", total


def _is_of(name: str, family: str) -> bool:
    bare = name.partition("{")[0]
    return bare == family or bare in (f"{family}_bucket", f"{family}_sum", f"{family}_count")


def _request(method: str, route: str, status: int) -> str:
    return f'emsco_requests_total{{method="{method}",route="{route}",status="{status}"}}'


def _quoted(value: object) -> str:
    text = str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{text}"'


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
