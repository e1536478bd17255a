"""Certificates: what a design is promised to keep on new rows, as a file that can be signed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from emsco._base.digests import DIGEST
from emsco._base.documents import Fields, PathLike, read_document, write_document
from emsco._base.objectives import METRICS
from emsco._base.text import counted, listed, shorten
from emsco.cascade import Cascade
from emsco.designs.design import Design
from emsco.errors import EMSCOError, FileError
from emsco.front.certificate.test import CheckedPromise, n_passing
from emsco.front.format import check_point
from emsco.front.point import ParetoPoint
from emsco.stats.promises import Promise, promises_from_dict

FORMAT, OLDEST = 2, 1  # certificates of format 1 are of chains alone
_DIGITS = 23  # of a digest that a text shows
_MOST_NUMBERS = 12  # of designs that a text lists
_VOID = (
    "Void after a refit, and for other thresholds or costs. Void if these rows were tested before",
    "with other promises, and for rows that come from elsewhere than these.",
)


@dataclass(frozen=True, slots=True)
class TestedRows:
    """The rows of a certificate.

    Attributes
    ----------
    n_rows : int
        Rows that were given.
    n_tested : int
        Rows that were tested: one from each group, if there were groups.
    digest : str
        Digest of rows, labels and weights in any order.
    seed : int
        Seed that drew one row from each group, and the order of bets.
    grouped : bool
        Whether rows came in groups, such as several visits of a patient.
    max_weight : float or None
        Largest weight, as declared; None without weights.
    """

    n_rows: int
    n_tested: int
    digest: str
    seed: int
    grouped: bool = False
    max_weight: float | None = None

    @classmethod
    def from_dict(cls, fields: Fields) -> TestedRows:
        """Read the values from a file and check them."""
        n_rows = fields.whole("n_rows", 1)
        is_weighted = fields.get("max_weight") is not None
        return cls(
            n_rows,
            fields.whole("n_tested", 1, n_rows),
            _digest(fields, "digest"),
            fields.whole("seed", 0),
            fields.flag("grouped"),
            fields.number("max_weight", 0) if is_weighted else None,
        )

    def __str__(self) -> str:
        rows = counted(self.n_tested, "row")
        if self.grouped:
            rows = f"{rows}, one drawn from each group of {counted(self.n_rows, 'row')},"
        return rows if self.max_weight is None else f"{rows} with weights up to {self.max_weight:g}"


@dataclass(frozen=True, slots=True)
class DesignTest:
    """A design on the rows of a certificate.

    Attributes
    ----------
    number : int
        Position of the design in the front.
    cascade : str
        Digest of everything that its decisions depend on.
    point : ParetoPoint
    checks : tuple of CheckedPromise
        One for each promise.
    """

    number: int
    cascade: str
    point: ParetoPoint
    checks: tuple[CheckedPromise, ...]

    @property
    def p_value(self) -> float:
        """The largest p-value of its promises."""
        return max(check.p_value for check in self.checks)

    def to_dict(self, labels: Sequence[object]) -> dict[str, Any]:
        """Return plain values; thresholds by class are in the order of `labels`."""
        design = self.point.design
        thresholds = [
            [one[label] for label in labels] if isinstance(one, Mapping) else one
            for one in design.thresholds or ()
        ]
        return {
            "number": self.number,
            "cascade": self.cascade,
            **_design_to_dict(design),
            "thresholds": thresholds or None,
            "scored": self.point.scores_to_dict(),
            "checks": [check.to_dict() for check in self.checks],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What designs of a front are certified to keep on new rows; `ParetoFront.certify` makes it.

    The chance that any design is certified although it breaks a promise is at most `delta`. Print
    a certificate to read it.

    Attributes
    ----------
    promises : tuple of Promise
        What is promised; a certified design keeps all of them.
    delta : float
        Highest chance of a false certificate.
    labels : tuple
        The classes.
    order : tuple of int
        Positions of the designs in the front, in the order of the tests. The order was fixed
        before the rows were looked at.
    tests : tuple of DesignTest
        The designs that were tested, in order: all that passed, and the first that failed.
    best_first : tuple of int
        Positions of the certified designs in the front, best first; before all others the one that
        was deployed, if it is certified.
    rows : TestedRows
    date : str
        Day of the test, as in "2026-11-20".
    nearest_test : DesignTest or None
        If no design is certified, the one that came nearest.
    rows_needed : int or None
        If no design is certified, how many fresh rows would certify the nearest with a chance of
        80 %, as far as these rows can tell. None if no number would do.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(estimator="logistic", generations=5, cv=1 / 3, random_state=0)
    >>> clf = clf.fit(X[:300], y[:300])
    >>> certificate = clf.certify(X[300:], y[300:], min_accuracy=0.88, min_coverage=0.5)
    >>> certificate.deployed is certificate.certified[0]
    True
    >>> certificate.covers(clf.choose(certificate.deployed).cascade_)
    True
    """

    promises: tuple[Promise, ...]
    delta: float
    labels: tuple[object, ...]
    order: tuple[int, ...]
    tests: tuple[DesignTest, ...]
    best_first: tuple[int, ...]
    rows: TestedRows
    date: str
    nearest_test: DesignTest | None = None
    rows_needed: int | None = None

    @property
    def certified(self) -> tuple[ParetoPoint, ...]:
        """The designs that passed, best first."""
        return tuple(self._test(number).point for number in self.best_first)

    @property
    def deployed(self) -> ParetoPoint | None:
        """The best of the certified designs; None if there is none."""
        return self.certified[0] if self.best_first else None

    @property
    def nearest(self) -> ParetoPoint | None:
        """The design that came nearest, if none is certified."""
        return None if self.nearest_test is None else self.nearest_test.point

    @property
    def p_values(self) -> dict[int, float]:
        """The largest p-value of each tested design, by its position in the front."""
        return {test.number: test.p_value for test in self.tests}

    @property
    def counts(self) -> dict[int, dict[str, tuple[int, int]]]:
        """Rows as promised, and rows that a promise is about, by design and by promise.

        Costs have no counts.
        """
        return {
            test.number: {
                check.promise.key: (check.n_kept, check.n_rows)
                for check in test.checks
                if check.n_kept is not None
            }
            for test in self.tests
        }

    def covers(self, cascade: Cascade) -> bool:
        """Tell whether a cascade is one of the certified designs, with the same models."""
        # A digest covers models, thresholds and costs, so a design that was fitted again is another
        # one.
        certified = {self._test(number).cascade for number in self.best_first}
        return cascade.stages.identity in certified

    def require(self, cascade: Cascade) -> None:
        """Raise an error unless a cascade is one of the certified designs.

        Raises
        ------
        EMSCOError
            If the cascade is another design, was fitted again, or has other thresholds or costs.
        """
        if self.covers(cascade):
            return
        known = [self._test(number).cascade for number in self.best_first]
        got = f"one for {listed([_brief(one) for one in known], 3)}" if known else "one for none"
        raise EMSCOError(
            f"the certificate must be for this cascade ({_brief(cascade.stages.identity)}), "
            f"got {got}; certify this cascade on fresh rows, or deploy a certified one."
        )

    def _test(self, number: int) -> DesignTest:
        return next(test for test in self.tests if test.number == number)

    def save(self, path: PathLike) -> None:
        """Write the certificate to a JSON file with a checksum."""
        write_document(path, "certificate", FORMAT, self.to_dict())

    @classmethod
    def load(cls, path: PathLike) -> Certificate:
        """Read a certificate that `save` wrote.

        Raises
        ------
        FileError
            If the file is missing, damaged, edited or contradicts itself.
        """
        return cls.from_dict(read_document(path, "certificate", FORMAT, OLDEST))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        points = [test.point for test in (*self.tests, *filter(None, [self.nearest_test]))]
        return {
            "date": self.date,
            "promises": [promise.to_dict() for promise in self.promises],
            "delta": self.delta,
            "labels": list(self.labels),
            "features": list(points[0].design.names),
            "metric": points[0].metric,
            "order": list(self.order),
            "certified": list(self.best_first),
            "tests": [test.to_dict(self.labels) for test in self.tests],
            "nearest": self.nearest_test and self.nearest_test.to_dict(self.labels),
            "rows_needed": self.rows_needed,
            "rows": asdict(self.rows),
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> Certificate:
        """Read the values of `to_dict` from a file and check them."""
        labels = tuple(fields.items("labels"))
        promises = promises_from_dict(fields, labels)
        delta = fields.number("delta", 0, 1)
        rows = TestedRows.from_dict(fields.fields("rows"))
        names = tuple(fields.texts("features"))
        if (metric := fields.text("metric")) not in METRICS:
            fields.refuse("metric", f"one of {', '.join(METRICS)}", metric)

        def read(one: Fields) -> DesignTest:
            written = one.many_fields("checks")
            if len(written) != len(promises):
                one.refuse("checks", f"one for each of {len(promises)} promises", f"{len(written)}")
            design, scored = _read_design(one, labels, names), one.fields("scored")
            point = ParetoPoint.from_dict(scored, design, labels, metric, is_weighted=True)
            # Figures that contradict the counts beside them mean that somebody has edited the file.
            check_point(scored, point)
            is_counted = rows.max_weight is None  # then p-values must be those of the counts
            checks = tuple(
                CheckedPromise.from_dict(check, promise, is_counted=is_counted)
                for check, promise in zip(written, promises, strict=True)
            )
            return DesignTest(one.whole("number", 0), _digest(one, "cascade"), point, checks)

        tests = tuple(map(read, fields.many_fields("tests")))
        order = tuple(fields.wholes("order", len(fields.items("order"))))
        # The order was fixed before the tests, so these must be its first ones.
        if order[: len(tests)] != tuple(test.number for test in tests):
            fields.refuse(
                "tests", f"of the designs {order} in this order", [t.number for t in tests]
            )
        # Not taken from the file: which designs passed follows from the p-values.
        passed = n_passing([test.p_value for test in tests], delta)
        certified = fields.wholes("certified", passed)
        if {*certified} != {test.number for test in tests[:passed]}:
            fields.refuse("certified", "the designs that passed", certified)
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", date := fields.text("date")):
            fields.refuse("date", "a day such as '2026-11-20'", date)
        needed = fields.get("rows_needed")
        return cls(
            promises,
            delta,
            labels,
            order,
            tests,
            tuple(certified),
            rows,
            date,
            None if fields.get("nearest") is None else read(fields.fields("nearest")),
            None if needed is None else fields.whole("rows_needed", 1),
        )

    def __repr__(self) -> str:
        """Say what is promised, on which rows, at which level, and what voids it."""
        return "\n".join(_certified_lines(self) if self.best_first else _failed_lines(self))


def _certified_lines(certificate: Certificate) -> list[str]:
    best, *others = (certificate._test(number) for number in certificate.best_first)
    one_of = f", one of {len(others) + 1:,} that passed" if others else ""
    lines = [
        f"Certificate of {certificate.date} for design {best.number}{one_of}",
        f"  {best.point.design!r}",
        "Promised, for new rows that come as these did:",
        *_check_lines(best),
        f"The chance that a design is certified by mistake is at most "
        f"{100 * certificate.delta:.4g} %.",
        f"Tested on {certificate.rows} none of which is known from the search.",
    ]
    if others:
        numbers = listed([str(other.number) for other in others], _MOST_NUMBERS)
        lines.append(f"Also certified: {numbers}.")
    digests = f"Cascade {_brief(best.cascade)}, rows {_brief(certificate.rows.digest)}"
    return [*lines, _order_line(certificate), *_VOID, digests]


def _failed_lines(certificate: Certificate) -> list[str]:
    first, nearest = certificate.tests[0], certificate.nearest_test or certificate.tests[0]
    lines = [
        f"No design is certified ({certificate.date}). Design {first.number} was tested first:",
        f"  {first.point.design!r}",
        *_check_lines(first),
        f"It fails: its largest p-value is {_p(first.p_value)}, and must be at most "
        f"{certificate.delta:g}. That ends the tests.",
    ]
    if nearest.number != first.number:
        lines += [
            f"Design {nearest.number} looks better on these rows, which is no test of it:",
            f"  {nearest.point.design!r}",
            *_check_lines(nearest),
        ]
    lines += [f"Tested on {certificate.rows} which are spent now.", _order_line(certificate)]
    if certificate.rows.max_weight is not None:
        lines.append("How many fresh rows it takes is not known for weighted rows.")
    elif certificate.rows_needed is None:
        lines.append("As far as these rows can tell, no number of fresh rows would do.")
    else:
        unit = "group" if certificate.rows.grouped else "row"
        fresh = counted(certificate.rows_needed, f"fresh {unit}")
        alone = f"Design {nearest.number} alone would take about {fresh} for a chance of 80 %."
        lines.append(alone)
    return lines


def _check_lines(test: DesignTest) -> list[str]:
    """One line for each promise: the promise, what was seen, and the p-value."""
    cells = []
    for check in test.checks:
        seen = f"seen {check.seen:.4g}"
        if check.n_kept is not None:
            seen = f"seen {check.seen:.1%} ({check.n_kept:,} of {check.n_rows:,})"
        # Very small p-values are shown as a bound, which needs no equals sign.
        evidence = f"p = {_p(check.p_value)}".replace("= <", "<")
        evidence = "always so" if check.is_certain else evidence
        cells.append((check.promise.sentence, seen, evidence))
    widths = [max(len(line[i]) for line in cells) for i in range(2)]
    return [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in cells]


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 0.0001 else "< 0.0001"


def _order_line(certificate: Certificate) -> str:
    if len(certificate.order) == 1:
        return "No other design was tested; it was named before these rows were looked at."
    numbers = listed([str(number) for number in certificate.order], _MOST_NUMBERS)
    n_tested = counted(len(certificate.tests), "design")
    return f"{n_tested} tested, in an order fixed before these rows were looked at: {numbers}."


def _brief(digest: str) -> str:
    return shorten(digest, _DIGITS)


def _design_to_dict(design: Design) -> dict[str, Any]:
    """Return the stage of each feature, or what each stage buys and the branches."""
    if design.is_chain:
        return {"stages": design.stages.tolist()}
    return design.to_dict()


def _read_design(fields: Fields, labels: Sequence[object], names: tuple[str, ...]) -> Design:
    by_stage = fields.get("thresholds")
    try:
        thresholds = by_stage and tuple(
            dict(zip(labels, one, strict=True)) if isinstance(one, list) else one
            for one in by_stage
        )
        if "branches" in fields.values:
            return Design.from_dict(fields, names).with_thresholds(thresholds or None)
        stages = fields.wholes("stages", len(names), -1, len(names) - 1)
        return Design(stages, names, thresholds or None)
    except FileError:
        raise
    except (EMSCOError, TypeError, ValueError) as error:
        raise FileError(f"{fields.where} must be a design that can be used: {error}") from None


def _digest(fields: Fields, name: str) -> str:
    # Digests of the wrong form could never match a cascade, so they are refused on reading.
    if not re.fullmatch(rf"{DIGEST}[0-9a-f]{{64}}", digest := fields.text(name)):
        fields.refuse(name, f"a digest that begins with {DIGEST}", digest)
    return digest
