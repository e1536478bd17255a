"""Size of the explorer's page, and its speed while you drag a limit.

python benchmarks explorer [--designs 10000] [--features 30] [--classes 2]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from browser import open_browser
from common import SEED

from emsco import FeatureCosts, ParetoFront, ParetoPoint
from emsco._base.objectives import Estimate, Expected
from emsco.designs.chromosomes import compress
from emsco.front.references import references_of
from emsco.scoring.scores import Scores
from emsco.stats.by_class import ByClass
from emsco.stats.intervals import share_estimate

N_ROWS, MAX_STAGES = 2000, 5
DRAG = """
const done = arguments[0];
const slider = document.getElementById("limit-cost");
const [low, high] = [Number(slider.min), Number(slider.max)];
const times = [];
let step = 0;
function drag() {
  slider.value = high - (high - low) * (0.1 + 0.8 * ((step * 7) % 40) / 40);
  const started = performance.now();
  slider.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => {
    // The page's own frame has run before this one; the message comes once it is painted.
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      times.push(performance.now() - started);
      step += 1;
      if (step < 40) drag(); else done(times);
    };
    channel.port2.postMessage(null);
  });
}
drag();
"""


def make_front(n_designs: int, n_features: int, n_classes: int) -> ParetoFront:
    """Make random designs with plausible counts; some may dominate others.

    One in a hundred is on the shortlist.
    """
    rng = np.random.default_rng(SEED)
    designs = np.array(
        [compress(rng.integers(0, MAX_STAGES, n_features)) for _ in range(n_designs)],
        dtype=np.int16,
    )
    exits = rng.multinomial(N_ROWS, rng.dirichlet(np.ones(MAX_STAGES + 1), n_designs))
    exits = np.where(np.arange(MAX_STAGES) <= designs.max(axis=1, keepdims=True), exits[:, :-1], 0)
    correct_exits = rng.binomial(exits, rng.uniform(0.7, 1, n_designs)[:, None])
    costs = FeatureCosts.from_array(rng.integers(1, 100, n_features))
    spent = rng.uniform(0.1, 1, n_designs) * costs.total * N_ROWS
    ties = np.ones(n_designs, dtype=np.int64)
    front = ParetoFront.from_scores(
        designs, Scores(N_ROWS, exits, correct_exits, spent), costs, 0.8, ties
    )
    truth = rng.integers(0, n_classes, N_ROWS)
    labels = tuple(range(n_classes))

    def by_class() -> ByClass:
        given = np.where(rng.random(N_ROWS) < 0.8, truth, rng.integers(0, n_classes + 1, N_ROWS))
        return ByClass.from_labels(labels, truth, given)

    def expected(point: ParetoPoint) -> Expected:
        return Expected(
            share_estimate(point.coverage, N_ROWS),
            share_estimate(0.97 * point.accuracy, N_ROWS),
            Estimate(point.cost, 0.98 * point.cost, 1.02 * point.cost),
        )

    points = tuple(
        replace(point, by_class=by_class(), shortlisted=i % 100 == 0, expected=expected(point))
        for i, point in enumerate(front)
    )
    sure = rng.random(N_ROWS) < 0.9
    references = references_of(labels, truth, truth, sure, 0, costs.total, None)
    return replace(front, points=points, references=references)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--classes", type=int, default=2)
    options = parser.parse_args()
    front = make_front(options.designs, options.features, options.classes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        started = time.perf_counter()
        page = front.to_html(path)
        made = time.perf_counter() - started
        browser = open_browser(Path(folder) / "profile")
        try:
            browser.set_script_timeout(120)
            started = time.perf_counter()
            browser.get(path.as_uri())
            opened = time.perf_counter() - started
            times = np.array(browser.execute_async_script(DRAG))
        finally:
            browser.quit()
    print(f"seed {SEED}")
    print(f"{options.designs:,} designs of {options.features} features: {len(page) / 1e6:.1f} MB")
    print(f"made in {made:.1f} s, opened in {opened:.1f} s")
    print(f"a limit dragged: {np.median(times):.0f} ms a step, at most {times.max():.0f} ms")
