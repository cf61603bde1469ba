"""The figure outside of a documentation page: in the output of a notebook cell, and in an HTML file of its own.

A cell keeps an image, which every front end shows, and beside it the figure that the image becomes where scripts may
run. The figure is mostly the image over again, so it is packed with the image as the dictionary. The style sheet and
the script of pages, and what unpacks, are kept by one cell of a notebook for all.
"""

from __future__ import annotations

import re
import sys
import zlib
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from torchrecorder.page.about import guess, line
from torchrecorder.page.figure import CopyNumbers
from torchrecorder.page.words import assets
from torchrecorder.request import FigureOptions
from torchrecorder.write.svg import standalone

if TYPE_CHECKING:
    from torchrecorder.page.diagram import Diagram

_WINDOW = 32_768  # as far as DEFLATE looks back
_UNPACK = Path(__file__).with_name("notebook.js")
_LOOK = ":root{color-scheme:light dark}body{margin:2rem;background:Canvas;color:CanvasText;font:16px/1.5 sans-serif}"
_IN_CELLS = ":is(.jp-OutputArea,.jp-OutputArea-child,.jp-OutputArea-output):has(figure.torchrecorder){overflow:visible}"
"""JupyterLab cuts off what a cell shows above its border, such as the panel of details."""
_NOT_IN_NAMES = re.compile(r"[^\w.-]+", re.ASCII)


def document(diagram: Diagram) -> str:
    """A page with the figure and nothing else, which loads nothing."""
    style, script, _ = assets()
    title = escape(f"Architecture of {diagram.facts.get('model', 'a model')}")
    note = f'<br><small class="torchrecorder-remark">{escape(line(diagram))}</small>' if line(diagram) else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_LOOK}\n{style}</style>\n</head>\n<body>\n"
        f'<figure class="torchrecorder">{CopyNumbers().contents(diagram, FigureOptions(), about=_about(diagram))}\n'
        f"<figcaption>{escape(diagram.alt)}{note}</figcaption></figure>\n"
        f'<script type="module">\n{script}</script>\n</body>\n</html>\n'
    )


def cell(diagram: Diagram) -> str:
    """The HTML that a cell keeps."""
    # a notebook is JSON, in which each double quote takes two bytes
    image = standalone(diagram.drawing.layout, dark=None, quotes="'")
    name = _NOT_IN_NAMES.sub("-", diagram.facts.get("model", "model"))
    figure = CopyNumbers().contents(diagram, FigureOptions(name=name), about=_about(diagram))
    packed = _packed(figure, image.replace("'", '"'))
    address = image.replace("%", "%25").replace("#", "%23").replace("&", "&amp;").replace('"', "&quot;")
    shown = f'<img src="data:image/svg+xml,{address}" alt="{escape(diagram.alt)}" style="max-width:100%">'
    script = "globalThis.torchrecorder?.()"
    if _has_script():
        style, rest, _ = assets()
        script = _UNPACK.read_text(encoding="utf-8").replace("PACKED", _packed(f"{style}{_IN_CELLS}\0{rest}"))
    figure = f'<figure class="torchrecorder" style="margin:.5em 0" data-packed="{packed}">{shown}</figure>'
    return f"{figure}<script>{script}</script>"


def _about(diagram: Diagram) -> tuple[str, ...]:
    return tuple(filter(None, (guess(diagram), *diagram.notes)))


def _packed(text: str, known: str = "") -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=known.encode()[-_WINDOW:])
    return b64encode(packer.compress(text.encode()) + packer.flush()).decode()


_kept: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
"""The cell that has the script, and the run of it, by the shell of IPython."""


def _has_script() -> bool:
    """Whether the running cell is the one that keeps the script: the first to draw, also when it runs again.

    Outside of a notebook nothing is known of other cells, and those of Colab do not see one another.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or "google.colab" in sys.modules:
        return True
    request: dict[str, Any] = getattr(shell, "get_parent", dict)()
    about, run = request.get("metadata", {}), request.get("header", {}).get("msg_id", "")
    here = (about.get("cellId") or run, run)
    cell, last = _kept.get(shell, ("", ""))
    if cell in ("", here[0], *about.get("deletedCells", ())) and last != run:
        _kept[shell] = here
        return True
    return not run
