"""What a figure says, and whether all of it is inside."""

from __future__ import annotations

from math import cos, radians, sin
from unittest.mock import patch

from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg

HISTORY = {
    "generation": [0, 1, 2],
    "best_coverage": [0.7, 0.8, 0.8],
    "best_accuracy": [0.9, 0.9, 0.95],
    "best_cost": [9, 5, 4],
    "n_front": [3, 5, 4],
    "n_designs": [300, 500, 900],
    "n_subsets": [200, 300, 350],
    "seconds": [0.1, 0.2, 0.4],
}


def words_of(figure):
    """All text as it is drawn, without blanks; fails where a letter is outside of the figure."""
    said, draw = [], RendererAgg.draw_text

    def watch(renderer, gc, x, y, text, font, angle, ismath=False, mtext=None):
        width, height, below = renderer.get_text_width_height_descent(text, font, ismath)
        turn = radians(angle)
        for along, up in ((0, -below), (width, -below), (0, height - below), (width, height)):
            across = x + along * cos(turn) - up * sin(turn)
            down = y - along * sin(turn) - up * cos(turn)
            inside = -1 <= across <= renderer.width + 1 and -1 <= down <= renderer.height + 1
            assert inside, f"{text!r} is cut off: it reaches ({across:.0f}, {down:.0f})"
        said.append(text)
        draw(renderer, gc, x, y, text, font, angle, ismath, mtext)

    with patch.object(RendererAgg, "draw_text", watch):
        FigureCanvasAgg(figure).draw()
    return "".join("".join(said).split())
