"""Whole sites, built by MkDocs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin
from mkdocs.structure.pages import Page

from mkdocs_torchrecorder.fence import Fence, marker
from mkdocs_torchrecorder.plugin import TorchRecorderConfig
from tests.mkdocs_ext.placements import DRAWN, EXTENSIONS, FENCE, SHOWN, SUPERFENCES, WRONG
from tests.mkdocs_ext.seeing import see
from tests.mkdocs_ext.site import Site
from torchrecorder.request import Body

SNIPPETS = {"pymdownx.snippets": {"base_path": ["."]}}


@pytest.mark.parametrize("theme", ["mkdocs", "readthedocs", "material"])
@pytest.mark.parametrize("fences", [(), SUPERFENCES], ids=["alone", "superfences"])
def test_every_placement_in_every_theme(site: Site, theme: str, fences: tuple[str, ...]) -> None:
    for i, text in enumerate(DRAWN.values()):
        site.write(f"drawn/{i}.md", "# Drawn\n\n" + text)
    for i, text in enumerate(SHOWN.values()):
        site.write(f"shown/{i}.md", "# Shown\n\n" + text)
    site.write("index.md", "# Home\n\n[There](drawn/0.md)\n")
    built = site.build(theme=theme, extensions=[*EXTENSIONS, *fences], strict=True)
    assert (built.aborted, built.warnings) == ("", [])
    drawn = [see(built.page(f"drawn/{i}/index.html")) for i in range(len(DRAWN))]
    assert {name: len(page.figures) for name, page in zip(DRAWN, drawn, strict=True)} == dict.fromkeys(DRAWN, 1)
    shown = [see(built.page(f"shown/{i}/index.html")) for i in range(len(SHOWN))]
    assert {name: len(page.figures) for name, page in zip(SHOWN, shown, strict=True)} == dict.fromkeys(SHOWN, 0)
    assert "Drawn" in built.search_index()
    assert "ReLU" not in built.search_index()


def test_what_was_meant_for_a_fence_is_a_warning_with_its_line(site: Site) -> None:
    site.write("index.md", "# Home\n\n[There](0.md)\n")
    for i, (_, text, _) in enumerate(WRONG.values()):
        site.write(f"{i}.md", "# Wrong\n" + text)
    built = site.build(extensions=[*EXTENSIONS, *SUPERFENCES], strict=True)
    assert "Aborted with" in built.aborted
    said = [f"{i}.md:{line}: torchrecorder: {problem}" for i, (line, _, problem) in enumerate(WRONG.values())]
    assert sorted(built.warnings) == sorted(said)


def test_one_page_with_everything(site: Site) -> None:
    text = "".join(f"\n\n# Part\n\n{text}\n" for text in [*DRAWN.values(), *SHOWN.values()] if "never" not in text)
    site.write("index.md", text.replace("```torchrecorder\nnets.Net\n\n# Part", "# Part"))
    site.write("other.md", FENCE)
    built = site.build(extensions=[*EXTENSIONS, *SUPERFENCES], use_directory_urls=False)
    seen = see(built.page("index.html"))
    assert built.warnings == []
    assert len(seen.figures) == len(DRAWN)
    assert not {id_ for id_ in seen.twice if id_.startswith("tr-")}
    assert len(see(built.page("other.html")).figures) == 1


def test_the_style_sheet(site: Site) -> None:
    site.write("index.md", FENCE)
    site.write("sub/page.md", FENCE)
    built = site.build()
    assert "figcaption" in built.page("assets/torchrecorder.css")
    assert 'href="../../assets/torchrecorder.css"' in built.page("sub/page/index.html")
    site.write("assets/torchrecorder.css", "/* ours */")
    assert site.build().page("assets/torchrecorder.css") == "/* ours */"


def test_the_script_stands_on_pages_with_figures_only(site: Site) -> None:
    site.write("index.md", "# Home\n\nNo figure.\n")
    site.write("sub/page.md", FENCE + "\n\n" + FENCE)
    site.write("still.md", FENCE.replace(":shape", ":zoom: no\n:shape"))
    built = site.build()
    assert built.page("sub/page/index.html").count('<script src="../../assets/torchrecorder.js" defer>') == 1
    assert "torchrecorder.js" not in built.page() + built.page("still/index.html")
    assert "viewBox" in built.page("assets/torchrecorder.js")


def test_a_switch_and_a_table(site: Site) -> None:
    site.write("index.md", FENCE.replace(":shape", ":depth: 0-2\n:table: yes\n:shape"))
    built = site.build(strict=True)
    assert (built.aborted, built.warnings) == ("", [])
    seen = see(built.page())
    radios = [element for element in seen.all("input") if element.attributes.get("type") == "radio"]
    tables = seen.all("details", "torchrecorder-table")
    assert (len(radios), len(tables), seen.wrong, seen.twice) == (2, 1, [], set())
    assert "Parameters" not in built.search_index()


@pytest.mark.parametrize("theme", [{"name": "mkdocs", "locale": "de"}, {"name": "material", "language": "de"}])
def test_our_texts_are_in_the_language_of_the_theme(site: Site, theme: dict[str, str]) -> None:
    site.write(
        "index.md",
        "\n\n".join(("# Netz", FENCE.replace(":shape", ":depth: 0-1\n:shape"), FENCE.replace("nets.Net", "nets.Nett"))),
    )
    page = site.build(theme=theme).page()
    assert "<legend>Tiefe</legend>" in page
    assert "Kein Diagramm von <code>nets.Nett</code>" in page


def test_a_figure_of_a_file_with_a_legend(site: Site) -> None:
    text = FENCE.replace(":shape", ":loading: lazy\n:figwidth: 50%\n:dpeth: 2\n:shape")
    site.write("sub/page.md", text.replace("\n```", "\n\nA legend\nof a & b.\n\nMore.\n```"))
    built = site.build()
    (warning,) = built.warnings
    assert "unknown option 'dpeth', did you mean depth?\nthe diagram is drawn without it" in warning
    page = built.page("sub/page/index.html")
    found = re.search(r'<img src="../../(assets/torchrecorder-\w+\.svg)"[^>]* loading="lazy"', page)
    assert found is not None
    assert "<svg" in built.page(found[1])
    assert "width:50%;" in page
    assert ">A legend\nof a &amp; b.</small>" in page
    assert ">More.</small>" in page


def test_snippets(site: Site) -> None:
    (site.folder / "part.md").write_text(FENCE, encoding="utf-8")
    site.write("index.md", '# Home\n\n--8<-- "part.md"\n')
    built = site.build(extensions=[{"pymdownx.snippets": {"base_path": [str(site.folder)]}}])
    assert len(see(built.page()).figures) == 1


def test_what_is_not_said_is_looked_for_in_the_front_matter_then_in_the_settings(site: Site) -> None:
    site.settings["options"] = {"shape": "1,3", "depth": 0, "direction": "sideways"}
    site.write("index.md", "```torchrecorder nets.Net\n```\n")
    site.write("page.md", "---\ntorchrecorder:\n  depth: 1\n---\n```torchrecorder nets.Net\n```\n")
    site.write("fence.md", "---\ntorchrecorder:\n  depth: 1\n---\n```torchrecorder nets.Net depth=0\n```\n")
    site.write("wrong.md", "---\ntorchrecorder:\n  depht: 1\n  fold: maybe\n---\n```torchrecorder nets.Net\n```\n")
    site.write("list.md", "---\ntorchrecorder: [1]\n---\n```torchrecorder nets.Net\n```\n")
    built = site.build()
    pages = [f"{name}index.html" for name in ("", "page/", "fence/", "wrong/", "list/")]
    assert [", ReLU" not in see(built.page(page)).figures[0].text for page in pages] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert sorted(built.warnings) == [
        "list.md: torchrecorder: in the front matter, torchrecorder holds options, each in a line `name: value`",
        "torchrecorder: options: direction: 'SIDEWAYS' is none of TB, LR",
        "wrong.md: torchrecorder: in the front matter, fold: 'maybe' is neither yes nor no, nor a path with * or !,"
        " such as layers.*",
        "wrong.md: torchrecorder: in the front matter, unknown option 'depht', did you mean depth?",
    ]


def test_a_link_to_a_figure_leads_somewhere(site: Site) -> None:
    site.write("index.md", FENCE.replace(":shape", ":name: my net\n:shape") + "\n[a](#my-net) [b](#her-net)\n")
    built = site.build(validation={"anchors": "warn"}, strict=True)
    assert [text for text in built.warnings if "my-net" in text] == []
    assert len([text for text in built.warnings if "her-net" in text]) == 1


def test_links_in_captions_are_those_of_the_page(site: Site) -> None:
    site.write("index.md", "# Home\n")
    fence = FENCE.replace(":shape", ":caption: [there](../index.md#home), [nowhere](nowhere.md)\n:shape")
    example = "    ```torchrecorder\n    :caption: [x](no.md)\n    ```\n"
    site.write("sub/page.md", f"{fence}\n\n{example}")
    built = site.build(strict=True)
    assert [it.text for it in see(built.page("sub/page/index.html")).all("figcaption")] == ["there, nowhere"]
    assert '<a href="../../#home">there</a>' in built.page("sub/page/index.html")
    assert [text for text in built.warnings if "no.md" in text] == []
    assert len([text for text in built.warnings if "nowhere.md" in text]) == 1


def test_excerpts_of_a_blog_show_their_figures(site: Site) -> None:
    site.write("index.md", "# Home\n")
    site.write("blog/index.md", "# Blog\n")
    post = "---\ndate: 2026-01-01\n---\n# Post\n\n" + FENCE + "\n<!-- more -->\n\n" + FENCE
    site.write("blog/posts/post.md", post)
    built = site.build(theme="material", plugins=["search", "blog"])
    assert len(see(built.page("blog/2026/01/01/post/index.html")).figures) == 2
    assert len(see(built.page("blog/index.html")).figures) == 1


class Printer(BasePlugin[TorchRecorderConfig]):  # type: ignore[no-untyped-call] # of MkDocs
    """Joins pages as print-site does: takes their contents early, and writes a page that no event tells of."""

    def __init__(self, more: str = "") -> None:
        self.taken = more

    def on_page_content(self, html: str, *, page: Page, **_: Any) -> None:
        self.taken += html

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        file = Path(config.site_dir, "print_page", "index.html")
        file.parent.mkdir()
        file.write_text(f"<!doctype html><html><body>{self.taken}</body></html>", encoding="utf-8")


def test_a_page_that_joins_pages_has_their_figures(site: Site) -> None:
    site.write("index.md", "---\ntorchrecorder: {depth: 0}\n---\n" + FENCE)
    site.write("other.md", FENCE.replace(":shape", ":depth: 0-2\n:shape"))
    site.write("third.md", FENCE)
    built = site.build(others={"print": Printer()}, strict=True)
    seen = see(built.page("print_page/index.html"))
    assert (built.aborted, built.warnings) == ("", [])
    assert (len(seen.figures), seen.wrong, seen.twice) == (3, [], set())
    assert seen.all("input") == seen.all("button") == []
    assert [", ReLU" not in figure.text for figure in seen.figures] == [False, False, True]
    assert "marker" not in built.page("print_page/index.html")


def test_a_marker_that_is_left_is_a_warning(site: Site) -> None:
    """Of a plugin that keeps pages between builds, with markers of this version or of an older one."""
    fence = Fence(Body("nets.Net"), "```torchrecorder nets.Net\n```", page="gone.md")
    old = '<div class="torchrecorder-marker" data-fence="WyIiLCAiIiwgIiIsIDFd"></div>'
    site.write("index.md", FENCE)
    built = site.build(others={"print": Printer(marker(fence) + old)}, strict=True)
    left = "print_page/index.html: torchrecorder: a marker {} came into this page when all was drawn: empty the cache"
    assert [text.rpartition(" of the plugin")[0] for text in built.warnings] == [
        left.format("for a fence of gone.md"),
        left.format("that another version has left"),
    ]
    seen = see(built.page("print_page/index.html"))
    assert (len(seen.figures), len(seen.boxes)) == (1, 2)
    assert "marker" not in "".join(str(element.attributes) for element in seen.elements)


def test_plugin_and_extension_together_draw_once(site: Site, nets: Path) -> None:
    site.write("index.md", FENCE)
    extension = {"mkdocs_torchrecorder:TorchRecorderExtension": {"cache": str(site.folder / "never")}}
    built = site.build(extensions=[extension])
    assert len(see(built.page()).figures) == 1
    assert not (site.folder / "never").exists()


def test_the_extension_alone_knows_page_and_line(site: Site, nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.folder)
    text = "---\ntitle: x\ntorchrecorder: {depth: 0}\n---\n" + FENCE + "\n```torchrecorder nets.Net shpae=1\n```\n"
    site.write("sub/page.md", text)
    site.write("index.md", "# Home\n")
    extension = {"mkdocs_torchrecorder:TorchRecorderExtension": {"path": [str(nets)]}}
    site.settings["enabled"] = False
    built = site.build(extensions=[extension])
    seen = see(built.page("sub/page/index.html"))
    assert (len(seen.figures), len(seen.boxes)) == (1, 1)
    assert ", ReLU" in seen.figures[0].text
    assert built.warnings == ["sub/page.md:10: torchrecorder: unknown option 'shpae', did you mean shape?"]


def test_switched_off(site: Site) -> None:
    site.write("index.md", FENCE)
    site.settings["enabled"] = False
    built = site.build(extensions=["fenced_code"])
    assert 'class="language-torchrecorder"' in built.page()
    assert not (built.folder / "assets" / "torchrecorder.css").exists()


def test_a_cache_in_the_repository_that_is_the_docs(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A build publishes no folder with a dot, so there is nothing to warn of; its server would build for ever."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (site.folder / ".torchrecorder").unlink()
    site.write("index.md", FENCE)
    settings: dict[str, Any] = {"docs_dir": str(site.folder.parent), "site_dir": str(elsewhere / "site")}
    assert (built := site.build(strict=True, **settings)).warnings == []
    assert list(built.folder.rglob(".torchrecorder")) == []
    site.plugin.on_startup(command="serve", dirty=False)
    (warning,) = site.rebuild(site.config(**settings)).warnings
    assert warning.startswith("torchrecorder: the cache .torchrecorder lies in docs_dir, where it is watched")
    assert warning.endswith("move it by the setting machine_cache")
    site.settings["machine_cache"] = str(elsewhere / "cache")
    assert site.rebuild(site.config(**settings)).warnings == []
    assert (elsewhere / "cache" / "ren").is_dir()
    site.plugin.on_shutdown()


def test_a_page_that_is_deleted_while_the_site_is_served(site: Site) -> None:
    site.write("index.md", FENCE)
    site.write("gone.md", FENCE.replace("nets.Net", "nets.Nowhere"))
    site.plugin.on_startup(command="serve", dirty=False)
    assert len(site.rebuild(site.config()).warnings) == 1
    (site.folder / "docs" / "gone.md").unlink()
    built = site.rebuild(site.config())
    assert built.warnings == []
    assert len(see(built.page()).figures) == 1
    site.plugin.on_shutdown()
