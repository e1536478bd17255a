"""`emsco plot`: every kind of picture of a run."""

import json

import numpy as np
import pytest
from support.settings import PLAIN

from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.app.runs.views import KINDS, plot_run
from emsco.errors import ParameterError

NAMES = ("age", "pulse", "panel", "scan")


def write_rows(path, n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    X = rng.normal(size=(n, 4)) + y[:, None] * [1.0, 0.7, 0.4, 0.2]
    lines = [",".join((*NAMES, "ill"))]
    lines += [
        ",".join(map(str, (*row, ("no", "yes")[label]))) for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    data, test = write_rows(folder / "a.csv", 200, 0), write_rows(folder / "b.csv", 80, 1)
    files = FitFiles("ill", data, test=test)
    return fit_files(files, folder / "run", max_stages=2, search="paper", generations=4, **PLAIN)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("reliability", "risk")])
def test_every_kind_is_drawn_from_the_folder(run, kind, emsco, tmp_path):
    result = emsco("plot", run.folder, "--kind", kind, "--out", tmp_path / "picture.svg", "--json")
    assert json.loads(result.stdout)["kind"] == kind
    assert "<svg" in (tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize("kind", ["reliability", "risk"])
def test_honesty_is_drawn_on_rows_of_a_file(run, kind, emsco, tmp_path):
    data, out = run.folder.parent / "b.csv", tmp_path / "picture.png"
    result = emsco("plot", run.folder, "--kind", kind, "--data", data, "--out", out)
    assert result.stdout == f"Written to {out}.\n"
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_rows_of_a_weighted_run_keep_their_weights(tmp_path):
    data = write_rows(tmp_path / "rows.csv", 120, 0)
    head, *lines = data.read_text().splitlines()
    weighted = [f"{head},counts", *(f"{line},{1 + i % 3}" for i, line in enumerate(lines))]
    data.write_text("\n".join(weighted) + "\n")
    files = FitFiles("ill", data, weights="counts")
    run = fit_files(files, tmp_path / "run", max_stages=2, search="paper", generations=2, **PLAIN)
    table, y, weights = run.labelled(data)
    assert "counts" not in table.column_names
    assert len(y) == 120
    assert weights.tolist() == [1.0 + i % 3 for i in range(120)]


def test_a_point_other_than_the_deployed_one_can_be_drawn(run):
    other = next(i for i in range(len(run.front)) if i != run.chosen)
    figure = plot_run(run, "cascade", point=other, on="seen", width=7.0)
    said = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert f"mean cost {run.front.seen[other].cost:.4g}" in said
    with pytest.raises(ParameterError):
        plot_run(run, "cascade", point=len(run.front))


def test_convergence_of_a_run_is_that_of_its_search(run):
    record = Run.open(run.folder).convergence
    assert record.generation.tolist() == [0, 1, 2, 3, 4]
    assert (np.diff(record.n_designs) >= 0).all()
    best = record.best_coverage[-1], record.best_accuracy[-1], record.best_cost[-1]
    fittest = run.front[0]
    assert best == (fittest.coverage, fittest.accuracy, fittest.cost)
