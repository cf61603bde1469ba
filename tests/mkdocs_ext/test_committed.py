"""A cache that is committed with the site, and settings that go with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mkdocs.livereload import LiveReloadServer

from mkdocs_torchrecorder.site import FenceSite
from tests.folders import contents
from tests.mkdocs_ext.nets import write_nets
from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.seeing import see
from tests.mkdocs_ext.site import Site
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request

REQUEST = read_request("nets.Net", {"shape": "1,3"})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a committed cache of what `FENCE` asks for."""
    root = tmp_path_factory.mktemp("committed") / "site"
    site = Site(root, write_nets(root / "src"), root / "own")
    site.write("index.md", FENCE)
    site.settings |= {"path": ["src"], "cache": "diagrams"}
    site.config()
    found = FenceSite(root, dict(site.plugin.config), lambda fence: "").settings
    assert "<figure" in site.build().page()
    committed = Pipeline(found, writes_committed=True)
    outcome = committed.run([REQUEST])[REQUEST]
    assert outcome.error is None
    return root


@pytest.fixture
def site(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A checkout of it on a builder without torch and without an engine."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "torch.py").write_text("raise ImportError('no torch here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "bare"))
    made = Site(tmp_path / "site", tmp_path, tmp_path / "own")
    for name in ("src", "diagrams"):
        shutil.copytree(recorded / name, made.folder / name)
    made.write("index.md", FENCE)
    made.settings |= {"path": ["src"], "cache": "diagrams", "engine": "no-such-engine"}
    return made


def edit(site: Site) -> None:
    file = site.folder / "src" / "nets" / "__init__.py"
    text = file.read_text()
    file.write_text(text.replace("self.second(self.first(x))", "self.first(self.second(x))"))


def test_it_is_enough_and_stays_as_it_is(site: Site) -> None:
    before = contents(site.folder / "diagrams")
    built = site.build(strict=True)
    assert (built.aborted, built.warnings, built.progress) == ("", [], [])
    assert "Linear" in see(built.page()).figures[0].text
    assert contents(site.folder / "diagrams") == before


@pytest.mark.parametrize("on_stale", ["warn", "placeholder", "error"])
def test_out_of_date(site: Site, on_stale: str) -> None:
    edit(site)
    site.settings["on_stale"] = on_stale
    built = site.build()
    (warning,) = built.warnings[:1]
    assert "nets/__init__.py: Net.forward changed" in warning
    assert "torchrecorder update" in warning
    if on_stale == "error":
        assert built.aborted
        assert "Net.forward changed" in built.warnings[-1]
        return
    seen = see(built.page())
    assert (len(seen.figures), len(seen.boxes)) == ((1, 0) if on_stale == "warn" else (0, 1))


def test_a_cache_among_the_pages(site: Site) -> None:
    site.settings["cache"] = "docs/diagrams"
    shutil.copytree(site.folder / "diagrams", site.folder / "docs" / "diagrams")
    (warning,) = site.build().warnings
    text = "torchrecorder: the cache docs/diagrams lies in docs_dir, where it is published and watched: move it by the "
    assert warning == f"{text}setting cache"


@pytest.mark.parametrize("is_served", [False, True])
def test_a_cache_among_the_pages_that_is_not_published(site: Site, *, is_served: bool) -> None:
    """The server is not in danger: builds read a committed cache, and write into that of the machine."""
    shutil.copytree(site.folder / "diagrams", site.folder / "docs" / "diagrams")
    site.settings["cache"] = "docs/diagrams"
    config = site.config(exclude_docs="/diagrams/\n")
    config.plugins.on_startup(command="serve" if is_served else "build", dirty=False)
    built = Site.rebuild(config)
    site.plugin.on_shutdown()
    assert built.warnings == []
    assert not (built.folder / "diagrams").exists()


WRONG = {
    "memory": ("much", "'much' is not a valid amount of memory: write 16G"),
    "on_stale": ("wran", "'wran' is none of warn, error, placeholder; did you mean warn?"),
    "on_error": ("rise", "'rise' is none of warn, raise; did you mean raise?"),
    "autodoc_place": ("inlined", "'inlined' is none of "),
    "path": (3, "3 is not a list of texts"),
    "allow": ({"a": 1}, "{'a': 1} is not a list of texts"),
    "options": ("depth", "'depth' is not a mapping"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_a_warning_and_the_default(site: Site, name: str) -> None:
    """As it is in Sphinx; `--strict` makes it the end of the build."""
    value, text = WRONG[name]
    site.settings[name] = value
    built = site.build()
    assert not built.aborted
    assert any(warning.startswith(f"torchrecorder: {name}: {text}") for warning in built.warnings), built.warnings


def test_an_option_without_a_value_is_a_yes(site: Site) -> None:
    site.settings["options"] = {"grey": None}
    assert not [warning for warning in site.build().warnings if "options" in warning]


def test_a_server_watches_what_is_there(site: Site, tmp_path: Path) -> None:
    """A file that may appear is watched for in its folder; the observer cannot start on one that is not there."""
    folder = tmp_path / "data"
    folder.mkdir()
    site.plugin._sources = {folder / "absent.yaml", folder, tmp_path / "no" / "where" / "x", site.folder / "mkdocs.yml"}
    server = LiveReloadServer(lambda: None, "127.0.0.1", 0, str(tmp_path))
    server.server_close()
    site.plugin.on_serve(server, config=site.config(), builder=lambda: None)
    server.observer.start()
    server.observer.stop()
    assert set(server._watched_paths) == {str(folder), str(site.folder)}
