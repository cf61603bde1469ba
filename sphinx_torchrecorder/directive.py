"""The directive, and the transform that shows what became of it.

Nothing is drawn by the directive, nothing even checked: pages are read by several processes at once, in each of which
torch would have to be loaded, and a page that is not read again must not lose its warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

from sphinx_torchrecorder import automatic, figure
from sphinx_torchrecorder.build import MODELS_NAME, Build, build_of, diagram_placeholder
from sphinx_torchrecorder.site import Asked
from torchrecorder.site import Body, ModelList, Outcome, Site, TorchRecorderError, read_list

if TYPE_CHECKING:
    from torchrecorder.site import CopyNumbers


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Lets unknown options through: docutils would stop at the first, we report it together with all other problems."""

    def __bool__(self) -> bool:
        return True  # docutils looks for options only where there are some

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return lambda text: text


class _Directive(SphinxDirective):
    optional_arguments = 1
    final_argument_whitespace = True  # pkg.Net(width=64, depth=2)
    has_content = True  # a Markdown fence names the model in its first line
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = _AnyOption()

    def read(self) -> Body:
        """Body as written; `options` holds those of the body, too."""
        target, context = self.arguments[0] if self.arguments else "", self.env.ref_context
        described = ".".join(filter(None, (context.get("py:module"), context.get("py:class"))))
        is_described = not target and bool(context.get("py:class"))
        body = Body.read(
            ["", *self.content] if target else self.content,
            target,
            self.options,
            described=described if is_described else "",
        )
        self.options.update(body.options)
        return body

    def placeholder(self, body: Body, *, is_table: bool = False) -> diagram_placeholder:
        said = replace(body, legend=(), options={**body.options, "table": "yes"} if is_table else body.options)
        place = self.env.docname, self.get_location()
        node = diagram_placeholder(request=Asked(*place, body.target, said, is_table))
        self.set_source_info(node)
        return node

    def named(self, frame: nodes.Element) -> nodes.Element:
        """The frame with its place in the source, and the name of the options."""
        self.set_source_info(frame)
        if self.options.get("name"):
            self.add_name(frame)
        return frame

    def caption(self, kind: type[nodes.TextElement]) -> list[nodes.Node]:
        text = self.options.get("caption")
        if not text:
            return []
        words, messages = self.parse_inline(text, lineno=self.lineno)
        caption = kind(text, "", *words)
        self.set_source_info(caption)
        return [caption, *messages]

    def legend(self, body: Body) -> list[nodes.Node]:
        start = len(self.content) - len(body.legend)
        lines = self.content[start:]
        return nested_parse_to_nodes(self.state, lines, offset=self.content_offset + start) if body.legend else []


class DiagramDirective(_Directive):
    """`.. torchrecorder:: pkg.Net`.

    It leaves a figure, so that `name`, `numfig` and translations work as for any other::

        <figure classes="torchrecorder" ids="…" names="…">        the ids and names of `:name:`
            <diagram_placeholder request="Asked(…)">
            <caption>                                             of `:caption:`
                …
            <legend>                                              if there is text behind the options
                …
    """

    def run(self) -> list[nodes.Node]:
        body = self.read()
        frame = nodes.figure("", self.placeholder(body), *self.caption(nodes.caption), classes=["torchrecorder"])
        if text := self.legend(body):
            frame += nodes.legend("", *text)
        return [self.named(frame)]


class TableDirective(_Directive):
    """`.. torchrecorder-table:: pkg.Net`: the table of the layers alone, and behind it the text behind the options.

    It leaves::

        <table classes="torchrecorder-layers" ids="…" names="…">
            <title>                                               of `:caption:`
            <diagram_placeholder request="Asked(…)">
    """

    def run(self) -> list[nodes.Node]:
        body = self.read()
        placeholder = self.placeholder(body, is_table=True)
        frame = nodes.table("", *self.caption(nodes.title), placeholder, classes=["torchrecorder-layers"])
        return [self.named(frame), *self.legend(body)]


class ModelsDirective(_Directive):
    """`.. torchrecorder-models::` with a model in each line, as `pkg.Net shape=1,3,64,64`.

    It leaves::

        <container classes="torchrecorder-models" ids="…" names="…">
            <paragraph classes="torchrecorder-caption">           of `:caption:`
            <diagram_placeholder request="Asked(…)" rows="[Asked(…), …]">
    """

    def run(self) -> list[nodes.Node]:
        body = read_list([*self.arguments, *self.content], self.options)
        self.options.update(body.options)
        place = self.env.docname, self.get_location()
        rows = [Asked(*place, listed.body.target, listed.body) for listed in ModelList.of(body).models]
        placeholder = diagram_placeholder(request=Asked(*place, "", body, is_table=True), rows=rows)
        classes = [MODELS_NAME, *(self.options.get("class") or "").split()]
        frame = nodes.container("", *self.caption(nodes.paragraph), placeholder, classes=classes)
        for caption in frame.findall(nodes.paragraph):
            caption["classes"].append("torchrecorder-caption")
        return [self.named(frame)]


class ShowDiagrams(SphinxPostTransform):
    """Puts what the builder can show in place of the placeholders, for each page that is written.

    It runs in the main process, before links are resolved (10) and images are collected (100). In an HTML page::

        <figure align="…" classes="torchrecorder …">              with `:align:` and `:class:`
            <diagram_picture contents="…">
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
        build = build_of(self.env)
        from torchrecorder.site import CopyNumbers  # a build that writes no page does not need it

        copies = CopyNumbers()
        for placeholder in list(self.document.findall(diagram_placeholder)):
            request: Asked = placeholder["request"]
            build.written.add(request.docname)
            try:
                self._show(placeholder, request, build, copies)
            except SphinxError:  # a warning that ends the build
                raise
            except Exception as unexpected:  # of one diagram, which must not cost the page
                box = figure.unforeseen_box(build, request, unexpected)
                if placeholder.parent is not None:
                    placeholder.replace_self(box)

    def _show(self, placeholder: diagram_placeholder, request: Asked, build: Build, copies: CopyNumbers) -> None:
        site = build.made
        if "rows" in placeholder:
            if site is not None and build.form != "nothing":
                figure.show_models(placeholder, request, build)
            else:
                placeholder.parent.remove(placeholder)
            return
        outcome = site.shown(request) if site else None
        if request.is_automatic:
            if outcome is None or outcome.is_skipped:
                placeholder.parent.remove(placeholder)
                return
            frame: nodes.Element = nodes.figure(classes=["torchrecorder"])
            placeholder.replace_self(frame)
            frame += placeholder
        elif request.is_table and outcome is not None:
            figure.show_table(placeholder.parent, outcome)
            return
        else:
            frame = placeholder.parent
        if site is None or outcome is None:
            placeholder.replace_self(nodes.paragraph("", "", nodes.literal(request.target, request.target)))
            return
        placeholder.replace_self(self._contents(frame, request, outcome, build, site, copies))
        if build.form != "inline" or outcome.request.figure.loading != "embed":
            figure.add_table(frame, outcome, build.image_type)
        if build.form == "text" and len(frame) == 1 and not frame["ids"]:
            frame.replace_self(frame[0])  # on paper, a figure floats away from its place
        elif build.form == "inline" and request.is_automatic:
            automatic.close_tall(frame, outcome, site.settings.place)

    def _contents(
        self,
        frame: nodes.Element,
        request: Asked,
        outcome: Outcome,
        build: Build,
        site: Site[Asked],
        copies: CopyNumbers,
    ) -> nodes.Node:
        options = outcome.request.figure
        figure.dress(frame, options, build.form)
        if outcome.diagram is None:
            return figure.error_box(request.target, outcome.reasons(figure._))
        figure.add_lines(frame, outcome)
        if build.form == "text":
            return figure.tree(outcome.diagram)
        if build.form == "image" and build.image_type:
            try:
                return figure.image(frame, outcome.diagram, options, self.env, request.docname, build.image_type)
            except TorchRecorderError as error:  # a PDF holds its fonts, and none may have the characters of a name
                site.failed(error, request.location)
                return figure.tree(outcome.diagram)
        if options.loading != "embed":
            shown = outcome.diagram.without_foot()
            return figure.image(frame, shown, options, self.env, request.docname, "image/svg+xml")
        return figure.inline(frame, outcome, outcome.diagram, request, copies, build.linked)
