"""The colours of a report: one for each policy throughout, the same hue on a light and on a dark page.

Figures and page are written in the light colours; the page swaps each for its dark partner where the reader prefers
that. Hues of policies keep their order of lightness apart under the common forms of colour blindness (after Okabe and
Ito, "Color Universal Design", 2008), and each policy has a line style and a symbol of its own besides.
"""

from __future__ import annotations

from dataclasses import dataclass

TEXT, MUTED, GRID, PAGE = "#1b1f24", "#59636e", "#dfe3e8", "#ffffff"
"""Text, text that steps back, lines of a grid, and the page itself."""

ON_DEMAND = "#20242a"
"""On-demand jobs: the strongest contrast that the page has, since they are what the view is about."""

LOST = "#d1361b"
"""What is lost: wasted node-seconds, interrupted runs."""

DARK = {
    TEXT: "#e8ebef",
    MUTED: "#9aa4b0",
    GRID: "#30363f",
    PAGE: "#14171c",
    ON_DEMAND: "#f4f6f8",
    LOST: "#ff7657",
    "#0072b2": "#4aa8e8",
    "#a06a00": "#f0b23e",
    "#008f6b": "#35c796",
    "#b0428a": "#e88cc6",
    "#4b3f99": "#a79bf0",
    "#2b93bd": "#8ed8f8",
    "#737300": "#d8d45c",
    "#6b7280": "#b3bac4",
}
"""Each light colour's dark partner."""

_HUES = ("#0072b2", "#a06a00", "#008f6b", "#b0428a", "#4b3f99", "#2b93bd", "#737300", "#6b7280")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon", "hexagon")


@dataclass(frozen=True)
class Style:
    """How a policy is drawn.

    Attributes
    ----------
    colour : str
        On a light page.
    dash, symbol : str
        Of its lines and points, in plotly's words.
    """

    colour: str
    dash: str
    symbol: str


def style(place: int) -> Style:
    """Return the style of the policy at a place of the report's order."""
    which = place % len(_HUES)
    return Style(_HUES[which], _DASHES[which], _SYMBOLS[which])
