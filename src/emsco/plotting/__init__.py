"""Pictures for papers, with matplotlib: `pip install 'emsco[plot]'`.

Each is a plain record of what is shown, and a function that draws it; what makes the record of a
front, a history or an experiment stands beside those.
"""

from emsco.plotting.figures import COLUMN, check_matplotlib, new_figure, save_figure
from emsco.plotting.reliability import draw_reliability

__all__ = ["COLUMN", "check_matplotlib", "draw_reliability", "new_figure", "save_figure"]
