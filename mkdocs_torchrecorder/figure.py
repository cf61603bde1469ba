"""The HTML of a page with its diagrams: figures in place of markers, or boxes that say why there is none.

It looks right without a style sheet, because Python-Markdown alone cannot bring one: what a figure needs stands in
`style` attributes, and colours are the page's own, or `var(--torchrecorder-…)` where a style sheet sets them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import TypeAlias

from mkdocs_torchrecorder.fence import Fence, marked_fences, marker, replace_markers
from torchrecorder.site import CopyNumbers, ModelList, Outcome, Site, data_address, lines_below, names_of_class, words

_FIGURE = "width:{};max-width:100%;margin:1.5em 0;text-align:"
_LIST = "width:100%;max-width:100%;margin:1.5em 0;text-align:start"
_NOTE = "display:block;margin-top:.4em"
_FIRST_CLASS = re.compile(r'<div class="doc doc-(?:children|object doc-class)')
"""Where mkdocstrings begins the members of a module, or a class that stands alone."""
_BOX = (
    "margin:1.5em 0;padding:.6em 1em;border:1px solid;border-left-width:.3em;border-radius:.2em;overflow-wrap:anywhere;"
    "border-color:var(--torchrecorder-error,#d1242f);text-align:left;background:rgba(209,36,47,.06)"
)


Find: TypeAlias = Callable[[str], str | None]
"""Gives the address of a class, seen from one page; None if it has no page."""


@dataclass(frozen=True, slots=True)
class PageFiller:
    """Puts the diagrams of one page into its HTML."""

    site: Site[Fence]
    """Knows what became of the fences."""
    find: Find = lambda _: None
    """Knows the pages that pictures link to."""
    scripts: tuple[str, str] | None = None
    """The elements of the script, and of that of tables of models. None for paper: no style sheet, and a switch shows
    its first depth alone."""
    save: Callable[[str], str] | None = None
    """Makes a file of an SVG and gives its address, seen from the page."""
    page_of: Callable[[Fence], str | None] = lambda _: None
    """Gives the address of the page of a fence, seen from this one."""
    style: str = ""
    """The element of the style sheet, if the page does not link it."""
    translate: words.Translate = words.in_english
    """Gives our texts in the language of the page."""
    _copies: CopyNumbers = field(default_factory=CopyNumbers)

    def fill(self, html: str) -> str:
        """The HTML with figures in place of its markers; those of fences that were not drawn stay."""
        filled = replace_markers(self._with_summary(html) if self.site.settings.summary else html, self._placed)
        before, end, after = filled.rpartition("</figure>")
        if not end:
            return filled
        # In the figure, whose words no search finds.
        wanted = ("torchrecorder-zoom", "torchrecorder-models")
        needed = "".join(script for name, script in zip(wanted, self.scripts or (), strict=False) if name in before)
        return f"{before}{self.style}{needed}{end}{after}"

    def _placed(self, fence: Fence, caption: str) -> str:
        if fence.is_list:
            outcomes, listed = [self.site.shown(row) for row in fence.rows()], ModelList.of(fence.body)
            is_drawn = None not in outcomes
            return self._models(listed, outcomes, fence.body.options, caption) if is_drawn else marker(fence, caption)
        outcome = self.site.shown(fence)
        if outcome is None:
            return marker(fence, caption)
        if fence.is_automatic and outcome.is_skipped:
            return ""
        if self.scripts is None and outcome.diagram is not None:
            outcome = replace(outcome, diagram=replace(outcome.diagram, steps=()))
        try:
            shown = self.figure(outcome, caption)
        except Exception as unexpected:  # of one figure, which must not cost the page
            target, name = outcome.request.recording.target, outcome.request.figure.name
            return error_box(target, (str(self.site.unforeseen(target, unexpected, fence.page)),), name, self.translate)
        if not (fence.is_automatic and self.scripts is not None and outcome.is_closed(self.site.settings.place)):
            return shown
        title = escape(outcome.title(self.translate))  # which readers click at
        return f'<details class="torchrecorder-closed"><summary>{title}</summary>{shown}</details>'

    def figure(self, outcome: Outcome, caption: str = "") -> str:
        """Figure of a request, a box if nothing of it was drawn.

        `caption` is HTML; if it was not read as Markdown, it is text.
        """
        options, translate = outcome.request.figure, self.translate
        if outcome.diagram is None:
            return error_box(outcome.request.recording.target, outcome.reasons(translate), options.name, translate)
        width = {"": "auto", "image": "fit-content"}.get(options.figwidth, options.figwidth)
        style = _FIGURE.format(width) + (options.align or "center")
        attributes = _attributes(options.name, ("torchrecorder", *options.classes), style)
        shown = self._copies.contents(
            outcome.diagram,
            options,
            copy=self._copies.add(outcome.diagram, options.name),
            urls={cls: url for cls in outcome.diagram.classes if options.links and (url := self.find(cls))},
            can_hide=self.scripts is not None,
            save=self.save,
            about=outcome.about(translate),
            translate=translate,
        )
        caption = caption or escape(options.caption)
        for text in filter(None, options.legend.split("\n\n")):
            caption += f'<small style="{_NOTE}">{escape(text)}</small>'
        for kind, text in lines_below(outcome, translate).items():
            style = f"{_NOTE};font-weight:bold" if outcome.error and kind == "remark" else _NOTE
            caption += f'<small class="torchrecorder-{kind}" style="{style}">{words.coded(text)}</small>'
        return f"<figure{attributes}>{shown}{f'<figcaption>{caption}</figcaption>' if caption else ''}</figure>"

    def _with_summary(self, html: str) -> str:
        """The HTML of a page with a table of the models that mkdocstrings shows there, before the first of them."""
        shown = {fence.body.target: self.site.shown(fence) for fence in marked_fences(html) if fence.is_automatic}
        drawn = {target: outcome for target, outcome in shown.items() if outcome is not None and outcome.diagram}
        first, listed = _FIRST_CLASS.search(html), ModelList.of_targets(drawn)
        if first is None or listed is None:
            return html
        return f"{html[: first.start()]}{self._models(listed, [*drawn.values()])}{html[first.start() :]}"

    def _models(
        self,
        shown: ModelList,
        outcomes: Iterable[Outcome | None],
        options: Mapping[str, str | None] = MappingProxyType({}),
        caption: str = "",
    ) -> str:
        """Table or grid of models; `caption` is HTML, and one among the options is text."""
        from torchrecorder.site import ModelRow, models_html, rows_of

        named = {
            other.request.recording: f"{page}#{anchor(other.request.figure.name)}"
            for place, other in self.site.results.items()
            if place.row < 0 and other.request.figure.name and (page := self.page_of(place)) is not None
        }
        rows = []
        for listed, outcome in rows_of(shown, outcomes):
            diagram, recording = outcome.diagram, outcome.request.recording
            url = named.get(recording) or self.find(recording.target.partition("(")[0]) or ""
            picture = ""
            if diagram is not None and (shown.is_grid or "picture" in shown.columns):
                picture = (self.save or data_address)(diagram.without_foot().standalone_svg())
            rows.append(ModelRow(listed, outcome, url, picture))
        classes = ("torchrecorder-models", *(options.get("class") or "").split())
        attributes = _attributes(options.get("name") or "", classes, _LIST)
        caption = caption or escape(options.get("caption") or "")
        return f"<figure{attributes}>{models_html(shown, rows, caption, self.translate)}</figure>"


def finder(plugins: Mapping[str, object], page_url: str) -> Find:
    """Finds what the plugin autorefs finds, seen from a page; nothing where mkdocstrings has not brought it along.

    Not by elements that autorefs replaces itself: it has done so before the figures are put into the pages, and what it
    does not find it warns of.
    """
    get: Callable[..., object] | None = getattr(plugins.get("autorefs"), "get_item_url", None)
    if get is None:
        return lambda _: None
    logger = logging.getLogger(f"mkdocs.plugins.{get.__module__}")  # as plugins of MkDocs name theirs

    def ask(name: str) -> str | None:
        # Autorefs would warn of a class with several pages: no author wrote a reference to correct.
        logger.addFilter(_reject)
        try:
            url = get(name, from_url=page_url)
        except KeyError:
            return None
        finally:
            logger.removeFilter(_reject)
        return str(url[0] if isinstance(url, tuple) else url)  # up to version 1.3 it gives no title

    return lambda cls: next(filter(None, map(ask, names_of_class(cls))), None)


def _reject(record: logging.LogRecord) -> bool:
    return False


def drop_markers(html: str, page: str, site: Site[Fence]) -> str:
    """The HTML of a finished page with a box for each marker that is left in it, of which a warning tells."""

    def box(fence: Fence, _: str) -> str:
        which = f"for a fence of {fence.page or 'another page'}" if fence.raw else "that another version has left"
        text = f"a marker {which} came into this page when all was drawn: empty the cache of the plugin that put it in"
        site.warn(text, "option", page)
        return error_box(fence.body.target, (text,))

    return replace_markers(html, box)


def error_box(
    target: str, reasons: Sequence[str], name: str = "", translate: words.Translate = words.in_english
) -> str:
    """A box in place of a figure; it keeps the name, so that links to it still lead there."""
    named = f"<code>{escape(target)}</code>"
    title = escape(translate("No diagram of {}")).format(named) if target else escape(translate("No diagram"))
    texts = ["<br>".join(map(escape, reason.splitlines())) for reason in reasons]
    shown = f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>" if len(texts) > 1 else f"<br>{texts[0]}"
    return f"<div{_attributes(name, ('torchrecorder-error',), _BOX)}><strong>{title}</strong>{shown}</div>"


def anchor(name: str) -> str:
    return "-".join(name.split())


def _attributes(name: str, classes: Iterable[str], style: str) -> str:
    # `data-search-exclude` keeps the words of a picture out of the index of Material and Zensical.
    id_ = f' id="{escape(anchor(name))}"' if name else ""
    return f'{id_} class="{escape(" ".join(classes))}" style="{escape(style)}" data-search-exclude'
