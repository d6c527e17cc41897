"""The shop's pages as HTML: plain markup with labels, so that a screen reader could shop here
too."""

from __future__ import annotations

from html import escape
from pathlib import Path

from .catalog import PRODUCTS, Product, money
from .pictures import picture
from .state import Order, Session

_STYLE = Path(__file__).with_name("shop.css").read_text(encoding="utf-8")
_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · The Lamp Shop</title>
<link rel="icon" href="data:,"><style>
{style}</style></head><body>
<nav aria-label="Shop"><a href="/">{mark}Home</a><a href="/cart">Cart</a><a href="/account">Account</a>
<a href="/login">Log in</a></nav>
<main><h1>{title}</h1>
{body}
</main></body></html>
"""

_FIELDS = (
    ("name", "Name", "text", "name"),
    ("email", "E-mail", "text", "email"),
    ("address", "Address", "text", "street-address"),
    ("quantity", "Quantity", "text", "off"),
)


def page(title: str, body: str) -> str:
    """A whole page around ``body``, which is HTML."""
    return _FRAME.format(title=escape(title), body=body, style=_STYLE, mark=picture("lamp"))


def home(query: str | None, found: list[Product]) -> str:
    """The search page, with what was found."""
    form = (
        '<form action="/search" role="search"><label>Search for <input type="search" name="q" '
        f'value="{escape(query or "")}"></label><button>Search</button></form>'
    )
    items = "".join(
        f'<li>{picture(one.slug)}<a href="/products/{one.slug}">{one.name}</a>, {one.price}</li>'
        for one in found
    )
    if query is None:
        return page("The Lamp Shop", f"<p>Light, and things to put it on.</p>{form}")
    return page(
        f"Search: {query}", f'{form}<p>{len(found)} found.</p><ul class="found">{items}</ul>'
    )


def product(one: Product) -> str:
    """One article, with the button that puts it into the cart."""
    return page(
        one.name,
        f'<div class="article">{picture(one.slug)}<div>'
        f"<p>{one.says}</p><p>Price: {one.price}</p>"
        '<form method="post" action="/cart"><input type="hidden" name="product"'
        f' value="{one.slug}">'
        "<button>Add to cart</button></form></div></div>",
    )


def cart(session: Session, fields: dict[str, str], wrong: dict[str, str], other_host: str) -> str:
    """The cart with the order form; ``wrong`` says what the last try lacked, by field."""
    if not session.cart:
        return page("Your cart", "<p>Your cart is empty.</p>")
    items = "".join(_cart_line(slug) for slug in session.cart)
    inputs = "".join(
        _input(*spec, fields.get(spec[0], ""), wrong.get(spec[0], "")) for spec in _FIELDS
    )
    checked = " checked" if fields.get("terms") == "on" else ""
    return page(
        "Your cart",
        f"<ul>{items}</ul><h2>Delivery</h2>"
        '<iframe title="Delivery options" src="/delivery"></iframe>'
        f'<iframe title="Pick-up points" src="//{escape(other_host)}/pickup"></iframe>'
        '<h2>Order</h2><form method="post" action="/orders" aria-label="Order" novalidate>'
        f'{inputs}<input type="hidden" name="delivery" value="standard">'
        f'<label><input type="checkbox" name="terms"{checked}> I accept the terms</label>'
        f"{_wrong(wrong.get('terms', ''))}"
        '<p><a href="/terms" target="_blank" rel="opener">Read the terms</a></p>'
        "<button>Place order</button></form>"
        "<script>addEventListener('message', e => {"
        " if (e.data && e.data.delivery) document.forms[document.forms.length - 1].delivery.value ="
        " e.data.delivery; });</script>",
    )


def _cart_line(slug: str) -> str:
    one = PRODUCTS[slug]
    return (
        f'<li>{one.name}, {one.price} <form method="post" action="/cart/remove"'
        ' style="display:inline" '
        f"onsubmit=\"return confirm('Remove {one.name} from the cart?')\">"
        f'<input type="hidden" name="product" value="{slug}"><button>Remove'
        f" {one.name}</button></form></li>"
    )


def _input(name: str, label: str, kind: str, complete: str, value: str, wrong: str) -> str:
    return (
        f'<label>{label} <input type="{kind}" name="{name}" value="{escape(value)}" '
        f'autocomplete="{complete}"></label>{_wrong(wrong)}'
    )


def _wrong(text: str) -> str:
    return f'<p class="wrong" role="alert">{escape(text)}</p>' if text else ""


def order(one: Order) -> str:
    """The server's confirmation of an order, with its invoices."""
    lines = "".join(f"<li>{pieces} × {PRODUCTS[slug].name}</li>" for slug, pieces in one.lines)
    total = sum(PRODUCTS[slug].cents * pieces for slug, pieces in one.lines)
    base = f"/orders/{one.number}"
    return page(
        f"Order {one.number}",
        f'<p role="status">Thank you, {escape(one.name)}. Your order is confirmed.</p>'
        f"<ul>{lines}</ul><p>Total: {money(total)}, delivery: {escape(one.delivery)}</p>"
        f'<p><a href="{base}/invoice.csv">Download invoice (CSV)</a> '
        f'<a href="{base}/invoice.pdf" download>Download invoice (PDF)</a></p>'
        "<script>setInterval(() => fetch('/api/ping', {cache: 'no-store'}), 400)</script>",
    )


def login(wrong: str) -> str:
    """The page with the log-in form."""
    return page(
        "Log in",
        f'{_wrong(wrong)}<form method="post" action="/login" aria-label="Log in"><label>E-mail'
        ' <input name="email" autocomplete="username"></label><label>Password <input'
        ' type="password" name="password" autocomplete="current-password"></label><button>Log'
        " in</button></form>",
    )


def account(session: Session, orders: list[Order], tab: str) -> str:
    """The account: two tabs on one document; choosing one changes the address without a request."""
    rows = "".join(_history_line(one) for one in orders) or "<li>No orders yet.</li>"
    hidden = {"overview": "", "history": ""}
    hidden["history" if tab == "overview" else "overview"] = " hidden"
    return page(
        "Your account",
        f"<p>{escape(session.email or 'Not logged in')}</p>"
        '<div role="tablist"><button role="tab" data-tab="overview">Overview</button> '
        '<button role="tab" data-tab="history">History</button></div>'
        f'<section id="overview"{hidden["overview"]}><h2>Overview</h2>'
        f"<p>{len(orders)} orders so far.</p></section>"
        f'<section id="history"{hidden["history"]}><h2>History</h2><ul>{rows}</ul></section>'
        "<script>const show = tab => { for (const s of document.querySelectorAll('section'))"
        " s.hidden = s.id !== tab };"
        " for (const b of document.querySelectorAll('[role=tab]')) b.onclick = () => {"
        " history.pushState({}, '', b.dataset.tab === 'history' ? '/account/history' : '/account');"
        " show(b.dataset.tab) };"
        " onpopstate = () => show(location.pathname.endsWith('history') ? 'history' :"
        " 'overview');</script>",
    )


def _history_line(one: Order) -> str:
    if one.cancelled:
        return f"<li>Order {one.number}: cancelled</li>"
    return (
        f'<li>Order {one.number} <form method="post" action="/orders/{one.number}/cancel" '
        f'style="display:inline" onsubmit="return confirm(\'Really cancel order {one.number}?\')">'
        f"<button>Cancel order {one.number}</button></form></li>"
    )
