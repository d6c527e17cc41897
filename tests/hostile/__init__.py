"""Pages that lie, hide or shut the observer out, each visited by a real Chromium, beside the shop's
own books."""
