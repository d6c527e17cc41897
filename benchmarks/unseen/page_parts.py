"""What the pages of the last look are filled with, and acts that their ways share."""

from __future__ import annotations

from typing import Any

from benchmarks.scenes.page_scene import PageAct

Steps = dict[str, dict[str, Any]]
"""Conditions of what is right on the way, by their names."""

PEOPLE = (
    "Imre Vogel", "Lene Aas", "Tariq Noor", "Maeve Doyle", "Bruno Salis", "Yuki Hara",
    "Zofia Wilk", "Anton Reus", "Priya Nair", "Carlos Pinto",
)  # fmt: skip
TOWNS = ("Ghent", "Tromso", "Bilbao", "Graz", "Cork", "Trieste", "Lublin")
BOOKS = (
    "The Salt Road", "Winter Bees", "A House of Paper", "Letters to Noon", "The Glass Orchard",
    "Small Rivers", "Tide Tables", "The Last Signalman",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
ARTICLES = (
    "Hex bolts M8", "Wing nuts M6", "Cable ties 200 mm", "Hinges, brass", "Wood screws 4 x 40",
    "Washers M10", "Drawer rails", "Wall plugs 8 mm",
)  # fmt: skip
SENDERS = ("ferrycard.example", "waterworks.example", "choirnews.example", "rooftiles.example")
SUBJECTS = ("Your receipt", "Weekly menu", "Minutes of", "Parking permit", "Lost and found")
MOTIONS = (
    "New roof for the boathouse", "Open on Monday evenings", "Raise the yearly fee",
    "Sell the old trailer", "A second treasurer", "Lights along the path",
)  # fmt: skip
ALARMS = ("Bread oven", "Night train", "Market stall", "School run", "Rowing", "Feed the hens")
PHOTOS = (
    "Heron at dawn", "Wet cobbles", "Market hall", "Grandma laughing", "Empty platform",
    "Two kites", "Frozen canal", "Stairs in the sun",
)  # fmt: skip
ALBUMS = ("Autumn walk", "Best of the year", "For the calendar", "City light")
SEGMENTS = (
    ("Open the valve slowly.", "Abra la válvula despacio.", "Abra la valva despacio."),
    ("Wear gloves at all times.", "Use guantes en todo momento.", "Lleve guante todo el tiempo."),
    ("The pump must be level.", "La bomba debe estar nivelada.", "La bomba es nivel."),
    ("Clean the filter every week.", "Limpie el filtro cada semana.", "Limpie filtros semanales."),
    ("Drain the tank before moving it.", "Vacíe el tanque antes de moverlo.", "Vacíe y mueva."),
)
"""English, its Spanish, and what a memory would suggest."""
DUTCH = {
    "window": "raam",
    "bread": "brood",
    "spoon": "lepel",
    "bridge": "brug",
    "mirror": "spiegel",
    "cloud": "wolk",
    "bicycle": "fiets",
    "winter coat": "winterjas",
    "garden": "tuin",
}
PRESETS = ("Plain", "Dusk", "Meadow", "Slate", "Apricot")
FONTS = ("Serif", "Sans", "Slab", "Rounded")


def put(name: str, text: str, role: str = "textbox") -> PageAct:
    """What has this role and accessible name is filled."""
    return PageAct("fill", f'role={role}[name="{name}"]', text)


def pick(name: str, option: str) -> PageAct:
    """An option is chosen of the list that has this accessible name."""
    return PageAct("choose", f'role=combobox[name="{name}"]', option)


def row_button(row: str, text: str, button: str) -> PageAct:
    """A click on a button of the first ``row`` (an element) that has a text in it."""
    return PageAct("click", f'{row}:has-text("{text}") >> role=button[name="{button}"]')
