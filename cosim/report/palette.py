"""The colours of a report: one for each policy throughout, the same hue on a light and on a dark page.

Figures and page are written in the light colours; the page swaps each for its dark partner where the reader prefers
that. The policies' colours differ in lightness as much as in hue. They were found by a search for the set whose members
are furthest apart for readers with normal sight and with each of the three forms of colour blindness (simulated after
Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009), on both pages, the first four most of all; the tests hold them
to it. Each policy has a line style and a symbol of its own besides.
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
    "#0960a8": "#8bb3f7",
    "#a35e69": "#f9b7bf",
    "#809a49": "#dbf59e",
    "#363d00": "#868b38",
    "#06299e": "#8578e1",
    "#5a2061": "#af70b5",
    "#004230": "#4a947b",
    "#349fa5": "#a8f9fe",
}
"""Each light colour's dark partner."""

_HUES = ("#0960a8", "#a35e69", "#809a49", "#363d00", "#06299e", "#5a2061", "#004230", "#349fa5")
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
