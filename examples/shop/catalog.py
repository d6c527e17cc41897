"""What the shop sells. Two articles are there so that an order fails: by a redirect, by a fault."""

from __future__ import annotations

from typing import NamedTuple


class Product(NamedTuple):
    """One article; ``cents`` is its price. ``trouble``: what happens to an order that holds it."""

    slug: str
    name: str
    cents: int
    says: str
    trouble: str = ""

    @property
    def price(self) -> str:
        return money(self.cents)


PRODUCTS: dict[str, Product] = {
    product.slug: product
    for product in (
        Product("lamp", "Desk lamp", 3900, "Brass, with a long neck and a warm light."),
        Product("floor-lamp", "Floor lamp", 8900, "Stands beside a chair and reads with you."),
        Product("chair", "Oak chair", 12900, "Four legs, one back, made to last."),
        Product("kettle", "Tea kettle", 4500, "Whistles in F sharp."),
        Product("vase", "Last vase", 2500, "There was one left, and it is gone.", "sold out"),
        Product("clock", "Broken clock", 1500, "Right twice a day; its order never is.", "fault"),
    )
}


def money(cents: int) -> str:
    """Cents as a price in euros."""
    return f"€{cents // 100}.{cents % 100:02d}"


def search(query: str) -> list[Product]:
    """The articles whose name or description holds every word of ``query``."""
    words = query.lower().split()
    return [
        one
        for one in PRODUCTS.values()
        if all(word in f"{one.name} {one.says}".lower() for word in words)
    ]
