"""The page docs/reference/cli.md, written from the commands: `python -m seesay.cli.help_page > docs/reference/cli.md`.

It is put together from what the commands declare and not from what `--help` prints, which depends on the terminal.
"""

from collections.abc import Iterator
from typing import Any

import typer.main

from seesay.cli.help_text import AS_IT_IS, join_lines

RENEW = "python -m seesay.cli.help_page > docs/reference/cli.md"
_OF_TYPER = ("install_completion", "show_completion")


def help_page() -> str:
    """The text of the page: every command with its arguments and options, in the order of `seesay --help`."""
    from seesay.cli.commands import app

    root: Any = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        root.help,
        "",
        "Results go to stdout, progress and errors to stderr. Exit codes: 0 success, 1 something is missing or failed, "
        "2 wrong usage, 130 stopped.",
        "",
        "`seesay --install-completion` sets up completion with the Tab key for the shell that "
        "it is typed in (bash, zsh, fish or PowerShell); open a new shell afterwards. "
        "`seesay --show-completion` prints the script instead.",
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
            if command.invoke_without_command:
                yield f"{path} {name}", command
            yield from _commands(command, f"{path} {name}")
        elif not command.hidden:
            yield f"{path} {name}", command


def _section(path: str, command: Any) -> list[str]:
    shown = [parameter for parameter in command.params if not parameter.hidden and parameter.name not in _OF_TYPER]
    arguments = [_metavar(parameter) for parameter in shown if parameter.param_type_name == "argument"]
    options = ["[OPTIONS]"] if any(parameter.param_type_name == "option" for parameter in shown) else []
    lines = [f"## {path}", "", "```", " ".join([path, *options, *arguments]), "```", ""]
    for paragraph in join_lines(command.help).split("\n\n"):
        lines += _examples(paragraph) if paragraph.startswith(AS_IT_IS) else [paragraph, ""]
    if shown:
        lines += ["| argument or option | what it is | default |", "| --- | --- | --- |"]
        for parameter in shown:
            what = parameter.help.replace("|", "\\|")
            name = _name(parameter).replace("|", "\\|")  # which would end the cell
            lines.append(f"| {name} | {what} | {_default(parameter)} |")
        lines.append("")
    return lines


def _examples(paragraph: str) -> list[str]:
    title, *commands = paragraph.removeprefix(AS_IT_IS).strip().splitlines()
    return [title, "", "```bash", *(command.strip() for command in commands), "```", ""]


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
    if parameter.default is True:
        return "on"
    return f"`{parameter.default}`" if parameter.default or (parameter.default == 0 and not parameter.is_flag) else ""


if __name__ == "__main__":
    typer.echo(help_page(), nl=False)
