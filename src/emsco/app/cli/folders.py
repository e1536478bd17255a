"""Make folders for the results of studies, and write the results to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from emsco.app.cli.endings import INTERRUPTED, interruptible, say
from emsco.app.cli.output import echo
from emsco.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_folder(path: Path) -> None:
    """Raise if --out cannot be a folder for results, or if Matplotlib is missing.

    Called before the work starts, which may take minutes.
    """
    from emsco.plotting import check_matplotlib

    check_matplotlib()
    if (path / "run.json").exists():
        raise ParameterError(
            f"out must be a folder without a run of emsco fit, got {str(path)!r}; name another."
        )
    if path.exists() and not path.is_dir():
        raise ParameterError(f"out must be a folder, got the file {str(path)!r}.")


def make_folder(path: Path) -> None:
    """Make the folder of --out; raise if that is impossible."""
    check_folder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"out must be a folder, got {str(path)!r}: {error.strerror or 'it cannot be made'}."
        ) from None


@contextmanager
def claiming(path: Path, name: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a callback that makes the folder of --out and keeps it for this process.

    It takes the data and settings as plain values, and raises if the folder holds results of
    others, or if another process is writing to it.
    """
    from emsco._base.locks import SHORT_PATIENCE, locked_folder

    with ExitStack() as held:

        def claim(of: Mapping[str, Any]) -> None:
            make_folder(path)
            held.enter_context(locked_folder(path, SHORT_PATIENCE))
            _check_same(path, name, of)

        yield claim


def _check_same(path: Path, name: str, of: Mapping[str, Any]) -> None:
    """Raise if a folder holds results of other data or settings."""
    from emsco._base.documents import parse_json

    there = path / f"{name}.json"
    if not there.exists():
        return
    known: Any = None
    with suppress(AttributeError, OSError, ValueError):
        known = parse_json(there.read_bytes()).get("of")
    known = known if isinstance(known, dict) else {}
    wanted = json.loads(json.dumps(of))
    if differ := [one for one in wanted if one not in known or known[one] != wanted[one]]:
        raise ParameterError(
            f"out must be a new folder or one of the same {name}, got {str(path)!r}, whose "
            f"{there.name} differs in {', '.join(differ)}; name another."
        )


@contextmanager
def working(
    what: str = "jobs", left: str = "no result was complete"
) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar, yield its callback, and after Ctrl-C say what is left."""
    from emsco._base.progress import JobProgress

    with interruptible(left), JobProgress(what) as progress:
        yield progress.job


def what_is_left(path: Path) -> str:
    """Say what the folder of --out holds after Ctrl-C, if results are written only at the end."""
    if not path.exists():
        return "nothing is written"
    return f"{path} is as it was" if any(path.iterdir()) else f"no result is written to {path}"


class Result(Protocol):
    """Results of a study."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        ...

    def to_markdown(self) -> str:
        """Tables for people."""
        ...


def write_results(out: Path, name: str, result: Result, figure: Figure) -> str:
    """Write tables and picture of a study to the folder of --out; return the JSON."""
    from emsco._base.documents import write_text
    from emsco.plotting import save_figure

    text = json.dumps(result.to_dict(), indent=2)
    write_text(out / f"{name}.json", text + "\n")
    write_text(out / f"{name}.md", result.to_markdown() + "\n")
    save_figure(figure, out / name)
    return text


def end(
    out: Path,
    name: str,
    seconds: float | None = None,
    complete: bool = True,
    goes_on: bool = True,
) -> None:
    """Say where the results are; if incomplete, exit with the code of Ctrl-C.

    `goes_on` is whether the same command continues from the results in the folder.
    """
    took = "" if seconds is None else f" after {seconds:.0f} s"
    echo(f"Written to {out}{took}: {name}.md, .json, .png, .svg", err=True)
    if not complete:
        more = ", and the same command continues" if goes_on else ""
        say(f"interrupted; complete results are kept{more}.")
        raise SystemExit(INTERRUPTED)
