"""The directive, and the transform that shows what became of it.

Nothing is drawn by the directive, nothing even checked: pages are read by several processes at once, in each of which
torch would have to be loaded, and a page that is not read again must not lose its warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from sphinx_torchrecorder import figure
from sphinx_torchrecorder.build import Build, DirectiveRequest, build_of, diagram_placeholder
from sphinx_torchrecorder.report import warn
from torchrecorder.errors import OptionError
from torchrecorder.page import CopyNumbers, Outcome, failure
from torchrecorder.request import OPTIONS, read_body

NAME = "torchrecorder"


def _as_written(text: str | None) -> str | None:
    return text


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Lets unknown options through: docutils would stop at the first, we report it together with all other problems."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return _as_written


class DiagramDirective(SphinxDirective):
    """`.. torchrecorder:: pkg.Net`, with the options of `torchrecorder.request.OPTIONS`.

    It leaves a figure, so that `name`, `numfig` and translations work as for any other::

        <figure classes="torchrecorder" ids="…" names="…">        the ids and names of `:name:`
            <diagram_placeholder request="DirectiveRequest(…)">
            <caption>                                             of `:caption:`
                …
    """

    optional_arguments = 1
    final_argument_whitespace = True  # pkg.Net(width=64, depth=2)
    has_content = True  # a Markdown fence names the model in its first line
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = _AnyOption(
        dict.fromkeys((o.name for o in OPTIONS), _as_written)
    )

    def run(self) -> list[nodes.Node]:
        """The figure."""
        body = read_body(self.content, self.arguments[0] if self.arguments else "", self.options)
        self.options = dict(body.options)
        request = DirectiveRequest(
            self.env.docname, self.get_location(), body.target, tuple(body.options.items()), body.problems
        )
        placeholder = diagram_placeholder(request=request)
        frame = nodes.figure("", placeholder)
        frame["classes"].append("torchrecorder")
        self.set_source_info(frame)
        self.set_source_info(placeholder)
        if text := self.options.get("caption"):
            words, messages = self.parse_inline(text, lineno=self.lineno)
            caption = nodes.caption(text, "", *words)
            self.set_source_info(caption)
            frame += [caption, *messages]
        if self.options.get("name"):
            self.add_name(frame)
        return [frame]


class ShowDiagrams(SphinxPostTransform):
    """Puts what the builder can show in place of the placeholders, for each page that is written.

    It runs in the main process, before links are resolved (10) and images are collected (100). In an HTML page::

        <figure align="…" classes="torchrecorder …">              with `:align:` and `:class:`
            <diagram_picture picture="PagePicture(…)">
                <pending_xref reftarget="pkg.Class">              one for each class that has a page
                    <inline torchrecorder_class="pkg.Class">
            <caption>
            <legend>                                              if a reader should know more
                <paragraph classes="torchrecorder-remark">

    In place of `diagram_picture` it puts::

        <image uri="torchrecorder-….svg" alt="…">                 for builders that take pictures as files only
        <literal_block classes="torchrecorder-tree">              for text and man pages
        <admonition classes="torchrecorder-error error">          for a diagram that failed
        <paragraph><literal>                                      for builders that write no pages

    Outside of HTML, `:table:` adds `<table classes="torchrecorder-layers">` behind the figure.
    """

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of a page."""
        build = build_of(self.env)
        copies = CopyNumbers()
        for placeholder in list(self.document.findall(diagram_placeholder)):
            request: DirectiveRequest = placeholder["request"]
            frame = placeholder.parent
            result = _loaded(build, request)
            placeholder.replace_self(self._contents(frame, request, result, build, copies))
            if build.form != "inline" and isinstance(result, Outcome):
                self._add_table(frame, result)
            if build.form == "text":
                figure.unwrap(frame)
            build.written.add(request.docname)

    def _add_table(self, frame: nodes.Element, outcome: Outcome) -> None:
        # Behind the figure, because a figure floats on paper and a long table does not.
        if outcome.diagram is not None and outcome.request.drawing.table:
            frame.parent.insert(frame.parent.index(frame) + 1, figure.table(outcome.diagram))

    def _contents(
        self,
        frame: nodes.Element,
        request: DirectiveRequest,
        result: Outcome | OptionError | None,
        build: Build,
        copies: CopyNumbers,
    ) -> nodes.Node:
        if result is None:
            return nodes.paragraph("", "", nodes.literal(request.target, request.target))
        if isinstance(result, OptionError):
            return figure.error_box(request.target, result)
        options = result.request.figure
        figure.dress(frame, options, build.form)
        if result.diagram is None:
            return figure.error_box(request.target, result.error)
        figure.add_reader_notes(frame, result)
        if build.form == "text":
            return figure.tree(result.diagram)
        if build.form == "image" and build.image_type:
            return figure.image(result.diagram, options, self.env, request.docname, build.image_type)
        copy = copies.add(result.diagram, options.name)
        return figure.inline(frame, result.diagram, options, request.docname, copy, build.linked)


def _loaded(build: Build, request: DirectiveRequest) -> Outcome | OptionError | None:
    """The result with its pictures read; warns if they have left the cache and cannot be made again."""
    result = build.results.get(request)
    if not isinstance(result, Outcome):
        return result
    loaded = build.results[request] = result.loaded()
    if loaded.error is not None and loaded.error is not result.error:
        warn(failure(loaded.error, request.location))
    return loaded
