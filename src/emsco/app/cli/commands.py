"""Typer commands that take dataclasses of options, and whose errors name flags."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from emsco.app.cli.endings import ending_quietly
from emsco.app.cli.words import speak_of

_Body = TypeVar("_Body", bound=Callable[..., Any])


class _Help:
    """Help without types of flags; a closed pipe is left to `ending_quietly`."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):  # --help is one, too
                parameter.metavar = ""
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]
        except SystemExit:  # how Rich ends when the pipe is closed
            raise BrokenPipeError from None


_ALL = "emsco.help_all"  # key in a context: --help-all was given


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


class _Command(_Help, TyperCommand):
    rare: frozenset[str] = frozenset()  # options that only --help-all shows

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if parameter.name in self.rare:
                parameter.hidden = _ALL not in ctx.meta
        return parameters

    def make_context(self, *args: Any, **settings: Any) -> Any:
        speak_of(self)
        return super().make_context(*args, **settings)


class _Group(_Help, TyperGroup):
    def make_context(self, *args: Any, **settings: Any) -> Any:
        with ending_quietly():  # before Typer gives Ctrl-C and closed pipes endings of its own
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with ending_quietly():
            return super().invoke(ctx)


class Commands(typer.Typer):
    """A Typer application whose commands may take dataclasses of options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_Group, rich_markup_mode="markdown", no_args_is_help=True, **settings)

    def command(
        self, name: str | None = None, rare: Collection[str] = (), **settings: Any
    ) -> Callable[[_Body], _Body]:
        """Add a command, as for `typer.Typer`; see `with_options` about its parameters.

        If there are `rare` options, --help leaves them out and --help-all shows them.
        """

        def register(body: _Body) -> _Body:
            # Typer makes the command from a class, so what it must know is an attribute of one.
            kind: Any = type("_KnownCommand", (_Command,), {"rare": frozenset(rare)})
            super(Commands, self).command(name, cls=kind, **settings)(with_options(body, rare))
            return body

        return register


def names_of(*groups: type) -> frozenset[str]:
    """Return the names of all options of dataclasses."""
    return frozenset(field.name for group in groups for field in fields(group))


def with_options(body: Callable[..., None], rare: Collection[str] = ()) -> Callable[..., None]:
    """Turn each field of a parameter that is a dataclass into an option of the command.

    Annotate fields like parameters of a Typer command. A dataclass may have a PANEL: help lists
    its options under that heading. If some options are `rare`, the command has --help-all.
    """
    kinds = get_type_hints(body, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, parameter in signature(body).parameters.items():
        if name in groups:
            group = groups[name]
            options = get_type_hints(group, include_extras=True)
            for field in fields(group):
                value, info = get_args(options[field.name])
                info = copy(info)
                if hasattr(group, "PANEL") and isinstance(info, OptionInfo):
                    info.rich_help_panel = group.PANEL
                default = Parameter.empty if field.default is MISSING else field.default
                parameters.append(
                    Parameter(
                        field.name,
                        Parameter.KEYWORD_ONLY,
                        default=default,
                        annotation=Annotated[value, info],
                    )
                )
        else:
            typed = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name])
            parameters.append(typed)
    if rare:
        words = f"Show {len(rare)} more options, and exit."
        option = typer.Option("--help-all", is_eager=True, callback=_show_all, help=words)
        shown = Annotated[bool, option]
        flag = Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=shown)
        parameters.append(flag)

    @wraps(body)
    def command(**given: Any) -> None:
        given.pop("help_all", None)
        for name, group in groups.items():
            values = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**values)
        body(**given)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
