"""Every page's generator: importing this lists them all."""

from lab.benchmarks.miniwob.pages import (
    buttons,
    choices,
    drags,
    fields,
    finds,
    flights,
    forms,
    links,
    mails,
    posts,
    shapes,
    unseen,
    widgets,
)

__all__ = [
    "buttons",
    "choices",
    "drags",
    "fields",
    "finds",
    "flights",
    "forms",
    "links",
    "mails",
    "posts",
    "shapes",
    "unseen",
    "widgets",
]
