"""Pictures of the articles, drawn here: decoration, without a name or a text."""

from __future__ import annotations

_GLOW, _METAL, _WOOD = "#f4b740", "#4b5563", "#9a6b3f"
_SHAPES = {
    "lamp": (
        f'<path d="M30 84h28M44 84 52 46 34 26" fill="none" stroke="{_METAL}" stroke-width="5"/>'
        f'<path d="M22 34 40 16l14 16z" fill="{_GLOW}"/>'
    ),
    "floor-lamp": (
        f'<path d="M50 30v56M34 88h32" fill="none" stroke="{_METAL}" stroke-width="5"/>'
        f'<path d="M36 34 42 12h16l6 22z" fill="{_GLOW}"/>'
    ),
    "chair": (
        '<path d="M34 14v74M34 54h32v34M34 20h26" fill="none"'
        f' stroke="{_WOOD}" stroke-width="7" stroke-linejoin="round"/>'
    ),
    "kettle": (
        f'<path d="M28 80h44l-6-40H34z" fill="{_METAL}"/>'
        '<path d="M34 40c0-22 32-22 32 0M70 52l14-10" fill="none"'
        f' stroke="{_METAL}" stroke-width="5"/>'
    ),
    "vase": '<path d="M40 14h20c-6 18 14 26 10 48-2 14-10 22-20 22s-18-8-20-22c-4-22 16-30 10-48z" '
    'fill="#6b8fb3"/>',
    "clock": (
        f'<circle cx="50" cy="50" r="34" fill="#fff" stroke="{_METAL}" stroke-width="6"/>'
        f'<path d="M50 28v22l16 12" fill="none" stroke="{_METAL}" stroke-width="5"/>'
    ),
}


def picture(slug: str) -> str:
    """Return an article's picture as SVG markup; the desk lamp's is the shop's own mark."""
    return f'<svg viewBox="0 0 100 100" aria-hidden="true" focusable="false">{_SHAPES[slug]}</svg>'
