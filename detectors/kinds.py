"""Every kind of event that can stand in a log: its source, its fields, what it says.

`noun.participle`, as in ``page.navigated``. A field marked ``?`` may be missing. ``baseline: true`` on any
event means: this was so already when the source attached; nobody did it now, so it earns nothing.
Common fields of the browser's kinds: ``tab`` (CDP target id of the tab), ``frame`` (CDP frame id).
An *element* is ``{role, name, tag, id?, attr_name?, type?, text?}``: ARIA role, accessible name, tag, id, HTML
name, input type, own visible text (at most 200 characters).
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of event. ``fields`` are names; ``says`` is one sentence for docs and pages."""

    source: str
    fields: tuple[str, ...]
    says: str


def _kind(source: str, fields: str, says: str) -> Kind:
    return Kind(source, tuple(fields.split()), says)


KINDS: dict[str, Kind] = {
    # journal: the life of the episode and of its sources
    "episode.opened": _kind("journal", "task digest", "The daemon opened the episode's journal."),
    "episode.closed": _kind("journal", "reason", "Nothing follows; end-of-episode milestones are decided."),
    "gap.began": _kind("journal", "source reason", "From here on the named source sees nothing."),
    "gap.ended": _kind("journal", "source", "The named source sees again, its baseline reported."),
    "journal.dropped": _kind("journal", "source count reason", "Observations were lost, and this says how many."),
    # steps: what the harness says
    "step.began": _kind("steps", "step action? command?", "The harness begins step number `step`."),
    "step.ended": _kind("steps", "step command?", "The harness is done with the step's action."),
    "step.sealed": _kind("steps", "step why", "All of the step's effects are in (`quiet`, `settle_ms` passed)."),
    "agent.answered": _kind("steps", "text command?", "The agent gave a final answer."),
    "agent.tool_called": _kind("steps", "call tool arguments command?", "The agent called a tool."),
    "agent.tool_returned": _kind("steps", "call ok result? error? command?", "The tool came back."),
    # cdp: the browser
    "tab.opened": _kind("cdp", "tab url opener? baseline?", "A tab or popup exists."),
    "tab.closed": _kind("cdp", "tab", "A tab is gone."),
    "tab.crashed": _kind("cdp", "tab", "A tab's renderer crashed."),
    "page.navigated": _kind(
        "cdp",
        "tab frame main url same_document loader? reconciled? baseline?",
        "A frame committed a URL. `same_document`: pushState, replaceState or a hash. `reconciled`: seen on "
        "attaching to a tab that opened a moment earlier, not when it happened.",
    ),
    "page.loaded": _kind("cdp", "tab frame main url baseline?", "The frame's load event fired."),
    "page.titled": _kind("cdp", "tab title url baseline?", "The tab's title is now this."),
    "frame.detached": _kind("cdp", "tab frame", "A frame is gone."),
    "request.sent": _kind("cdp", "tab frame request method url type", "A request left; nobody accepted it yet."),
    "request.redirected": _kind(
        "cdp", "tab frame request method url status location body?", "A hop was answered by a redirect."
    ),
    "request.finished": _kind(
        "cdp",
        "tab frame request method url type status mime? body? hops? cached?",
        "The answer came in whole. `body`: {text, mime?, cut?}, of the request, only where a task asks. "
        "`hops`: [{method, url, status, location, body?}], the redirects before.",
    ),
    "request.failed": _kind(
        "cdp",
        "tab frame request method url type error canceled? blocked? status?",
        "No answer: error, cancelled, blocked.",
    ),
    "element.clicked": _kind(
        "cdp", "tab frame element trusted", "A click. `trusted` is false when page script made it."
    ),
    "field.filled": _kind(
        "cdp",
        "tab frame element field value filled? checked? form? commit? trusted? baseline?",
        "A field's value is now this: `value` text (null: a password, kept back, then `filled` says whether "
        "there is one; list: a multiple select), `checked` for boxes and radios; `field`: a key stable within "
        "the frame; `commit`: on change.",
    ),
    "form.submitted": _kind(
        "cdp",
        "tab frame form fields trusted",
        "A form was submitted. `form`: {id?, attr_name?, name?, action, method}; `fields`: [[name, value], ...]. "
        "`trusted` is carried from the click or key that caused it.",
    ),
    "text.appeared": _kind("cdp", "tab frame text baseline?", "Visible text that was not there; only if a task asks."),
    "dialog.opened": _kind("cdp", "tab type message url", "alert, confirm, prompt or beforeunload is shown."),
    "dialog.closed": _kind("cdp", "tab type message accepted input", "Somebody answered it."),
    "download.began": _kind("cdp", "tab frame url name download", "The browser starts a download."),
    # files: settled content only; `path` is relative to `root`
    "file.present": _kind("files", "root path name size sha256 baseline", "The file was there at the start."),
    "file.created": _kind("files", "root path name size sha256 via?", "A new file, its content settled."),
    "file.modified": _kind("files", "root path name size sha256 via?", "New content, settled."),
    "file.moved": _kind("files", "root path name size sha256 from", "The file changed its path."),
    "file.deleted": _kind("files", "root path name", "The file is gone."),
}

SOURCES: tuple[str, ...] = ("journal", "steps", "cdp", "files")
"""Every source by name; a gap in a source blinds exactly the rules that hear one of its kinds."""
