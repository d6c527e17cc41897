"""The table of formats: which module reads each, what it needs beside the base install, and which
one a file is."""

from __future__ import annotations

from typing import NamedTuple

from agentd.readers.bounds import TEXT_BYTES

HUGE = 4 << 30


class Format(NamedTuple):
    """How a format is read and recognized.

    ``module``: in this package, with a function ``read_<name>``; ``needs``: modules of the extra
    ``readers``; ``mimes``: types by content, one that ends in a slash stands for the whole family;
    ``names``: ends of file names; ``most``: bytes of a file that is read at all.
    """

    module: str
    needs: tuple[str, ...] = ()
    mimes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    most: int = TEXT_BYTES

    def has_mime(self, mime: str) -> bool:
        """Return whether a file of the type ``mime`` is of this format."""
        return any(
            mime == known or (known.endswith("/") and mime.startswith(known))
            for known in self.mimes
        )

    def has_name(self, name: str) -> bool:
        """Return whether a file called ``name``, in lower case, is of this format."""
        return any(name == end or name.endswith("." + end) for end in self.names)


_WORD = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."

FORMATS: dict[str, Format] = {
    "csv": Format("tables", ("charset_normalizer",), ("text/csv",), ("csv", "tsv")),
    "json": Format("values", (), ("application/json",), ("json", "ipynb")),
    "yaml": Format("values", ("yaml",), ("application/yaml",), ("yaml", "yml")),
    "toml": Format("values", (), ("application/toml",), ("toml",)),
    "xml": Format(
        "markup", ("defusedxml",), ("application/xml", "image/svg+xml"), ("xml", "svg", "xspf")
    ),
    "svg": Format("drawings", ("defusedxml",)),
    "drawio": Format("drawings", ("defusedxml",), (), ("drawio",)),
    "html": Format("markup", ("lxml", "charset_normalizer"), ("text/html",), ("html", "htm")),
    "ini": Format(
        "settings",
        ("charset_normalizer",),
        (),
        ("ini", "cfg", "conf", "desktop", "vlcrc", "properties"),
    ),
    "prefs": Format("settings", ("charset_normalizer",), (), ("prefs.js", "user.js")),
    "gimprc": Format("settings", ("charset_normalizer",), (), ("gimprc", "sessionrc", "toolrc")),
    "sqlite": Format("database", (), ("application/x-sqlite3",), ("sqlite", "sqlite3", "db")),
    "xlsx": Format("sheets", ("openpyxl",), (_WORD + "spreadsheetml.sheet",), ("xlsx", "xlsm")),
    "ods": Format("sheets", ("odfdo",), (_OPEN + "spreadsheet",), ("ods",)),
    "docx": Format("documents", ("docx",), (_WORD + "wordprocessingml.document",), ("docx",)),
    "odt": Format("documents", ("odfdo",), (_OPEN + "text",), ("odt",)),
    "pptx": Format("slides", ("pptx",), (_WORD + "presentationml.presentation",), ("pptx",)),
    "odp": Format(
        "slides", ("odfdo",), (_OPEN + "presentation", _OPEN + "graphics"), ("odp", "odg")
    ),
    "pdf": Format("pages", ("pypdf",), ("application/pdf",), ("pdf",)),
    "zip": Format("archives", (), ("application/zip",), ("zip", "jar", "epub"), HUGE),
    "tar": Format(
        "archives",
        (),
        ("application/x-tar", "application/gzip"),
        ("tar", "tar.gz", "tgz", "tar.xz", "tar.bz2"),
        HUGE,
    ),
    "image": Format(
        "pictures", ("PIL",), ("image/",), ("png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff")
    ),
    "media": Format(
        "media",
        ("pymediainfo",),
        ("audio/", "video/"),
        ("mp3", "mp4", "mkv", "ogg", "wav", "flac"),
        HUGE,
    ),
    "text": Format("texts", ("charset_normalizer",), ("text/",), ("txt", "md", "log")),
}


def format_of(mime: str | None, name: str) -> str:
    """Return the format to read a file as: by content where that decides, else by its name, else
    ``text``."""
    by_content = next((key for key, form in FORMATS.items() if mime and form.has_mime(mime)), None)
    if by_content is not None and by_content != "text":
        return by_content
    # Kinds of plain text differ in their names alone.
    name = name.lower()
    return next((key for key, form in FORMATS.items() if form.has_name(name)), "text")
