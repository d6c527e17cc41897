"""The pages that need no state: terms (a popup), delivery (a frame), dialogs of every kind."""

from __future__ import annotations

from .pages import page

TERMS = page(
    "Terms",
    "<p>We send lamps. You pay for them. Both within a week.</p>"
    "<button onclick=\"opener && opener.postMessage({terms: 1}, '*'); close()\">Close</button>",
)

SORRY = page("Sold out", '<p role="alert">Sorry, this is sold out. Nothing was ordered.</p>')

DELIVERY = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Delivery options</title><style>body { font: 15px/1.5 system-ui, sans-serif }</style></head><body><fieldset><legend>Delivery</legend>
<label><input type="radio" name="how" value="standard" checked> Standard</label>
<label><input type="radio" name="how" value="express"> Express</label></fieldset>
<button onclick="parent.postMessage({delivery: document.querySelector('input:checked').value}, '*')">
Choose delivery</button></body></html>
"""

PICKUP = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pick-up points</title>
<style>body { font: 15px/1.5 system-ui, sans-serif }</style></head><body><label>Town <input name="town"></label>
<button onclick="document.querySelector('output').value = 'Held for you.';
 parent.postMessage({delivery: 'pickup'}, '*')">Pick up here</button> <output></output></body></html>
"""

DIALOGS = page(
    "Dialogs",
    "<button onclick=\"out.value = 'alert: ' + alert('Good morning')\">Alert</button> <button"
    " onclick=\"out.value = 'confirm: ' + confirm('Do you like lamps?')\">Confirm</button> <button"
    " onclick=\"out.value = 'prompt: ' + prompt('Which lamp?', 'a desk lamp')\">Prompt</button>"
    ' <button onclick="onbeforeunload = e => { e.preventDefault(); return true }">Guard this'
    " page</button> <button onclick=\"open('/terms', 'terms', 'width=400,height=300')\">Terms in a"
    ' window</button> <a href="/">Leave</a><p><output id="out"></output></p>',
)

SCRIPTED = page(
    "A page that clicks by itself",
    '<form method="post" action="/cart"><input type="hidden" name="product" value="lamp">'
    "<button>Add to cart</button></form>"
    "<script>setTimeout(() => document.querySelector('button').click(), 50)</script>",
)
