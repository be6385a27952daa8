"""Commands as typer takes them, made of what they declare (`seesay.cli.light`)."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Annotated, Any, get_args, get_origin

import typer

from seesay.cli.light import ArgumentOf, Declared, Exit


def as_typed(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose options are declared for typer, and which ends as typer's do.

    Example:
        >>> from seesay.cli.light import Option
        >>> def greet(n: Annotated[int, Option("-n", min=1)] = 1) -> None: ...
        >>> _, option = get_args(as_typed(greet).__annotations__["n"])
        >>> type(option).__name__, option.min
        ('OptionInfo', 1)
    """

    @wraps(command)
    def typed(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except Exit as end:
            raise typer.Exit(end.exit_code) from end

    own = signature(command, eval_str=True)
    parameters = [each.replace(annotation=_as_typed(each.annotation)) for each in own.parameters.values()]
    typed.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    typed.__annotations__ = {each.name: each.annotation for each in parameters}
    return typed


def _as_typed(annotation: Any) -> Any:
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *declared = get_args(annotation)
    return Annotated[(kind, *(_declaration(each, is_flag=kind is bool) for each in declared))]


def _declaration(declared: Any, *, is_flag: bool) -> Any:
    if not isinstance(declared, Declared):
        return declared
    make: Callable[..., Any] = typer.Argument if isinstance(declared, ArgumentOf) else typer.Option
    # Beside what takes no value, help would show Python's name of its type.
    settings = {"metavar": "", **declared.settings} if is_flag else declared.settings
    return make(*declared.names, **settings)
