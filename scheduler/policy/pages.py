"""The table of fields in docs/policy.md, made from the model: `python -m scheduler.policy.pages`, in the checkout."""

from __future__ import annotations

import json
from pathlib import Path

from scheduler.policy.model import BUILT_IN, Rule
from traces.durations import format_duration

PAGE = Path("docs/policy.md")

_BEGIN, _END = "<!-- made from scheduler/policy/model.py -->", "<!-- end of what is made -->"
_UNBOUNDED = 2**60
"""What the built-in limits of sizes stand at: no limit."""


def markdown_table() -> str:
    """Return all fields of a rule, with what holds where no rule says anything."""
    rows = [
        f"| `{name}` | {_cell(field.description or '')} | {_built_in(name)} |"
        for name, field in Rule.model_fields.items()
    ]
    return "\n".join(["| field | what it says | built in |", "|---|---|---|", *rows])


def policy_page(text: str) -> str:
    """Return docs/policy.md with the table in its place."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table")
    return f"{before}{_BEGIN}\n{markdown_table()}\n{_END}{after}"


def _built_in(name: str) -> str:
    value = getattr(BUILT_IN, name)
    field = Rule.model_fields[name].description or ""
    if value in ("none", 0) and "'none'" in field:
        return '`"none"`'
    if value == _UNBOUNDED:
        return "no limit"
    if "[time]" in field and isinstance(value, int | float):
        return f"`{format_duration(float(value))}`"
    return f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(policy_page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
