"""The explorer page: its record, the contents of the file, and the command."""

import json
import re
import sys
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pytest
from support.handmade import (
    make_balanced_front,
    make_branching_front,
    make_front,
    make_front_of_thresholds,
    make_rows,
    with_expected,
    with_money,
)
from support.settings import ONE_THRESHOLD
from typer.testing import CliRunner

from emsco import FeatureCosts, ParameterError, ParetoFront
from emsco.app import cli
from emsco.app.explorer import page
from emsco.app.explorer.page import classes_of, front_contents
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.app.runs.views import explore_run
from emsco.errors import EMSCOError, FileError
from emsco.front.references import Reference
from emsco.scoring.scores import Scores
from emsco.stats.by_class import ByClass


def by_class(n_classes, seed=0, weights=None):
    """Random labels and rejections of 500 rows."""
    rng = np.random.default_rng(seed)
    truth, given = rng.integers(0, n_classes, 500), rng.integers(0, n_classes + 1, 500)
    return ByClass.from_labels(range(n_classes), truth, given, weights)


def test_up_to_6_classes_have_the_rows_that_got_each_label():
    designs = [by_class(6, seed) for seed in range(3)]
    classes = classes_of(designs, [None] * 3, [True] * 3)
    assert (classes["has_counts"], classes["more"], classes["labels"]) == (True, 0, list("012345"))
    for counts, one in zip(classes["scored"]["counts"], designs, strict=True):
        assert np.reshape(counts, (6, 6)).tolist() == [list(line[:-1]) for line in one.counts]
    assert classes["scored"]["rows"] == designs[0].rows.tolist()
    assert "seen" not in classes


def test_more_classes_have_what_their_shares_need_and_20_lines():
    one = by_class(30)
    classes = classes_of([one], [one], [True])
    assert (classes["has_counts"], classes["more"], len(classes["labels"])) == (False, 10, 20)
    correct, answered, given = np.reshape(classes["seen"]["counts"][0], (3, 20))
    assert correct.tolist() == one.correct[:20].tolist()
    assert answered.tolist() == one.answered[:20].tolist()
    assert given.tolist() == one.given[:20].tolist()


def test_a_long_page_keeps_the_classes_of_wanted_designs_only():
    one, wanted = by_class(20), [i % 10 == 0 for i in range(4000)]
    counts = classes_of([one] * 4000, [None] * 4000, wanted)["scored"]["counts"]
    assert [kept is not None for kept in counts] == wanted
    short = classes_of([one] * 50, [None] * 50, wanted[:50])["scored"]["counts"]
    assert None not in short
    few = classes_of([by_class(3)] * 9000, [by_class(3)] * 9000, wanted + [False] * 5000)
    assert None not in few["scored"]["counts"]  # limits and costs by class need them
    assert None in few["seen"]["counts"]


@pytest.mark.parametrize("n", [0, 2])
def test_designs_that_nobody_counted_have_no_classes(n):
    assert classes_of([None] * n, [None] * n, [True] * n) is None


def test_weights_are_rounded():
    classes = classes_of([by_class(2, weights=np.full(500, 1 / 3))], [None], [True])
    assert max(len(str(count)) for count in classes["scored"]["counts"][0]) <= 11


def test_the_page_has_delays_after_each_stage():
    front = make_front()
    slow = replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))
    assert front_contents(slow, title="it", deploy="{number}")["waits"] == [[0, 2, 9], [7, 7]]
    assert front_contents(front, title="it", deploy="{number}")["waits"] is None


LIBRARY = page._library
NASTY = ("</script><script>alert(1)</script>", "<!--", "{{data}}", "α & \u2028 'β'\ud800")


@pytest.fixture(autouse=True, scope="module")
def _without_library():
    """Leave out the library, which takes seconds to build; tests in a browser have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_library", lambda: "window.vegaEmbed = null;")
        yield


@pytest.fixture(scope="module")
def front():
    rows = make_rows(40)
    return make_front().with_seen(rows, (rows[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def data(front):
    return data_of(front.to_html())


def data_of(text):
    """Data of the page, as an HTML parser finds it."""
    return json.loads(scripts_of(text)["data"])


def scripts_of(text):
    scripts, names = {}, []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag == "script":
                names.append(dict(attrs).get("id", f"script {len(names)}"))
                scripts[names[-1]] = ""

        def handle_data(self, data):
            if self.cdata_elem == "script":
                scripts[names[-1]] += data

    Parser().feed(text)
    return scripts


def test_the_page_has_the_figures_of_every_design(front, data):
    for which, points in (("scored", front), ("seen", front.seen)):
        for name in ("coverage", "accuracy", "cost"):
            assert data[which][name] == pytest.approx([getattr(one, name) for one in points])


def test_the_page_has_the_expected_figures_of_every_design_with_their_intervals(front):
    points = with_expected(front).points
    data = data_of(with_expected(front).to_html())["expected"]
    for name in ("coverage", "accuracy", "cost"):
        value, low, high = zip(*(getattr(one.expected, name) for one in points), strict=True)
        assert data[name] == pytest.approx(value, rel=1e-5)
        assert data["low"][name] == pytest.approx(low, rel=1e-5)
        assert data["high"][name] == pytest.approx(high, rel=1e-5)


def test_the_page_has_expected_figures_only_if_every_design_does(front, data):
    some = (with_expected(front)[0], front[1])
    assert data_of(replace(front, points=some).to_html())["expected"] is None
    assert data["expected"] is None


def test_the_page_has_the_flow_of_every_design(front, data):
    for i in range(len(front)):
        flow = front.flow(i)
        names = [tuple(data["features"][j] for j in stage) for stage in data["stages"][i]]
        assert names == [stage.features for stage in flow.stages]
        assert data["paid"][i] == [stage.cost_so_far for stage in flow.stages]
        assert data["scored"]["left"][i] == [stage.left for stage in flow.stages]
        assert data["scored"]["correct"][i] == [stage.correct for stage in flow.stages]
        assert data["scored"]["rows"][i] == flow.n_rows


def test_the_page_has_the_tree_of_a_design_that_branches(data):
    front = make_branching_front().with_seen(make_rows(60), np.arange(60) % 2)
    branching = data_of(front.to_html())
    flow = front.flow(1)
    assert branching["trees"] == {
        "1": {
            "before": [-1, 0, 1, 1, 1, 4, 0, 6],
            "ways": [stage.way for stage in flow.stages],
            "note": "",
        }
    }
    assert branching["scored"]["rejected"] == {"1": [stage.rejected for stage in flow.stages]}
    assert sum(branching["seen"]["rejected"]["1"]) == front.seen[1].exits[-1].n_rows
    assert data["trees"] == {}
    assert "rejected" not in data["scored"]


def test_the_page_knows_the_metric(data):
    assert data["metric"] == "accuracy"
    assert data_of(make_balanced_front().to_html())["metric"] == "balanced accuracy"


def test_the_page_has_what_it_chooses_by_and_says_it_in_the_words_of_the_front(front, data):
    assert data["steadied"] == pytest.approx([point.steadied_accuracy for point in front])
    assert data["chooses"] == {
        "any": "the most accurate that answers everyone",
        "coverage": "the most accurate",
        "quality": "the one that labels most rows, and of those the cheapest,",
        "both": "the cheapest",
    }


def test_the_page_has_what_row_by_row_assessment_found(run):
    front = run.front
    data = data_of(front.to_html(deployed=0))
    assert [one["title"] for one in data["references"]["scored"]] == [
        reference.title for reference in front.references
    ]
    assert data["references"]["scored"][1]["accuracy"] == front.references[1].accuracy
    assert data["shortlist"] in (front.shortlist(), None)
    useless = [i for i, point in enumerate(front) if not point.is_informative]
    assert data["uninformative"] == useless
    assert data["simplified"] == [i for i, point in enumerate(front) if point.is_simplified]
    assert len(data["classes"]["scored"]["counts"]) == len(front)


def test_a_page_knows_nothing_that_nobody_assessed(data):
    assert (data["shortlist"], data["uninformative"], data["classes"]) == (None, [], None)
    assert data["references"] == {"scored": [], "seen": []}


def test_references_of_a_balanced_front_have_its_metric(front):
    by_class = ByClass(("no", "yes"), ((90, 0, 0), (10, 0, 0)))
    reference = Reference.from_counts("commonest", by_class, 0.0)
    balanced = replace(make_balanced_front(), references=(reference,))
    assert data_of(balanced.to_html())["references"]["scored"][0]["accuracy"] == 0.5
    plain = replace(front, references=(reference,), seen_references=(reference,))
    data = data_of(plain.to_html())["references"]
    assert data["scored"] == data["seen"]
    assert data["seen"][0]["accuracy"] == 0.9


def test_a_front_without_seen_figures_says_so_and_thresholds_by_class_are_named(front):
    plain = ParetoFront(front.points, front.costs, {"ill": 0.9, 1: 0.75}, models=front.models)
    data = data_of(plain.to_html())
    assert data["seen"] is None
    assert data["thresholds"] == [["ill", 0.9], ["1", 0.75]]


def test_no_name_is_taken_for_markup(front):
    text = make_front(names=NASTY).to_html(title=NASTY[0], facts={NASTY[1]: NASTY[0]})
    assert data_of(text)["features"] == list(NASTY)
    assert data_of(text)["facts"] == [[NASTY[1], NASTY[0]]]
    assert scripts_of(text).keys() == scripts_of(front.to_html()).keys()
    assert "alert" not in "".join(re.findall(r"<script[^>]*>alert", text))


def test_the_page_reaches_no_network(front):
    text = front.to_html()
    for part in ("default-src", "base-uri", "form-action"):
        assert f"{part} 'none'" in text
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=.(?!data:)", text)


def test_a_page_is_written_whole_and_returned(front, tmp_path):
    text = front.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileError, match="path must be a file that can be written"):
        front.to_html(tmp_path / "no" / "page.html")


def test_a_design_that_the_page_cannot_deploy_is_refused(front):
    with pytest.raises(ParameterError, match=r"deploy must have \{number\} in it, got 'choose'"):
        front.to_html(deploy="choose")
    with pytest.raises(ParameterError, match="point must be a whole number from 0 to 1, got 2"):
        front.to_html(deployed=2)


def test_many_designs_stay_a_few_hundred_bytes_each():
    rng = np.random.default_rng(0)
    designs = np.array([rng.permutation(20) // 5 for _ in range(500)], dtype=np.int16)
    exits = rng.integers(0, 250, (500, 4))
    scores = Scores(1000, exits, exits, rng.integers(1000, 9999, 500))
    front = ParetoFront.from_scores(designs, scores, FeatureCosts.from_array(np.ones(20)), 0.8)
    assert len(scripts_of(front.to_html())["data"]) < 500 * 250


def test_without_vl_convert_one_sentence_says_what_to_install(front, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(page, "_library", LIBRARY.__wrapped__)
    with pytest.raises(EMSCOError, match=r"pip install 'emsco\[explore\]'$"):
        front.to_html()


SIGHTS = {  # of eyes without a kind of cone (Machado et al. 2009), and of those without any
    "no long": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no middle": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no short": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
}


def linear(colour):
    share = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(first, second, sight="grey"):
    """Contrast as the web guidelines (WCAG) define it, from 1 to 21, to some kind of eyes."""
    seen = (
        np.clip(SIGHTS[sight] @ linear(one), 0, 1) @ SIGHTS["grey"][0] for one in (first, second)
    )
    dark, light = sorted(seen)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(scope="module", params=[0, 1], ids=["light", "dark"])
def colours(request):
    block = page._text("page.css").split("}")[request.param]
    return dict(re.findall(r"--([\w-]+): (#[^;]+);", block))


@pytest.mark.parametrize("ground", ["card", "ground", "accent-soft"])
def test_text_and_controls_stand_out_from_their_ground(colours, ground):
    text = ["ink", "ink-soft", "accent", *(["limit"] if ground != "accent-soft" else [])]
    assert [ink for ink in text if contrast(colours[ink], colours[ground]) < 7] == []
    assert contrast(colours["line-strong"], colours[ground]) >= 3


@pytest.mark.parametrize("sight", SIGHTS)
def test_rows_with_correct_and_wrong_labels_differ_to_any_eyes(colours, sight):
    assert contrast(colours["correct"], colours["wrong"], sight) > 1.5


@pytest.mark.parametrize("sight", SIGHTS)
def test_more_is_lighter_to_any_eyes(colours, sight):
    ramp = colours["ramp"].split()
    lightness = [contrast("#000000", shade, sight) for shade in ramp]
    assert lightness == sorted(lightness)


@pytest.fixture(scope="module")
def run(tmp_path_factory, small_problem):
    folder = tmp_path_factory.mktemp("explored")
    X, y = small_problem
    lines = ["a,b,c,d,e,f,ill", *(",".join(map(str, [*x, k])) for x, k in zip(X, y, strict=True))]
    (folder / "rows.csv").write_text("\n".join(lines))
    return fit_files(
        FitFiles("ill", folder / "rows.csv"), folder / "a run", max_stages=2, **ONE_THRESHOLD
    )


def test_the_command_writes_the_page_of_a_run(run):
    result = CliRunner().invoke(cli.app, ["explore", str(run.folder)])
    assert result.exit_code == 0, result.output
    path = run.folder / "explorer.html"
    assert f"Written to {path}" in result.output.replace("\n", "")
    data = data_of(path.read_text(encoding="utf-8"))
    assert data["deploy"] == f"emsco choose '{run.folder}' {{number}}"
    assert data["deployed"] == run.chosen
    assert ["Rows", "rows.csv"] in data["facts"]


def test_the_command_takes_a_unit_of_costs_and_finds_the_certificate(run, emsco, tmp_path):
    out, signed = tmp_path / "page.html", run.folder / "certificate.json"
    rng = np.random.default_rng(9)
    certificate = run.front.certify(
        rng.normal(size=(60, 6)), np.arange(60) % 2, min_coverage=0.01, order=[run.chosen]
    )
    certificate.save(signed)
    try:
        emsco("explore", run.folder, "--out", out, "--currency", "€")
        data = data_of(out.read_text(encoding="utf-8"))
        assert data["currency"] == "€"
        assert data["certificate"]["designs"] == list(certificate.best_first)
        assert data["certificate"]["promises"] == ["at least 1 % of the rows get a label"]
        test = replace(certificate.tests[0], cascade=f"sha256:{'0' * 64}")
        with pytest.raises(ParameterError, match="certificate must be for designs of this front"):
            run.front.to_html(certificate=replace(certificate, tests=(test,)))
    finally:
        signed.unlink()
    for bad in ("", "x" * 13, "a\nb"):
        with pytest.raises(ParameterError, match="currency must be a text of 1 to 12 characters"):
            run.front.to_html(currency=bad)


def test_the_command_writes_elsewhere_and_opens_what_it_wrote(run, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    out = tmp_path / "page.html"
    options = ["explore", str(run.folder), "--out", str(out), "--json", "--open"]
    result = CliRunner().invoke(cli.app, options)
    told = json.loads(result.stdout)
    assert told == {
        "run": str(run.folder),
        "out": str(out),
        "designs": len(run.front),
        "bytes": out.stat().st_size,
    }
    assert opened == [out.as_uri()]


def test_the_command_looks_for_the_run_before_it_asks_for_vega(tmp_path, monkeypatch, emsco):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(FileError, match="RUN must be a folder that emsco fit has made, got "):
        emsco("explore", tmp_path / "none")


def test_pages_of_runs_name_no_folders_of_their_rows_and_their_seeds_whole(run):
    known = replace(run, about={**run.about, "seed": 10**20})
    facts = dict(data_of(explore_run(known))["facts"])
    assert not [how for how in facts.values() if "/" in how]
    assert facts["Seed"] == "1" + 20 * "0"


def test_a_page_of_a_run_has_its_date_and_one_of_a_front_is_the_same_on_any_day(run, data):
    facts = dict(data_of(explore_run(run))["facts"])
    assert facts["Date of this page"] == date.today().isoformat()
    assert "Date of this page" not in dict(data["facts"])


def test_a_page_has_the_thresholds_of_each_stage_if_designs_have_any():
    front = make_front_of_thresholds((0.9, {0: 0.6, 1: 0.8}, 0))
    data = data_of(front.to_html())
    assert data["own_thresholds"] == [[0.9, [["0", 0.6], ["1", 0.8]], 0], None]
    assert data["thresholds"] == 0.8
    assert data_of(make_front().to_html())["own_thresholds"] is None


def test_a_page_has_the_costs_of_errors_that_it_begins_with(run):
    front = run.front
    assert data_of(front.to_html())["error_costs"] is None
    plain = data_of(front.to_html(error_cost=500, reject_cost=40))["error_costs"]
    assert (plain["error"], plain["reject"], plain["by_class"]) == (500, 40, None)
    assert plain["designs"] == plain["references"] == plain["everyone"] == {}
    labels = front[0].by_class.labels
    errors, rejections = (dict(zip(labels, some, strict=True)) for some in ((900, 30), (5, 60)))
    by_class = data_of(front.to_html(error_cost=errors, reject_cost=40))["error_costs"]
    assert (by_class["by_class"], by_class["designs"]) == ([900, 30], {})
    matrix = [[0, 900], [30, 1]]  # a correct label has a cost, which no price of errors says
    costs = front.error_costs(matrix, rejections)
    data = data_of(front.to_html(error_cost=matrix, reject_cost=rejections))["error_costs"]
    assert data["by_class"] is None
    shares = front[0].by_class.rows / front[0].by_class.rows.sum()
    everyone = data["reject"] * data["everyone"]["rejected"][0]
    assert everyone == pytest.approx(shares @ list(rejections.values()))
    for i, point in enumerate(front):
        _, wrong, rejected = costs.mean_costs(point.by_class, promised=True)
        assert data["error"] * data["designs"]["wrong"][i] == pytest.approx(wrong)
        assert data["reject"] * data["designs"]["rejected"][i] == pytest.approx(rejected)
    for i, one in enumerate(front.references):
        wrong = costs.mean_costs(one.by_class, promised=True)[1]
        assert data["error"] * data["references"]["wrong"][i] == pytest.approx(wrong)


def test_a_page_of_a_front_that_was_searched_for_money_begins_with_its_totals(run):
    front = with_money(run.front, 300, 60)
    data = data_of(front.to_html())["error_costs"]
    assert (data["error"], data["reject"]) == (300, 60)
    for point, parts in zip(front, data["searched"], strict=True):
        assert sum(parts) == pytest.approx(point.total_with(front.money).value)
    assert data_of(front.to_html(error_cost=5, reject_cost=5))["error_costs"]["searched"] is None
    # Without a price of rejections, nobody is rejected, and that costs nothing.
    points = tuple(replace(point, coverage=1.0) for point in front)
    everyone = with_money(replace(run.front, points=points), 300, 0)
    assert data_of(everyone.to_html())["error_costs"]["reject"] is None


def test_a_page_of_a_run_begins_with_its_costs(run):
    told = replace(run, about={**run.about, "error_costs": {"error_cost": 500, "reject_cost": 40}})
    assert data_of(explore_run(told))["error_costs"]["error"] == 500
    assert data_of(explore_run(run))["error_costs"] is None


def test_references_have_the_share_of_correct_labels_beside_a_balanced_accuracy(front):
    by_class = ByClass(("no", "yes"), ((90, 0, 0), (10, 0, 0)))
    reference = Reference.from_counts("commonest", by_class, 0.0)
    balanced = replace(make_balanced_front(), references=(reference,))
    data = data_of(balanced.to_html())["references"]["scored"][0]
    assert (data["accuracy"], data["correct"]) == (0.5, 0.9)
