"""The directive, and the transform that shows what became of it.

Nothing is drawn by the directive, nothing even checked: pages are read by several processes at once, in each of which
torch would have to be loaded, and a page that is not read again must not lose its warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

from sphinx_torchrecorder import automatic, figure
from sphinx_torchrecorder.build import Asked, Build, DirectiveRequest, build_of, diagram_placeholder
from sphinx_torchrecorder.documented import DocumentedClass
from sphinx_torchrecorder.report import warn
from torchrecorder import page
from torchrecorder.errors import OptionError, TorchRecorderError
from torchrecorder.faults import unforeseen
from torchrecorder.page import Outcome, failure, is_skipped
from torchrecorder.request import OPTIONS, Body, parse_target, read_body

NAME, TABLE_NAME = "torchrecorder", "torchrecorder-table"


def _as_written(text: str | None) -> str | None:
    return text


def _names_model(line: str) -> bool:
    try:
        parse_target(line)
    except ValueError:
        return False
    return True


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Lets unknown options through: docutils would stop at the first, we report it together with all other problems."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return _as_written


class _Directive(SphinxDirective):
    """What both directives read, with the options of `torchrecorder.request.OPTIONS`."""

    optional_arguments = 1
    final_argument_whitespace = True  # pkg.Net(width=64, depth=2)
    has_content = True  # a Markdown fence names the model in its first line
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = _AnyOption(
        dict.fromkeys((o.name for o in OPTIONS), _as_written)
    )

    def read(self) -> Body:
        """What is written; `options` holds those of the body, too."""
        target = self.arguments[0] if self.arguments else self._described_class()
        body = read_body(["", *self.content] if target else self.content, target, self.options)
        self.options = dict(body.options)
        return body

    def _described_class(self) -> str:
        """The class in whose description it stands, by its dotted name; empty if its first line names the model."""
        cls = self.env.ref_context.get("py:class")
        if not cls or (self.content and _names_model(self.content[0])):
            return ""
        return ".".join(filter(None, (self.env.ref_context.get("py:module"), cls)))

    def placeholder(self, body: Body, *, is_table: bool = False) -> diagram_placeholder:
        """What stands where the diagram will be."""
        options = tuple(body.options.items())
        place = self.env.docname, self.get_location()
        node = diagram_placeholder(request=DirectiveRequest(*place, body.target, options, body.problems, is_table))
        self.set_source_info(node)
        return node

    def caption(self, kind: type[nodes.TextElement]) -> list[nodes.Node]:
        """The caption, if there is one, with what is wrong with its markup."""
        text = self.options.get("caption")
        if not text:
            return []
        words, messages = self.parse_inline(text, lineno=self.lineno)
        caption = kind(text, "", *words)
        self.set_source_info(caption)
        return [caption, *messages]

    def legend(self, body: Body) -> list[nodes.Node]:
        """The text behind the options."""
        start = len(self.content) - len(body.legend)
        lines = self.content[start:]
        return nested_parse_to_nodes(self.state, lines, offset=self.content_offset + start) if body.legend else []


class DiagramDirective(_Directive):
    """`.. torchrecorder:: pkg.Net`.

    It leaves a figure, so that `name`, `numfig` and translations work as for any other::

        <figure classes="torchrecorder" ids="…" names="…">        the ids and names of `:name:`
            <diagram_placeholder request="DirectiveRequest(…)">
            <caption>                                             of `:caption:`
                …
            <legend>                                              if there is text behind the options
                …
    """

    def run(self) -> list[nodes.Node]:
        """The figure."""
        body = self.read()
        frame = nodes.figure("", self.placeholder(body), *self.caption(nodes.caption), classes=["torchrecorder"])
        if text := self.legend(body):
            frame += nodes.legend("", *text)
        self.set_source_info(frame)
        if self.options.get("name"):
            self.add_name(frame)
        return [frame]


class TableDirective(_Directive):
    """`.. torchrecorder-table:: pkg.Net`: the table of the layers alone, and behind it the text behind the options.

    It leaves::

        <table classes="torchrecorder-layers" ids="…" names="…">
            <title>                                               of `:caption:`
            <diagram_placeholder request="DirectiveRequest(…)">
    """

    def run(self) -> list[nodes.Node]:
        """The table."""
        body = self.read()
        placeholder = self.placeholder(body, is_table=True)
        frame = nodes.table("", *self.caption(nodes.title), placeholder, classes=["torchrecorder-layers"])
        self.set_source_info(frame)
        if self.options.get("name"):
            self.add_name(frame)
        return [frame, *self.legend(body)]


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

    Outside of HTML, `:table:` adds `<table classes="torchrecorder-layers">` behind the figure. A table that stands
    alone gets its rows, with what a reader should know behind it.
    """

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of a page."""
        build = build_of(self.env)
        copies = page.CopyNumbers()  # loaded now: a build that writes no page does not need it
        for placeholder in list(self.document.findall(diagram_placeholder)):
            request: Asked = placeholder["request"]
            build.written.add(request.docname)
            try:
                self._show(placeholder, request, build, copies)
            except SphinxError:  # a warning that ends the build
                raise
            except Exception as unexpected:  # of one diagram, which must not cost the page
                error = unforeseen(request.target, unexpected)
                warn(failure(error, request.location))
                if placeholder.parent is not None:
                    placeholder.replace_self(figure.error_box(request.target, error))

    def _show(self, placeholder: diagram_placeholder, request: Asked, build: Build, copies: page.CopyNumbers) -> None:
        """Fill one figure."""
        result = _loaded(build, request)
        if isinstance(request, DocumentedClass):
            if result is None or is_skipped(result):
                placeholder.parent.remove(placeholder)
                return
            frame = automatic.framed(placeholder)
        elif request.is_table and result is not None:
            figure.show_table(placeholder.parent, request.target, result)
            return
        else:
            frame = placeholder.parent
        placeholder.replace_self(self._contents(frame, request, result, build, copies))
        if isinstance(result, Outcome) and (build.form != "inline" or result.request.figure.loading != "embed"):
            figure.add_table(frame, result, build.image_type)
        if build.form == "text":
            figure.unwrap(frame)
        elif build.form == "inline" and isinstance(request, DocumentedClass):
            automatic.close_tall(frame, result, build.place)

    def _contents(
        self,
        frame: nodes.Element,
        request: Asked,
        result: Outcome | OptionError | None,
        build: Build,
        copies: page.CopyNumbers,
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
            try:
                return figure.image(frame, result.diagram, options, self.env, request.docname, build.image_type)
            except TorchRecorderError as error:  # a PDF holds its fonts, and none may have the signs of a name
                warn(failure(error, request.location))
                return figure.tree(result.diagram)
        if options.loading != "embed":
            return figure.image(frame, result.diagram, options, self.env, request.docname, "image/svg+xml")
        return figure.inline(frame, result.diagram, options, request, copies, build.linked)


def _loaded(build: Build, request: Asked) -> Outcome | OptionError | None:
    """The result with its pictures read; warns if they have left the cache and cannot be made again."""
    result = build.results.get(request)
    if not isinstance(result, Outcome):
        return result
    loaded = result.loaded()
    if loaded.error is not None and loaded.error is not result.error:
        build.results[request] = loaded
        warn(failure(loaded.error, request.location))
    return loaded
