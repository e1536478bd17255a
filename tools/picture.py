"""Draw the picture of the README: rows on their way through a cascade.

python tools/picture.py         write docs/_static/cascade.svg
python tools/picture.py --show  print it instead

It fits a cascade to the breast-cancer data that comes with scikit-learn (seed 0) and draws what
happens to test rows. The same versions draw the same picture.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

from emsco_lab.datasets import load
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

OUT = Path(__file__).resolve().parent.parent / "docs" / "_static" / "cascade.svg"
WIDTH, HEIGHT = 960, 396
BAND = 96  # height of the band that holds all rows
TOP = 182  # where the band begins, below the stages
LEFT, STEP = 118, 240  # left edge of the first stage, and the distance to the next
FLOOR = 326  # lower end of the rows that exit
STYLE = """
:root{--page:#fff;--edge:#d0d7de;--card:#f6f8fa;--ink:#1f2328;--soft:#57606a;--go:#8ea0b8;
--leave:#1a7f5a;--reject:#bc4c00}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--edge:#30363d;--card:#161b22;--ink:#e6edf3;
--soft:#9aa4af;--go:#52627a;--leave:#3fb68b;--reject:#f0883e}}
text{font:14px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.b{font-weight:600}.s{fill:var(--soft);font-size:13px}.m{text-anchor:middle}
.page{fill:var(--page);stroke:var(--edge)}.card{fill:var(--card);stroke:var(--edge)}
.go{fill:var(--go)}.leave{fill:var(--leave)}.reject{fill:var(--reject)}
"""


@dataclass(frozen=True, slots=True)
class Exit:
    """Rows that exit at one stage; `buys` is empty for rejected rows."""

    buys: tuple[str, ...]
    cost: float
    n_rows: int
    accuracy: float


@dataclass(frozen=True, slots=True)
class Story:
    """Figures in the picture."""

    exits: tuple[Exit, ...]
    n_rows: int
    mean_cost: float
    everything: float
    coverage: float
    accuracy: float


def tell() -> Story:
    """Fit the cascade, and evaluate it on test rows."""
    data = load("breast_cancer")
    parts = train_test_split(data.X, data.y, test_size=0.4, stratify=data.y, random_state=0)
    X_train, X_test, y_train, y_test = parts
    clf = EMSCOClassifier(
        data.costs,
        min_confidence=0.95,
        max_stages=3,
        allow_exclusion=True,
        generations=60,
        estimator="logistic",
        cv=1 / 3,
        random_state=0,
    ).fit(X_train, y_train)
    report = clf.evaluate(X_test, y_test)
    exits = tuple(
        Exit(() if e.stage is None else e.features, e.cost, int(e.n_rows), e.accuracy)
        for e in report.exits
    )
    return Story(
        exits,
        int(report.n_rows),
        report.cost,
        data.costs.total,
        report.coverage,
        report.accuracy,
    )


def draw(story: Story) -> str:
    """Draw the story as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(_summary(story))}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
        _text(18, TOP + 42, f"{story.n_rows} new", "b"),
        _text(18, TOP + 60, "patients", "b"),
    ]
    undecided, paid, x = story.n_rows, 0.0, LEFT - 18
    for number, leave in enumerate(story.exits[:-1], 1):
        parts += _stage(number, leave, paid, undecided, x, story.n_rows)
        undecided, paid, x = undecided - leave.n_rows, leave.cost, LEFT + number * STEP - 18
    parts += _rejected(story.exits[-1], x, story.n_rows)
    parts += [_text(WIDTH / 2, HEIGHT - 18, _summary(story), "m"), "</svg>"]
    return "\n".join(parts) + "\n"


def _stage(
    number: int, leave: Exit, paid: float, undecided: int, x: float, n_rows: int
) -> list[str]:
    """Draw one stage above the band, its part of the band, and its exits below."""
    scale = BAND / n_rows
    width, gone = undecided * scale, leave.n_rows * scale
    stay, end = width - gone, x + STEP
    turn = end - 40  # where leaving rows end
    fork = turn - 60  # where they part from the others
    outer, inner = FLOOR - TOP - stay - 30, FLOOR - TOP - width - 30  # heights of the two edges
    bend = (
        f"M{fork:.1f} {TOP + stay:.1f} h10 "
        f"q{50 + gone / 2:.1f} 0 {50 + gone / 2:.1f} {outer:.1f} h6 "
        f"l{-gone / 2 - 6:.1f} 12 l{-gone / 2 - 6:.1f} -12 h6 "
        f"q0 {-inner:.1f} {gone / 2 - 50:.1f} {-inner:.1f} h-10 z"
    )
    lines = [
        _band(x, fork, width),
        _band(fork, end, stay),
        f'<path class="leave" d="{bend}"/>',
        f'<rect class="card" x="{x + 18:.1f}" y="20" width="{STEP - 36}" height="142" rx="8"/>',
        _text(x + 32, 46, f"Stage {number} buys", "b"),
        _text(x + STEP - 32, 46, f"for {leave.cost - paid:g}", "s", anchor="end"),
    ]
    lines += [_text(x + 32, 68 + 19 * i, name) for i, name in enumerate(leave.buys)]
    lines += [
        _text(turn, FLOOR + 6, f"{leave.n_rows} labelled", "b m"),
        _text(turn, FLOOR + 24, f"{leave.accuracy:.0%} correct, {leave.cost:g} each", "s m"),
    ]
    return lines


def _band(start: float, end: float, height: float) -> str:
    """Draw undecided rows, a little too long so that no seam shows."""
    where = f'x="{start:.1f}" y="{TOP}" width="{end - start + 1:.1f}" height="{height:.1f}"'
    return f'<rect class="go" {where}/>'


def _rejected(leave: Exit, x: float, n_rows: int) -> list[str]:
    """Draw the end of the band: rejected rows."""
    height = BAND * leave.n_rows / n_rows
    tip = f"l{height:.1f} {height:.1f} l{-height:.1f} {height:.1f} z"
    return [
        f'<path class="reject" d="M{x:.1f} {TOP - height / 2:.1f} {tip}"/>',
        _text(x + 12, TOP + 52, f"{leave.n_rows} rejected:", "b"),
        _text(x + 12, TOP + 70, "ask a doctor", "s"),
        _text(x + 12, TOP + 87, f"{leave.cost:g} each", "s"),
    ]


def _summary(story: Story) -> str:
    """Write the sentence below the picture."""
    return (
        f"{story.coverage:.0%} get a label, {story.accuracy:.0%} of the labels are correct. "
        f"A patient costs {story.mean_cost:.1f} on average; measuring everything costs "
        f"{story.everything:g}."
    )


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    """Draw a line of text."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{look}{where}>{escape(words)}</text>'


def main() -> int:
    """Draw the picture and write it."""
    svg = draw(tell())
    if "--show" in sys.argv[1:]:
        print(svg, end="")
        return 0
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(svg, encoding="utf-8")
    print(f"written to {OUT}: {len(svg) / 1000:.1f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
