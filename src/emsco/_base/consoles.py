"""A Rich console that shows control characters instead of sending them to the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from emsco._base.text import visible

__all__ = ["SafeConsole"]


class SafeConsole(Console):
    """A console for names from files, which may hold escape sequences."""

    def render_str(self, text: str, **settings: Any) -> Text:
        """Write out control characters before the text is measured, so that columns fit."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments in which control characters are written out."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)
