"""The HTML of a diagram: a figure, or a box that says why there is none.

It looks right without a style sheet, because Python-Markdown alone cannot bring one: what a figure needs stands in
`style` attributes, and colours are the page's own, or `var(--torchrecorder-…)` where a style sheet sets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from mkdocs_torchrecorder.links import Find, addresses, nowhere
from torchrecorder.page import (
    CopyNumbers,
    Outcome,
    Translate,
    contents,
    in_english,
    problems_of,
    reader_notes,
    with_code,
)

_FIGURE = "width:{};max-width:100%;margin:1.5em 0;text-align:"
_NOTE = "display:block;margin-top:.4em"
_BOX = (
    "margin:1.5em 0;padding:.6em 1em;border:1px solid;border-left-width:.3em;border-radius:.2em;overflow-wrap:anywhere;"
    "border-color:var(--torchrecorder-error,#d1242f);text-align:left;background:rgba(209,36,47,.06)"
)


def figure(
    outcome: Outcome,
    page: CopyNumbers,
    find: Find = nowhere,
    *,
    caption: str = "",
    can_hide: bool = True,
    save: Callable[[str], str] | None = None,
    translate: Translate = in_english,
) -> str:
    """The figure of a request; a box if nothing of it was drawn.

    Args:
        outcome: What became of the request.
        page: Counts the same picture in a page, for ids that are unique; what is written once counts for all figures.
        find: Knows the pages that pictures link to.
        caption: As HTML; if it was not read as Markdown, it is text.
        can_hide: Whether the page has the style sheet.
        save: Makes a file of an SVG and gives its address, seen from the page.
        translate: Gives our texts in the language of the page.
    """
    options = outcome.request.figure
    if outcome.diagram is None:
        problems = problems_of(outcome.error) if outcome.error else ()
        reasons = problems if len(problems) > 1 else (str(outcome.error or translate("It was not drawn.")),)
        return error_box(outcome.request.recording.target, reasons, options.name, translate)
    width = {"": "auto", "image": "fit-content"}.get(options.figwidth, options.figwidth)
    style = _FIGURE.format(width) + (options.align or "center")
    attributes = _attributes(options.name, ("torchrecorder", *options.classes), style)
    urls = addresses(outcome.diagram, find) if options.links else {}
    shown = contents(
        outcome.diagram,
        options,
        copy=page.add(outcome.diagram, options.name),
        urls=urls,
        can_hide=can_hide,
        save=save,
        translate=translate,
        page=page,
    )
    caption = caption or escape(options.caption)
    for text in filter(None, options.legend.split("\n\n")):
        caption += f'<small style="{_NOTE}">{escape(text)}</small>'
    for i, text in enumerate(reader_notes(outcome, translate)):
        style = f"{_NOTE};font-weight:bold" if i == 0 and outcome.error else _NOTE
        said = "".join(f"<code>{escape(part)}</code>" if is_code else escape(part) for part, is_code in with_code(text))
        caption += f'<small class="torchrecorder-remark" style="{style}">{said}</small>'
    return f"<figure{attributes}>{shown}{f'<figcaption>{caption}</figcaption>' if caption else ''}</figure>"


def closed(html: str, outcome: Outcome, translate: Translate) -> str:
    """The figure under a summary that readers open by a click."""
    assert outcome.diagram is not None
    model = outcome.diagram.facts.get("model", outcome.request.recording.target)
    title = escape(translate("Architecture of {}").format(model))
    return f'<details class="torchrecorder-closed"><summary>{title}</summary>{html}</details>'


def error_box(target: str, reasons: Sequence[str], name: str = "", translate: Translate = in_english) -> str:
    """A box in place of a figure; it keeps the name, so that links to it still lead there."""
    named = f"<code>{escape(target)}</code>"
    title = escape(translate("No diagram of {}")).format(named) if target else escape(translate("No diagram"))
    texts = ["<br>".join(map(escape, reason.splitlines())) for reason in reasons]
    shown = f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>" if len(texts) > 1 else f"<br>{texts[0]}"
    return f"<div{_attributes(name, ('torchrecorder-error',), _BOX)}><strong>{title}</strong>{shown}</div>"


def anchor(name: str) -> str:
    """The id by which a page links to a figure of that name."""
    return "-".join(name.split())


def _attributes(name: str, classes: Iterable[str], style: str) -> str:
    # `data-search-exclude` keeps the words of a picture out of the index of Material and Zensical.
    id_ = f' id="{escape(anchor(name))}"' if name else ""
    return f'{id_} class="{escape(" ".join(classes))}" style="{escape(style)}" data-search-exclude'
