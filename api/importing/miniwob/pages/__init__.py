"""Every page's generator: importing this lists them all."""

from api.importing.miniwob.pages import (
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
