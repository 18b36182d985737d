"""What every report is made of: style, data that no parser takes for markup, plotly.js, and what a browser may run."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from cosim.report import palette
from cosim.report.comparison import colours

_ROLES = (("--text", palette.TEXT), ("--muted", palette.MUTED), ("--grid", palette.GRID), ("--page", palette.PAGE))


def style_sheet(names: Sequence[str]) -> str:
    """Return the style sheet, after the colours that page and figures share.

    Parameters
    ----------
    names : sequence of str
        The policies of the report, in its order.
    """
    light = [*_ROLES, *colours(names), ("--lost", palette.LOST)]
    dark = [(role, palette.DARK[colour]) for role, colour in light]
    declared = [";".join(f"{role}:{colour}" for role, colour in scheme) for scheme in (light, dark)]
    root = f":root{{{declared[0]}}}\n@media (prefers-color-scheme: dark){{:root{{{declared[1]}}}}}\n"
    return root + resource("page.css")


def content_security_policy(*scripts: str) -> str:
    """Allow these scripts alone: no connection to anywhere, and nothing that a job's name might smuggle in."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def embedded_json(value: Any) -> str:
    """Return JSON that no HTML parser takes for markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def plotly_js() -> str:
    """Return plotly.js from the installed package, which is found but not imported: that alone takes 0.1 s.

    Its strings do not end the element that holds it.
    """
    found = importlib.util.find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("the package plotly is not installed: install tierwise again, it comes with it")
    script = (Path(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def resource(name: str) -> str:
    """Return a file that lies beside this module."""
    return (resources.files("cosim.report") / name).read_text(encoding="utf-8")
