"""Typer commands that take dataclasses of options, and whose errors name flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from emsco.app.cli.endings import ending_quietly
from emsco.app.cli.parsers import refuse_percent
from emsco.app.cli.words import speaking

_Body = TypeVar("_Body", bound=Callable[..., Any])


class _Command(TyperCommand):
    numbers: frozenset[str] = frozenset()  # options that take a number

    def make_context(self, info_name: Any, args: Any, *more: Any, **settings: Any) -> Any:
        with speaking(self):
            refuse_percent(args, self.numbers)
        return super().make_context(info_name, args, *more, **settings)

    def get_params(self, ctx: Any) -> Any:
        return _bare_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _unless_closed(super().format_help, ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        with speaking(self):
            return super().invoke(ctx)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _bare_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _unless_closed(super().format_help, ctx, formatter)

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with ending_quietly():  # before Typer gives Ctrl-C and closed pipes endings of its own
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with ending_quietly():
            return super().invoke(ctx)


def _unless_closed(show: Callable[[Any, Any], None], ctx: Any, formatter: Any) -> None:
    """Show help; raise `BrokenPipeError` where Rich would exit because the pipe is closed."""
    try:
        show(ctx, formatter)
    except SystemExit:
        raise BrokenPipeError from None


def _bare_flags(parameters: Any) -> Any:
    """Return the parameters, with no type shown in help for flags, --help included."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Commands(typer.Typer):
    """A Typer application whose commands may take dataclasses of options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_Group, rich_markup_mode="markdown", no_args_is_help=True, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Body], _Body]:
        """Add a command, as for `typer.Typer`; see `with_options` about its parameters."""

        def register(body: _Body) -> _Body:
            command = with_options(body)
            # Typer makes the command from a class, so what it must know is an attribute of one.
            with_numbers: Any = type("_Numbered", (_Command,), {"numbers": _numbers(command)})
            super(Commands, self).command(name, cls=with_numbers, **settings)(command)
            return body

        return register


def with_options(body: Callable[..., None]) -> Callable[..., None]:
    """Turn each field of a parameter that is a dataclass into an option of the command.

    Annotate fields like parameters of a Typer command. A dataclass may have a PANEL: help lists
    its options under that heading.
    """
    kinds = get_type_hints(body, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, parameter in signature(body).parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            kind, typed = Parameter.KEYWORD_ONLY, kinds[name]
            parameters.append(parameter.replace(kind=kind, annotation=typed))

    @wraps(body)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            values = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**values)
        body(**given)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _options(group: Any) -> Iterator[Parameter]:
    """Yield the fields of a dataclass as parameters of a command."""
    kinds = get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind = _in_panel(kinds[field.name], getattr(group, "PANEL", None))
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=kind
        )


def _numbers(command: Callable[..., None]) -> frozenset[str]:
    """Return the names of the options that take a number."""
    kinds = command.__annotations__.items()
    return frozenset(name for name, kind in kinds if float in _types_of(get_args(kind)[0]))


def _types_of(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) or (kind,)


def _default(field: Field[Any]) -> Any:
    return Parameter.empty if field.default is MISSING else field.default


def _in_panel(kind: Any, panel: str | None) -> Any:
    """Return the annotation with a help panel set; arguments keep their own panel."""
    value, info = get_args(kind)
    info = copy(info)
    if panel is not None and isinstance(info, type(typer.Option())):
        info.rich_help_panel = panel
    return Annotated[value, info]
