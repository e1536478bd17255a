"""HTML for notebooks: tables, boxes and a scatter plot, for light and dark themes.

Functions take plain text, escape it once, and return HTML without scripts. Borders and backgrounds
are a translucent grey, so one version serves every theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

MOST_NAMES = 30  # features of a stage
_STYLE = """
.emsco-repr{font-size:13px;line-height:1.4;margin:4px 0}
.emsco-repr p{margin:2px 0}.emsco-repr .emsco-note{opacity:.75}
.emsco-repr .emsco-parts{display:flex;flex-wrap:wrap;gap:8px 20px;align-items:flex-start}
.emsco-repr table{border-collapse:collapse;margin:4px 0;width:auto}
.emsco-repr th,.emsco-repr td{padding:2px 8px;text-align:right;vertical-align:top;
border:0;border-bottom:1px solid rgba(128,128,128,.3);background:none;white-space:nowrap}
.emsco-repr th{font-weight:600}
.emsco-repr th.emsco-text,.emsco-repr td.emsco-text{text-align:left;
white-space:normal;max-width:44em}
.emsco-repr .emsco-boxes{display:flex;flex-wrap:wrap;gap:6px;align-items:flex-start;margin:4px 0}
.emsco-repr .emsco-box{border:1px solid rgba(128,128,128,.6);border-radius:5px;padding:4px 9px;
background:rgba(128,128,128,.1);max-width:20em}
.emsco-repr .emsco-ways{flex-basis:100%;margin-left:14px}
.emsco-repr .emsco-way{border-left:2px solid rgba(128,128,128,.6);padding:2px 0 2px 9px;
margin:4px 0}
.emsco-repr .emsco-arrow{padding-top:5px}
.emsco-repr svg{color:inherit;overflow:visible}
"""
_SHADES = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")  # dark to light in grey too
_MOST_DOTS = 100  # the notebook stores every repr, so keep it small
_WIDTH, _HEIGHT, _LEFT, _BELOW = 300, 190, 52, 40


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter plot: its place, the value that colours it, its tooltip and its look.

    The look is "" for a dot, "faint", "ring" for a dot with a ring, or "cross" for a reference.
    """

    x: float
    y: float
    shade: float
    says: str
    look: str = ""


def fragment(title: str, *parts: str) -> str:
    """Assemble a repr: a title, then the HTML of the other functions of this module."""
    inside = "".join(parts)
    return (
        f'<div class="emsco-repr"><style>{_STYLE}</style>'
        f'<p><strong>{escape(title)}</strong></p><div class="emsco-parts">{inside}</div></div>'
    )


def note(text: str) -> str:
    """Make a sentence beside a table or a picture."""
    return f'<p class="emsco-note">{escape(text)}</p>'


def table(
    headings: Sequence[str], lines: Sequence[Sequence[str]], texts: Sequence[str] = ()
) -> str:
    """Make a table of numbers; columns named in `texts` hold words and may wrap."""
    kinds = [' class="emsco-text"' if heading in texts else "" for heading in headings]

    def line(cells: Sequence[str], tag: str) -> str:
        pairs = zip(cells, kinds, strict=True)
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in pairs)

    body = "".join(f"<tr>{line(cells, 'td')}</tr>" for cells in lines)
    return f"<table><thead><tr>{line(headings, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def boxes(steps: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Make a row of boxes joined by arrows, each with a title and lines below it."""
    shown = []
    for title, lines in steps:
        inside = "".join(f"<div>{escape(line)}</div>" for line in lines)
        shown.append(f'<div class="emsco-box"><strong>{escape(title)}</strong>{inside}</div>')
    arrow = '<span class="emsco-arrow" aria-hidden="true">→</span>'
    return f'<div class="emsco-boxes">{arrow.join(shown)}</div>'


def below_boxes(ways: Sequence[tuple[str, str]]) -> str:
    """Make an indented part for each way that leads on from boxes: its words, then its HTML."""
    parts = (f'<div class="emsco-way"><em>{escape(way)}</em>{inside}</div>' for way, inside in ways)
    return f'<div class="emsco-ways">{"".join(parts)}</div>'


def scatter(dots: Sequence[Dot], x: str, y: str, shade: str) -> str:
    """Make a small scatter plot; a large set of points is thinned evenly along x.

    `x`, `y` and `shade` name the axes and the colour scale. Values of `y` and `shade` are shares
    and appear in per cent.
    """
    marked = [dot for dot in dots if dot.look in ("ring", "cross")]
    plain = [dot for dot in dots if dot.look not in ("ring", "cross")]
    by_x = sorted(plain, key=lambda dot: dot.x)
    step = max(1.0, len(by_x) / _MOST_DOTS)
    shown = [by_x[int(i * step)] for i in range(min(len(by_x), _MOST_DOTS))] + marked
    (x_low, x_high), (y_low, y_high), (low, high) = (
        (min(values, default=0.0), max(values, default=0.0))
        for values in ([getattr(dot, name) for dot in dots] for name in ("x", "y", "shade"))
    )
    marks = []
    for dot in shown:
        across = _LEFT + 6 + _share(dot.x, x_low, x_high) * (_WIDTH - _LEFT - 12)
        up = _HEIGHT - _BELOW - 6 - _share(dot.y, y_low, y_high) * (_HEIGHT - _BELOW - 12)
        colour = _SHADES[round(_share(dot.shade, low, high) * (len(_SHADES) - 1))]
        says = f"<title>{escape(dot.says)}</title>"
        if dot.look == "cross":
            arms = f"M{across - 4:.0f} {up - 4:.0f}l8 8m0 -8l-8 8"
            marks.append(f'<path d="{arms}" stroke-width="1.6">{says}</path>')
            continue
        faint = ' opacity=".25"' if dot.look == "faint" else ""
        place = f'cx="{across:.0f}" cy="{up:.0f}"'
        marks.append(f'<circle {place} r="4" fill="{colour}"{faint}>{says}</circle>')
        if dot.look == "ring":
            marks.append(f'<circle {place} r="8" fill="none" stroke-width="2"/>')
    says = escape(f"{y} against {x} of {len(dots):,} points, coloured by {shade}", quote=True)
    some = "" if len(shown) == len(dots) else note(f"{len(shown)} of {len(dots):,} points drawn.")
    return (
        f'<div><svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{says}">'
        f"{_axes((f'{x_low:.4g}', f'{x_high:.4g}'), (f'{y_low:.1%}', f'{y_high:.1%}'), x, y)}"
        f'<g stroke="currentColor" stroke-opacity=".5" stroke-width=".7">{"".join(marks)}</g>'
        f"{_legend(f'{shade} {low:.1%}', f'{high:.1%}')}</svg>{some}</div>"
    )


def _axes(x_ends: tuple[str, str], y_ends: tuple[str, str], x: str, y: str) -> str:
    floor, middle = _HEIGHT - _BELOW, (_HEIGHT - _BELOW) / 2
    texts = [
        (_LEFT, floor + 14, "start", x_ends[0]),
        (_WIDTH, floor + 14, "end", x_ends[1]),
        ((_LEFT + _WIDTH) / 2, floor + 14, "middle", x),
        (_LEFT - 5, floor, "end", y_ends[0]),
        (_LEFT - 5, 10, "end", y_ends[1]),
    ]
    words = "".join(_text(*text) for text in texts)
    turned = (
        f'<text x="12" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 12 {middle:g})">{escape(y)}</text>'
    )
    return (
        f'<path d="M{_LEFT} 0V{floor}H{_WIDTH}" fill="none" stroke="currentColor" '
        f'stroke-opacity=".5"/><g fill="currentColor" font-size="11">{words}{turned}</g>'
    )


def _legend(low: str, high: str) -> str:
    start, level = (_LEFT + _WIDTH) // 2 - 30, _HEIGHT - 12
    swatches = "".join(
        f'<rect x="{start + 13 * i}" y="{level}" width="12" height="9" fill="{colour}"/>'
        for i, colour in enumerate(_SHADES)
    )
    words = _text(start - 5, level + 9, "end", low) + _text(start + 70, level + 9, "start", high)
    return f'{swatches}<g fill="currentColor" font-size="11">{words}</g>'


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def _share(value: float, low: float, high: float) -> float:
    """Position of a value between two others, from 0 to 1; 0.5 if these are equal."""
    return (value - low) / (high - low) if high > low else 0.5
