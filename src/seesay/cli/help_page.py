"""The page docs/reference/cli.md, written from the commands: `python -m seesay.cli.help_page > docs/reference/cli.md`.

It is put together from what the commands declare and not from what `--help` prints, which depends on the terminal.
"""

from collections.abc import Iterator
from typing import Any

import typer.main

RENEW = "python -m seesay.cli.help_page > docs/reference/cli.md"
_OF_TYPER = ("install_completion", "show_completion")


def help_page() -> str:
    """The text of the page: every command with its arguments and options, in the order of `seesay --help`."""
    from seesay.cli.main import app

    root: Any = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        root.help,
        "",
        "Results go to stdout, progress and errors to stderr. Exit codes: 0 success, 1 something is missing or failed, "
        "2 wrong usage, 130 stopped. `seesay --install-completion` installs shell completion.",
        "",
    ]
    for path, command in _commands(root, "seesay"):
        lines += _section(path, command)
    lines.append(f"*This page is generated from the commands: `{RENEW}`.*")
    return "\n".join(lines) + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The commands below a group, those of groups inside it where the group stands."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        elif not command.hidden:
            yield f"{path} {name}", command


def _section(path: str, command: Any) -> list[str]:
    shown = [parameter for parameter in command.params if not parameter.hidden and parameter.name not in _OF_TYPER]
    arguments = [_metavar(parameter) for parameter in shown if parameter.param_type_name == "argument"]
    options = ["[OPTIONS]"] if any(parameter.param_type_name == "option" for parameter in shown) else []
    # A line break inside a paragraph of a docstring is none in what it says.
    paragraphs = [" ".join(paragraph.split()) for paragraph in command.help.split("\n\n")]
    lines = [f"## {path}", "", "```", " ".join([path, *options, *arguments]), "```", ""]
    for paragraph in paragraphs:
        lines += [paragraph, ""]
    if shown:
        lines += ["| argument or option | what it is | default |", "| --- | --- | --- |"]
        for parameter in shown:
            what = parameter.help.replace("|", "\\|")
            lines.append(f"| {_name(parameter)} | {what} | {_default(parameter)} |")
        lines.append("")
    return lines


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"`{names}`" if parameter.is_flag else f"`{names} {_metavar(parameter)}`"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    is_said = parameter.default is not None and parameter.default is not False  # an absent flag needs no words
    return f"`{parameter.default}`" if is_said else ""


if __name__ == "__main__":
    typer.echo(help_page(), nl=False)
