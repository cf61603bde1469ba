"""Links from a picture to the pages of its classes, found as Sphinx finds any other reference to a class.

A reference has no words: its picture has them already, and Sphinx puts the words of references into the search index.
No author wrote these references, so one that leads nowhere is not a fault, and a wrong guess is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains import Domain
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment
from sphinx.errors import NoUri

from torchrecorder.site import names_of_class

_CLASS = "torchrecorder_class"
"""Names the class on our references and on what remains of them, for titles and texts of a target are not its name."""

AFTER_OTHERS = 900
"""Of event handlers: the name as it is, in intersphinx for example, comes before all guesses."""


def reference(cls: str, docname: str, words: str = "") -> pending_xref:
    mark = {_CLASS: cls}
    return pending_xref(
        "",
        nodes.inline("", words, **mark),
        refdomain="py",
        reftype="class",
        reftarget=cls,
        refdoc=docname,
        refexplicit=True,  # keeps our child, which carries the name
        refwarn=False,
        **mark,
    )


def addresses(picture: nodes.Element) -> dict[str, str]:
    """The addresses of the classes of a picture whose references have been resolved."""
    return {
        inner[_CLASS]: _address(link)
        for link in picture.findall(nodes.reference)
        for inner in link.findall(nodes.inline)
        if _CLASS in inner
    }


def places(app: Sphinx, classes: Iterable[str]) -> dict[str, str]:
    """Addresses of the pages of classes, seen from the first page; when they change, links of all pages do.

    Sphinx does not write a page again when the targets of its references have moved. For a picture, whose references
    are not in the source, we do.
    """
    by_class: dict[str, str] = {}
    for cls in sorted(set(classes)):
        link = _resolve(app, reference(cls, app.config.root_doc), nodes.inline())
        if isinstance(link, nodes.reference):
            by_class[cls] = _address(link)
    return by_class


def _address(link: nodes.reference) -> str:
    """Address as HTML wants it; in a single page, `#document-api#pkg.Net` is `#pkg.Net`."""
    if "refid" in link:
        return f"#{link['refid']}"
    uri = str(link.get("refuri", ""))
    return "#" + uri.rpartition("#")[2] if uri.count("#") > 1 else uri


def _resolve(app: Sphinx, node: pending_xref, inner: nodes.Element) -> nodes.Node | None:
    env, (docname, kind, target) = app.env, (node[name] for name in ("refdoc", "reftype", "reftarget"))
    resolve = env.get_domain("py").resolve_xref
    try:
        link: nodes.Node | None = resolve(env, docname, app.builder, kind, target, node, inner)
        if link is None:
            link = app.emit_firstresult("missing-reference", env, node, inner, allowed_exceptions=(NoUri,))
        return link
    except NoUri:
        return None


def try_public_names(app: Sphinx, env: BuildEnvironment, node: pending_xref, inner: nodes.Element) -> nodes.Node | None:
    if _CLASS not in node:
        return None
    for name in names_of_class(node[_CLASS])[1:]:
        if _is_another(env, name):
            continue
        guess = pending_xref("", **{**node.attributes, "reftarget": name})
        del guess[_CLASS]  # or we would be called again
        if (link := _resolve(app, guess, inner)) is not None:
            return link
    return None


def _is_another(env: BuildEnvironment, name: str) -> bool:
    """Whether this project is known to document something else by that name.

    autodoc notes for a class the name it was defined by, too. Were it that of our class, it would have been found.
    """
    domain = env.get_domain("py")
    objects = domain.objects if isinstance(domain, PythonDomain) else {}
    if (entry := objects.get(name)) is None:
        return False
    place = (entry.docname, entry.node_id)
    has_alias = any(other.aliased and (other.docname, other.node_id) == place for other in objects.values())
    return has_alias or entry.objtype not in ("class", "exception")


def is_silent(app: Sphinx, domain: Domain | None, node: pending_xref) -> bool | None:
    """True for our references, which keeps Sphinx from warning of them, also where it warns of all."""
    return True if _CLASS in node else None
