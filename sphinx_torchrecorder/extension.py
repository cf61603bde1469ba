"""The parts of the extension, put together.

directive    text of a page      -> placeholder in a figure; loads no torch, starts no process, writes no file
documented   what autodoc shows  -> classes that may get a diagram without a directive
automatic    their descriptions  -> placeholder; a closed figure, where the picture is tall
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

from sphinx_torchrecorder import automatic, build, directive, documented, figure, links
from torchrecorder import __version__
from torchrecorder.page import ASSETS, CATALOG, LOCALE, SCRIPT, STYLE
from torchrecorder.request import AUTOMATIC_SETTINGS, SITE_SETTINGS


def setup_extension(app: Sphinx) -> ExtensionMetadata:
    """Connect every part."""
    for setting in (*SITE_SETTINGS, *AUTOMATIC_SETTINGS):
        types = {list: (list, tuple), bool: (bool, dict)}.get(type(setting.default), (type(setting.default),))
        # Not "env": settings change drawings, and the pages whose drawings have changed are found by `build`.
        app.add_config_value(f"torchrecorder_{setting.name}", setting.default, "", types, setting.help)
    app.add_directive(directive.NAME, directive.DiagramDirective)
    app.add_directive(directive.TABLE_NAME, directive.TableDirective)
    app.add_node(build.diagram_placeholder)
    app.add_node(figure.diagram_picture, html=(figure.visit_picture, None))
    app.add_message_catalog(CATALOG, str(LOCALE))
    app.add_node(automatic.closed_figure, html=(automatic.visit_closed, automatic.depart_closed))
    app.add_transform(automatic.PlaceDiagrams)
    app.add_env_collector(build.RequestCollector)
    app.add_env_collector(documented.NamesCollector)
    app.add_post_transform(directive.ShowDiagrams)
    app.connect("config-inited", complete_config)
    app.connect("env-before-read-docs", build.expect_any)
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
    config.html_static_path = [str(ASSETS), *config.html_static_path]
    if "sphinx.ext.autodoc" in app.extensions:  # else there is no such event
        app.connect("autodoc-process-docstring", documented.note_class, priority=documented.FIRST)
    # The bare Markdown fence that MkDocs knows: one page of text serves both tools.
    if "myst_parser" in app.extensions:
        config.myst_fence_as_directive = {*config.myst_fence_as_directive, directive.NAME, directive.TABLE_NAME}


def link_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, object], doctree: nodes.document | None
) -> None:
    """Link the assets of this page; Sphinx adds a check sum to their addresses, so no browser keeps an old one."""
    if doctree is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    frames: list[nodes.Element] = [*doctree.findall(nodes.figure), *doctree.findall(nodes.table)]
    if any({"torchrecorder", "torchrecorder-layers"}.intersection(frame["classes"]) for frame in frames):
        app.add_css_file(STYLE)
    if any(node["picture"].options.zoom for node in doctree.findall(figure.diagram_picture)):
        app.add_js_file(SCRIPT, loading_method="defer")
