"""What ``--help`` prints, at the width of an old terminal."""

import re
import shlex

import pytest
import typer.main

from fewlabel.cli.help import EXAMPLES
from fewlabel.cli.main import app, run

COMMANDS = typer.main.get_command(app).commands
OPTION = re.compile(r"--[a-z][a-z-]*")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_into_80_columns(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "<bool>" not in out
    for parameter in COMMANDS[name].params:
        assert all(option in out for option in parameter.opts if option.startswith("--"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_the_commands_take(name, capsys):
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out.partition("Examples:\n")[2].splitlines()
    assert [line.strip() for line in shown] == EXAMPLES[name]
    for line in EXAMPLES[name]:
        program, command, *words = shlex.split(line)
        assert program == "fewlabel"
        known = {option for parameter in COMMANDS[command].params for option in parameter.opts}
        assert {word for word in words if OPTION.fullmatch(word)} <= known


def test_the_list_of_commands_has_whole_sentences(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]
