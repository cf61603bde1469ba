"""The parts of the extension, put together.

site         values of conf.py   -> the site of this build, and its messages
directive    text of a page      -> placeholder in a figure; loads no torch, starts no process, writes no file
automatic    what autodoc shows  -> placeholder for a class without a directive, or a table of several
build        all placeholders    -> diagrams, in one go, after reading and before writing
directive    placeholder         -> picture, image or text, as the builder can show it
figure       picture             -> its HTML
links        classes of pictures -> addresses of their pages, where Sphinx or intersphinx knows any
extension    pages with figures  -> links to the style sheet and the script, which the core keeps
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.util.typing import ExtensionMetadata

from sphinx_torchrecorder import automatic, build, directive, figure, links
from sphinx_torchrecorder.site import add_settings
from torchrecorder.site import __version__, words


def setup_extension(app: Sphinx) -> ExtensionMetadata:
    add_settings(app)
    app.add_directive(build.NAME, directive.DiagramDirective)
    app.add_directive(build.TABLE_NAME, directive.TableDirective)
    app.add_directive(build.MODELS_NAME, directive.ModelsDirective)
    app.add_node(build.diagram_placeholder)
    app.add_node(figure.diagram_picture, html=(figure.visit_picture, None))
    app.add_message_catalog(words.CATALOG, str(words.LOCALE))
    app.add_node(automatic.closed_figure, html=(automatic.visit_closed, automatic.depart_closed))
    app.add_transform(automatic.PlaceDiagrams)
    app.add_transform(automatic.PlaceSummaries)
    app.add_env_collector(build.RequestCollector)
    app.add_env_collector(build.SummaryCollector)
    app.add_env_collector(automatic.NamesCollector)
    app.add_post_transform(directive.ShowDiagrams)
    app.connect("config-inited", complete_config)
    app.connect("env-before-read-docs", build.expect_any)
    app.connect("env-updated", automatic.warn_of_patterns, priority=automatic.BEFORE_DRAWING)
    app.connect("env-updated", build.draw_all)
    app.connect("missing-reference", links.try_public_names, priority=links.AFTER_OTHERS)
    app.connect("warn-missing-reference", links.is_silent)
    app.connect("html-page-context", link_assets)
    app.connect("build-finished", build.keep_signatures)
    return {
        "version": __version__,
        "env_version": build.ENV_VERSION,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def complete_config(app: Sphinx, config: Config) -> None:
    """Add our assets, listen to autodoc, and add the Markdown fence where MyST reads Markdown."""
    # Our folder comes first: a project's own `torchrecorder.css` is copied over ours.
    config.html_static_path = [str(words.ASSETS), *config.html_static_path]
    if "sphinx.ext.autodoc" in app.extensions:  # else there is no such event
        app.connect("autodoc-process-docstring", automatic.note_class, priority=automatic.FIRST)
    # The bare Markdown fence that MkDocs knows: one page of text serves both tools.
    if "myst_parser" in app.extensions:
        config.myst_fence_as_directive = {*config.myst_fence_as_directive, *build.NAMES}


def link_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, object], doctree: nodes.document | None
) -> None:
    """Link the assets of this page; Sphinx adds a check sum to their addresses, so no browser keeps an old one."""
    if doctree is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    frames: list[nodes.Element] = [*doctree.findall(nodes.figure), *doctree.findall(nodes.table)]
    frames += doctree.findall(nodes.container)
    classes = {name for frame in frames for name in frame["classes"]}
    if classes & {"torchrecorder", "torchrecorder-layers", build.MODELS_NAME}:
        app.add_css_file(words.STYLE)
    if build.MODELS_NAME in classes:
        app.add_js_file(words.MODELS_SCRIPT, loading_method="defer")
    if any(node["has_zoom"] for node in doctree.findall(figure.diagram_picture)):
        app.add_js_file(words.SCRIPT, loading_method="defer")
