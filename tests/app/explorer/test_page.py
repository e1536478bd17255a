"""The explorer page: its record, the contents of the file, and the command."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from support.handmade import (
    make_branching_front,
    make_front,
    make_rows,
    with_expected,
)
from support.settings import ONE_THRESHOLD
from typer.testing import CliRunner

from emsco import FeatureCosts, ParetoFront
from emsco.app import cli
from emsco.app.explorer import page
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.designs.population import Designs
from emsco.errors import FileError
from emsco.scoring.scores import Counts

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
    with pytest.raises(FileError):
        front.to_html(tmp_path / "no" / "page.html")


def test_many_designs_stay_a_few_hundred_bytes_each():
    rng = np.random.default_rng(0)
    designs = Designs.of(np.array([rng.permutation(20) // 5 for _ in range(500)], np.int16))
    exits = rng.integers(0, 250, (500, 4))
    scores = Counts(1000, exits, exits, rng.integers(1000, 9999, 500))
    front = ParetoFront.from_scores(designs, scores, FeatureCosts.from_array(np.ones(20)), 0.8)
    assert len(scripts_of(front.to_html())["data"]) < 500 * 250


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
