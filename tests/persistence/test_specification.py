"""The page that specifies the format names every kind of part with all of its fields."""

import re
from pathlib import Path

from fewlabel.parts import KINDS
from fewlabel.parts.part import field_types

PAGE = Path(__file__).parents[2] / "docs" / "model-file.md"


def test_every_kind_is_specified_with_its_fields():
    tables = PAGE.read_text("utf-8").split("## Parts")[1]
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", tables, re.MULTILINE)
    stated = {kind: set(re.findall(r"`(\w+)`", fields)) for kind, fields in rows}
    assert stated == {kind: set(field_types(part)) for kind, part in KINDS.items()}
