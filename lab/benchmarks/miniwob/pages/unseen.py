"""Pages that nobody can judge by what a browser tells of them, and why."""

from __future__ import annotations

from lab.benchmarks.miniwob.registry import unobservable

unobservable("count-sides", "a canvas: how many sides the figure has is in its pixels alone")
unobservable(
    "click-pie",
    "its slices take the press itself, and no click comes of it that a browser would tell",
)
unobservable(
    "chase-circle",
    "paid for the time that the pointer spends in a moving circle; no event tells of it",
)
unobservable(
    "hover-shape", "the page itself never pays: its round ends by its own clock, always at -1"
)
unobservable(
    "draw-circle",
    "paid for every point that the pointer passed; the document keeps a smoothed line",
)
unobservable(
    "draw-line", "paid for every point that the pointer passed; the document keeps a smoothed line"
)
unobservable(
    "simon-says", "the order to repeat flashes once, and neither utterance nor document holds it"
)
unobservable(
    "stock-market", "paid by the price as it stood at the click; it changes ten times a second"
)
