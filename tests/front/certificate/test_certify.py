"""Certificates of a front: what is certified, what is refused, and the file."""

import json
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.documents import at, changed, paths_of
from support.handmade import (
    make_assessed_front,
    make_branching_front,
    make_front,
    make_front_of_thresholds,
    make_rows,
)

from emsco import (
    Certificate,
    DataError,
    EMSCOError,
    FileError,
    Monitor,
    Promise,
)
from emsco._base.documents import document_text
from emsco._base.objectives import Estimate, Expected
from emsco.data.row_prints import RowPrints
from emsco.errors import DeploymentWarning, EMSCOWarning
from emsco.front.certificate.certify import _order
from emsco.front.certificate.plan import Prospect, rows_for_chances
from emsco.front.certificate.record import FORMAT, OLDEST
from emsco.front.certificate.test import n_passing
from emsco.stats.tests import share_p_value

ROWS = make_rows(400, seed=3)


def truth_of(front, number, rows=ROWS, n_wrong=0):
    """Labels that a design gives, but for the first few of the rows that it labels."""
    decisions = front.cascade(number).decide(rows)
    y = decisions.guesses.copy()
    wrong = np.flatnonzero(decisions.accepted)[:n_wrong]
    y[wrong] = 1 - y[wrong]
    return y


@pytest.fixture(scope="module")
def front():
    return make_assessed_front()


@pytest.fixture(scope="module")
def certificate(front):
    """Both designs are tested; the second is right about all that it labels."""
    return front.certify(ROWS, truth_of(front, 1), min_accuracy=0.9, order=[1, 0])


def test_tests_go_in_the_order_given_until_the_first_that_fails(front, certificate):
    assert certificate.order == (1, 0)
    assert [test.number for test in certificate.tests] == [1, 0]
    assert certificate.certified == (front[1],)
    assert certificate.deployed == front[1]
    assert certificate.p_values[1] <= 0.05 < certificate.p_values[0]


def test_counts_are_whole_numbers_of_rows_with_a_label(front, certificate):
    accepted = int(front.cascade(1).decide(ROWS).accepted.sum())
    assert certificate.counts[1] == {"accuracy": (accepted, accepted)}


def test_the_order_comes_from_scored_rows_whatever_the_new_rows_are(front):
    promises = {"min_accuracy": 0.8, "max_cost": 30}
    orders = [
        front.certify(ROWS, truth_of(front, number), **promises).order
        for number in range(len(front))
    ]
    assert orders[0] == orders[1] == (0, 1)  # design 1 costs 53 on scored rows


def test_the_deployed_design_is_tested_first_if_it_is_likely_to_pass(front):
    y = truth_of(front, 0)
    assert front.certify(ROWS, y, min_coverage=0.1).order == (0, 1)
    certificate = front.certify(ROWS, y, min_coverage=0.1, deployed=1)
    assert (certificate.order, certificate.best_first) == ((1, 0), (1, 0))


def test_an_order_that_is_given_stays_and_the_deployed_design_leads_those_that_pass(front):
    y = truth_of(front, 0)
    certificate = front.certify(ROWS, y, min_coverage=0.1, order=[0, 1], deployed=front[1])
    assert (certificate.order, certificate.best_first) == ((0, 1), (1, 0))


def test_a_deployed_design_that_is_unlikely_to_pass_is_announced_before_the_test(front):
    with pytest.warns(EMSCOWarning, match=r"design 1 .*0%.*design 0"):
        certificate = front.certify(ROWS, truth_of(front, 0), max_cost=30, deployed=1)
    assert certificate.order == (0, 1)
    with pytest.warns(EMSCOWarning, match="design 0|no other design"):
        front.certify(ROWS, truth_of(front, 0), min_accuracy=0.99, order=None, deployed=0)


def test_a_plan_says_from_how_many_rows_on_the_deployed_design_is_tested_first(front):
    plan = front.plan_certificate(min_coverage=0.5, deployed=1)
    assert (plan.designs[0].number, plan.deployed) == (1, 1)
    assert 1 < plan.rows_to_begin <= plan.rows
    assert f"first if there are at least {plan.rows_to_begin} rows" in str(plan)
    hopeless = front.plan_certificate(max_cost=30, deployed=1)
    assert (hopeless.designs[0].number, hopeless.rows_to_begin) == (0, None)
    assert "that the deployed design 1 passes: tests begin with another." in str(hopeless)


@pytest.mark.parametrize(
    ("limits", "is_doubted"),
    [
        ({"min_accuracy": 0.5}, True),  # half of the rows are of class 1
        ({"min_accuracy": 0.51}, False),
        ({"min_accuracy": 0.5, "min_recall": {1: 0.2}, "max_cost": 40}, True),
        ({"min_accuracy": 0.5, "min_recall": {0: 0.2}}, False),
        ({"min_accuracy": {1: 0.4}}, True),
        ({"min_accuracy": {0: 0.4}}, False),
    ],
)
def test_promises_that_one_label_for_everyone_keeps_are_doubted(front, limits, is_doubted):
    for certify in (front.plan_certificate, partial(front.certify, ROWS, truth_of(front, 0))):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            certify(**limits)
        doubts = [str(one.message) for one in said if one.category is DeploymentWarning]
        promised = "the label 1 for everyone keeps all promises on the scored rows; promise more."
        assert doubts == [promised] * is_doubted


def test_an_order_by_scored_rows_keeps_the_level_whichever_design_is_deployed():
    """Both designs sit on the limit, so any certificate is false; scored rows set the order."""
    front, rng = make_front(), np.random.default_rng(0)
    limit, n_scored, n_fresh, n_tries, n_false = 0.8, 100, 150, 1000, 0
    for _ in range(n_tries):
        points = []
        for point in front:
            n_right = int(rng.binomial(n_scored, limit))
            points.append(replace(point, exits=(n_scored, 0), correct_exits=(n_right, 0)))
        drawn = replace(front, points=tuple(points))
        deployed = int(rng.integers(2))
        numbers, _ = _order(drawn, [Promise("accuracy", limit)], deployed, n_fresh, 0.1)
        p_values = [share_p_value(int(one), n_fresh, limit) for one in rng.binomial(150, limit, 2)]
        n_false += n_passing([p_values[i] for i in numbers], 0.1) > 0
    assert n_false / n_tries <= 0.1 + 3 * np.sqrt(0.09 / n_tries)


def test_a_design_that_is_on_the_front_twice_is_tested_once(front):
    twice = replace(
        front,
        points=(*front.points, front[0]),
        models=replace(
            front.models, of_points=(*front.models.of_points, front.models.of_points[0])
        ),
    )
    assert sorted(twice.certify(ROWS, truth_of(front, 0), min_coverage=0.1).order) == [0, 1]


def test_of_several_certified_designs_the_best_comes_first(front):
    y = truth_of(front, 0)
    certificate = front.certify(ROWS, y, min_coverage=0.1)
    assert len(certificate.certified) == 2
    scores = front.balanced_scores()
    assert certificate.best_first == tuple(sorted((0, 1), key=lambda i: -scores[i]))
    assert front.certify(ROWS, y, min_coverage=0.1, prefer="economical").deployed == front[1]


def test_if_none_is_certified_it_names_the_nearest_and_the_rows_it_takes(front):
    certificate = front.certify(
        ROWS, truth_of(front, 1, n_wrong=40), min_accuracy=0.9, order=[0, 1]
    )
    assert (certificate.certified, certificate.deployed) == ((), None)
    assert [test.number for test in certificate.tests] == [0]
    assert certificate.nearest == front[1]
    said = str(certificate)
    assert said.startswith("No design is certified (")
    assert "Design 0 was tested first:" in said
    assert "Design 1 looks better on these rows, which is no test of it:" in said


def test_a_near_miss_says_how_many_fresh_rows_it_takes(front):
    good = make_front()  # right about 93 % of the scored rows with a label
    y = truth_of(good, 1, n_wrong=12)
    certificate = good.certify(ROWS[:120], y[:120], min_accuracy=0.85, min_coverage=0.1, order=1)
    assert certificate.nearest == good[1]
    assert 120 < certificate.rows_needed < 1000
    assert f"would take about {certificate.rows_needed} fresh rows for a chance of 80 %" in str(
        certificate
    )


def test_one_row_is_drawn_from_each_group_before_its_outcome_is_looked_at(front):
    groups, y = np.arange(400) // 4, truth_of(front, 1)
    certificate = front.certify(ROWS, y, min_coverage=0.1, groups=groups)
    assert (certificate.rows.n_rows, certificate.rows.n_tested) == (400, 100)
    assert "100 rows, one drawn from each group of 400 rows," in str(certificate)
    other = front.certify(ROWS, 1 - y, min_coverage=0.1, groups=groups)
    assert certificate.counts == other.counts
    seeded = front.certify(ROWS, y, min_coverage=0.1, groups=groups, random_state=5)
    assert seeded.counts != certificate.counts


def test_weights_are_bet_on_within_the_declared_bound(front):
    weights, y = np.linspace(0.5, 1.5, 400), truth_of(front, 1)
    certificate = front.certify(
        ROWS, y, min_accuracy=0.9, order=1, sample_weight=weights, max_weight=2
    )
    assert certificate.deployed == front[1]
    assert "400 rows with weights up to 2" in str(certificate)
    plain = front.certify(ROWS, y, min_accuracy=0.9, order=1)
    assert certificate.p_values[1] > plain.p_values[1]


def test_a_design_that_answers_everyone_keeps_any_coverage_without_a_test():
    front = make_front_of_thresholds()
    certificate = front.certify(ROWS[:9], truth_of(front, 0, ROWS[:9]), min_coverage=1.0)
    assert certificate.deployed == front[0]
    assert "always so" in str(certificate)


def test_rows_the_search_has_seen_are_refused(front):
    searched = replace(front, searched=RowPrints.from_rows(ROWS[:100]))
    y = truth_of(front, 1)
    with pytest.raises(DataError):
        searched.certify(ROWS[:100], y[:100], min_accuracy=0.9)
    with pytest.raises(DataError):
        searched.certify(ROWS[99:], y[99:], min_accuracy=0.9)
    assert searched.certify(ROWS[100:], y[100:], min_accuracy=0.9, order=1).certified


def jittered(rows):
    return rows + 1e-6 * np.random.default_rng(1).normal(size=rows.shape)


def with_other_scans(rows):
    """Rows with other values in the last column."""
    return np.column_stack([rows[:, :3], rows[::-1, 3]])


REWORDED = {
    **{form: lambda rows, form=form: np.vectorize(lambda one: float(form % one))(rows)
       for form in ("%.7g", "%.5g", "%.3g", "%.4f", "%.3f", "%.2f")},
    "jittered": jittered,
    "changed where nothing is bought": with_other_scans,
}  # fmt: skip


@pytest.mark.parametrize("change", REWORDED.values(), ids=list(REWORDED))
def test_rows_of_the_search_are_refused_though_they_were_changed(front, change):
    prints = RowPrints.from_rows(ROWS[:200], bought=[[0, 1, 2, 3], [0, 1, 2]])
    searched, rows = replace(front, searched=prints), change(ROWS[200:])
    with pytest.raises(DataError):
        searched.certify(change(ROWS[:200]), np.zeros(200), min_accuracy=0.9)
    assert searched.certify(rows, truth_of(front, 1, rows), min_accuracy=0.9, order=1).certified


def test_rows_that_come_again_with_jitter_or_an_id_of_their_own_are_refused(front):
    searched = replace(front, searched=RowPrints.from_rows(make_rows(300, seed=8)))
    y, ids = np.tile(truth_of(front, 1)[:100], 4), np.arange(400)
    again = np.tile(ROWS[:100], (4, 1))
    with pytest.raises(DataError):
        searched.certify(jittered(again), y, min_accuracy=0.9)
    with pytest.raises(DataError):
        searched.certify(again, y, min_accuracy=0.9, groups=ids)
    patients = np.tile(np.arange(100), 4)  # one row of each is drawn
    assert searched.certify(again, y, min_accuracy=0.9, order=1, groups=patients).certified


def test_rows_that_are_equal_by_chance_are_counted_in_the_refusal(front):
    rng = np.random.default_rng(5)
    seen, fresh = (rng.integers(0, 9, (n, 4)) * 1.0 for n in (600, 400))
    searched = replace(front, searched=RowPrints.from_rows(seen))
    searched.certify(fresh, truth_of(front, 1, fresh), min_accuracy=0.5)
    fresh[:200] = seen[:200]
    with pytest.raises(DataError, match=r"has seen \d+"):
        searched.certify(fresh, truth_of(front, 1, fresh), min_accuracy=0.5)


def test_a_saved_front_still_knows_the_rows_of_its_search(front, tmp_path):
    replace(front, searched=RowPrints.from_rows(ROWS[:100])).save(tmp_path / "front.json")
    loaded = type(front).load(tmp_path / "front.json")
    with pytest.raises(DataError):
        loaded.certify(ROWS[:100], truth_of(front, 1)[:100], min_accuracy=0.9)


def test_a_certificate_says_what_is_promised_on_which_rows_and_what_voids_it(certificate):
    text = str(certificate)
    facts = ("design 1", "Design(pulse, scan, biopsy → age)", "90 %", "100.0%", "5 %", "400 rows")
    assert [fact for fact in facts if fact not in text] == []
    assert "Void" in text
    assert "sha256:" in text


def test_a_certificate_covers_its_cascade_and_no_other(front, certificate):
    cascade = front.cascade(1)
    assert certificate.covers(cascade)
    certificate.require(cascade)
    for other in (front.cascade(0), replace(cascade, min_confidence=0.81)):
        assert not certificate.covers(other)
        with pytest.raises(EMSCOError):
            certificate.require(other)


def test_a_monitor_watches_what_a_certificate_promises_about_its_cascade(front, certificate):
    monitor = Monitor.from_certificate(certificate, front.cascade(1))
    assert tuple(one.promise for one in monitor.promises) == certificate.promises
    assert monitor.delta == certificate.delta
    with pytest.raises(EMSCOError):
        Monitor.from_certificate(certificate, front.cascade(0))


def test_a_file_brings_a_certificate_back(front, certificate, tmp_path):
    certificate.save(tmp_path / "one.json")
    loaded = Certificate.load(tmp_path / "one.json")
    assert loaded.to_dict() == certificate.to_dict()
    assert str(loaded) == str(certificate)
    assert loaded.certified == (front[1],)
    assert loaded.covers(front.cascade(loaded.deployed))


def test_a_file_of_thresholds_weights_and_failure_comes_back(tmp_path):
    front = make_front_of_thresholds(({0: 0.9, 1: 0.8}, 0.75, 0))
    certificate = front.certify(
        ROWS,
        truth_of(front, 1),
        min_accuracy=0.97,
        order=0,
        sample_weight=np.ones(400),
        max_weight=1,
    )
    certificate.save(tmp_path / "one.json")
    loaded = Certificate.load(tmp_path / "one.json")
    assert (loaded.nearest, loaded.certified) == (front[0], ())
    assert str(loaded) == str(certificate)


def test_a_design_that_branches_is_certified_and_its_file_comes_back(tmp_path):
    front, rows = make_branching_front(), make_rows(3000, seed=11)
    truth = truth_of(front, 1, rows, n_wrong=200)
    limits = {"min_accuracy": 0.85, "min_coverage": 0.9, "max_cost": 12}
    certificate = front.certify(rows, truth, **limits)
    assert (certificate.order, certificate.certified) == ((1, 0), (front[1],))
    certificate.save(tmp_path / "one.json")
    loaded = Certificate.load(tmp_path / "one.json")
    assert loaded.to_dict() == certificate.to_dict()
    assert str(loaded) == str(certificate)
    assert loaded.certified == (front[1],)
    assert loaded.covers(front.cascade(1))
    # The dearest path costs 53.5, and so a promise of as much needs no test.
    certain = front.certify(rows, truth, max_cost=53.5, order=1).tests[0].checks[0]
    assert certain.is_certain
    assert not front.certify(rows, truth, max_cost=53.4, order=1).tests[0].checks[0].is_certain


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("stages", 1, "buys"), ["age"]),
        (("branches", 0, "parts"), [1, 0]),
        (("branches", 0, "usual"), 2),
        (("thresholds",), [0.9]),
    ],
)
def test_a_file_of_another_tree_is_refused(tmp_path, path, value):
    front, rows = make_branching_front(), make_rows(1000, seed=11)
    body = front.certify(rows, truth_of(front, 1, rows), min_accuracy=0.8, order=1).to_dict()
    assert load(tmp_path, body).deployed == front[1]
    with pytest.raises(FileError):
        load(tmp_path, changed(body, ("tests", 0, *path), value))


def test_certificates_of_chains_are_those_of_format_1(certificate, tmp_path):
    body = certificate.to_dict()
    assert body["tests"][0]["stages"] == [1, 0, 0, 0]
    assert "branches" not in body["tests"][0]
    path = tmp_path / "old.json"
    path.write_text(document_text("certificate", OLDEST, body))
    assert str(Certificate.load(path)) == str(certificate)


def load(folder, body):
    path = folder / "body.json"
    path.write_text(document_text("certificate", FORMAT, body))
    return Certificate.load(path)


def test_an_edited_file_is_refused(certificate, tmp_path):
    path = tmp_path / "one.json"
    certificate.save(path)
    path.write_text(path.read_text().replace('"delta": 0.05', '"delta": 0.01'))
    with pytest.raises(FileError):
        Certificate.load(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("delta",), 0.9),
        (("certified",), [0]),
        (("certified",), []),
        (("order",), [0, 1]),
        (("tests", 0, "checks", 0, "kept"), 0),
        (("tests", 1, "checks", 0, "p_value"), 0.01),
        (("promises", 0, "limit"), 0.5),
        (("tests", 0, "checks", 0, "seen"), 0.123),
        (("promises", 0, "kind"), "luck"),
        (("promises", 0, "label"), 7),
        (("tests", 0, "cascade"), "sha256:0"),
        (("tests", 0, "stages"), [1] * 4),
        (("tests", 0, "stages"), [-1] * 4),
        (("tests", 0, "thresholds"), [2]),
        (("tests", 0, "checks"), []),
        (("rows", "n_tested"), 401),
        (("date",), "yesterday"),
        (("metric",), "luck"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(certificate, tmp_path, path, value):
    with pytest.raises(FileError):
        load(tmp_path, changed(certificate.to_dict(), path, value))


def test_a_file_with_any_value_replaced_is_refused_or_read(certificate, tmp_path):
    """Whatever stands in a file, it is an error of ours or a certificate; never a failure."""
    body = json.loads(json.dumps(certificate.to_dict()))
    for i, path in enumerate(paths_of(body)):
        value = (None, "text")[i % 2]
        if at(body, path) != value:
            try:
                loaded = load(tmp_path, changed(body, path, value))
            except FileError:
                continue
            assert isinstance(str(loaded), str)


def test_a_plan_lists_leading_designs_in_order_with_the_rows_they_take(front):
    plan = front.plan_certificate(min_accuracy=0.7, max_cost=20)
    assert [one.number for one in plan.designs] == [
        *front.certify(ROWS, truth_of(front, 1), min_accuracy=0.7, max_cost=20).order
    ]
    assert plan.chances == (0.8, 0.9)
    for one in plan.designs:
        assert one.why_not or one.rows[0] < one.rows[1]
    assert plan.to_dict()["designs"][0]["rows"] == list(plan.designs[0].rows)


def test_a_plan_says_which_design_cannot_be_certified_and_why():
    plan = make_front().plan_certificate(min_accuracy=0.95, min_coverage=0.5)
    assert plan.rows is None
    said = "cannot be certified: the scored accuracy 0.9333 is below 0.95"
    assert plan.designs[0].why_not == said
    assert said in str(plan)


def test_a_plan_counts_rows_without_a_label_on_top():
    front = make_front()
    first = front.plan_certificate(min_accuracy=0.8, min_coverage=0.1).designs[0]
    point = front[first.number]
    (labelled,) = rows_for_chances([Prospect(Promise("coverage", 0.8), point.accuracy)])
    assert (first.rows[0] - 1) * point.coverage < labelled <= first.rows[0] * point.coverage


def test_a_plan_rests_on_expected_figures_where_there_are_some():
    front = make_front()
    assert "Some figures are scored ones" in str(front.plan_certificate(min_accuracy=0.8))
    wide = (Estimate(0.7, 0.6, 0.8), Estimate(0.85, 0.8, 0.9), Estimate(8.0, 7.0, 9.0))
    points = tuple(replace(point, expected=Expected(*wide)) for point in front)
    expected = replace(front, points=points).plan_certificate(min_accuracy=0.8, max_cost=12)
    (labelled,) = rows_for_chances([Prospect(Promise("coverage", 0.8), 0.85)])
    assert expected.rows >= labelled / 0.7 > front.plan_certificate(min_accuracy=0.8).rows
    assert not expected.is_scored
    refused = replace(front, points=points).plan_certificate(min_accuracy=0.9).designs[0].why_not
    assert refused == "cannot be certified: the expected accuracy 0.85 is below 0.9"
