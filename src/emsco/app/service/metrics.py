"""Counts of cases and requests for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from emsco.app.service.store import CaseStore

_STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
# Counters that the database keeps: what they count, and their labels.
_KEPT: dict[str, tuple[str, tuple[str, ...]]] = {
    "emsco_cases_opened_total": ("Cases opened.", ()),
    "emsco_cases_decided_total": (
        "Cases decided, by the stage where they ended.",
        ("outcome", "stage"),
    ),
    "emsco_cases_labelled_total": ("Cases accepted, by label.", ("label",)),
    "emsco_cases_rejected_total": ("Cases rejected, by the kind of reason.", ("reason",)),
    "emsco_cases_deleted_total": ("Cases deleted by request.", ()),
    "emsco_cases_cost_total": ("Sum of the costs of decided cases.", ()),
    "emsco_rows_decided_total": ("Rows decided without a case, by stage.", ("outcome", "stage")),
    "emsco_rows_cost_total": ("Sum of the costs of rows decided without a case.", ()),
    "emsco_rows_refused_total": ("Rows that could not be decided.", ()),
}

disable_created_metrics()  # a time beside every counter helps nobody here


@cache
def sample(counter: str, **labels: object) -> str:
    r"""Name a sample as Prometheus and the database do, with its labels escaped.

    Examples
    --------
    >>> print(sample("emsco_cases_labelled_total", label='a "b"'))
    emsco_cases_labelled_total{label="a \"b\""}
    """
    if not labels:
        return counter
    return f"{counter}{{{','.join(f'{name}={_quoted(v)}' for name, v in labels.items())}}}"


def _quoted(value: object) -> str:
    text = str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{text}"'


class Metrics:
    """Everything that a service counts.

    Counts of cases and rows come from the database and go on; those of requests begin anew.

    Parameters
    ----------
    store : CaseStore
        Has the counts of cases and rows.
    cascade : str
        Fingerprint of the cascade.
    n_open : callable
        Returns the number of open cases.
    """

    def __init__(self, store: CaseStore, cascade: str, n_open: Callable[[], int]) -> None:
        self._store, self._cascade, self._n_open = store, cascade, n_open
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "emsco_requests_total",
            "Requests since the start, by route and status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._requests_of: dict[tuple[str, str, int], Counter] = {}
        self._seconds = Histogram(
            "emsco_request_seconds",
            "Seconds from a request to its answer.",
            registry=registry,
            buckets=_STEPS,
        )
        registry.register(self)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        labels = method, route, status
        if labels not in self._requests_of:  # looking up a label takes as long as counting
            self._requests_of[labels] = self._requests.labels(*labels)
        self._requests_of[labels].inc()
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """Write all samples."""
        text: bytes = generate_latest(self._registry)
        return text

    def collect(self) -> Iterator[Metric]:
        """Yield what is read when somebody asks."""
        kept = {name: CounterMetricFamily(name, words) for name, (words, _) in _KEPT.items()}
        none_yet = {name: 0.0 for name, (_, labels) in _KEPT.items() if not labels}
        for name, value in {**none_yet, **self._store.counts}.items():
            with suppress(IndexError, KeyError, ValueError):  # of another version, or damaged
                ((read,),) = (
                    family.samples for family in text_string_to_metric_families(f"{name} {value}\n")
                )
                if tuple(read.labels) == _KEPT[read.name][1]:
                    kept[read.name].samples.append(read)
        yield from kept.values()
        yield GaugeMetricFamily(
            "emsco_cases_open", "Cases that wait for values.", value=self._n_open()
        )
        yield CounterMetricFamily(
            "emsco_commits_total",
            "Batches written to the disk since the start.",
            value=self._store.n_commits,
        )
        yield CounterMetricFamily(
            "emsco_commit_failures_total",
            "Batches that could not be written.",
            value=self._store.n_failures,
        )
        about = GaugeMetricFamily(
            "emsco_service_info",
            "The cascade and the version; always 1.",
            labels=("cascade", "version"),
        )
        about.add_metric((self._cascade, version("emsco")), 1)
        yield about
