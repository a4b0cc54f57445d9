"""The progress reporter in a pipe; tests/cli/test_terminal.py has the bar."""

import pytest

from fewlabel.cli.terminal import progress


def lines(capsys, steps, **options):
    with progress(options.pop("quiet", False), **options) as report:
        for step in steps:
            report(*step)
    return capsys.readouterr().err.splitlines()


def test_a_line_per_step(capsys):
    assert lines(capsys, [(1, 2, "one"), (2, 2, "two")]) == ["1/2 one", "2/2 two"]


@pytest.mark.parametrize("options", [dict(quiet=True), dict(lines=False)])
def test_no_lines(capsys, options):
    assert lines(capsys, [(1, 2, "one"), (7, None, "rows")], **options) == []


def test_many_steps_are_about_twenty_lines(capsys):
    found = lines(capsys, [(k, 1003, "round") for k in range(1, 1004)])
    assert 20 <= len(found) <= 22
    assert found[-1] == "1003/1003 round"
