"""All pictures on one page, each in a column of 720 px with its figures: what is looked at after the table.

The page is light; with `#dark` at the end of its address it is dark.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

HEAD = """<!doctype html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Pictures</title>
<style>
body { margin: 20px; background: #fff; color: #1f2328; font-family: Helvetica, Arial, sans-serif }
body:has(#dark:target) { background: #16181d; color: #e6edf3 }
main { display: grid; grid-template-columns: repeat(auto-fill, 720px); gap: 40px 60px }
section { width: 720px; overflow-x: auto }
h2 { font-size: 15px; margin: 0 0 4px }
p { font-size: 12px; opacity: .8; margin: 0 0 12px }
svg.torchrecorder { min-width: calc(.6 * var(--wide)) }
</style>
<body><p id="dark"><a href="#dark">dark</a> <a href="#">light</a></p><main>
"""


def sheet(pictures: Mapping[str, tuple[str, float, str]]) -> str:
    """The page; of each picture its SVG, its width in px, and what is said of it."""
    parts = [HEAD]
    for name, (svg, width, said) in pictures.items():
        parts.append(f'<section id="{name}"><h2>{name}</h2><p>{escape(said)}</p>')
        parts.append(f'<div style="--wide:{width:.0f}px">{svg}</div></section>\n')
    return "".join((*parts, "</main>\n"))
