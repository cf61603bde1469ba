"""A real browser on real sites. Where one is missing, these tests are skipped and say what to install."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.sites import ALWAYS_LIGHT, Builder

_NEEDED = {
    "axe_playwright_python": "axe-playwright-python",
    "furo": "furo",
    "material": "mkdocs-material",
    "myst_parser": "myst-parser",
    "playwright": "playwright",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
    "sphinx_book_theme": "sphinx-book-theme",
    "sphinx_rtd_theme": "sphinx-rtd-theme",
}
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

_COMPLETE = """() => new Promise((resolve) => {
  let before = -1;
  const look = () => {
    const loaded = performance.getEntriesByType("resource").length;
    if (document.readyState == "complete" && loaded == before) return resolve();
    before = loaded;
    setTimeout(look, 500);
  };
  look();
})"""

Open = Callable[..., Any]


def _missing() -> str:
    """What has to be installed; empty if nothing."""
    if not any(map(shutil.which, _PROGRAMS)):
        return "no chromium is on the PATH: apt-get install chromium"
    packages = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    return f"{', '.join(packages)} missing: python -m nox -s tests -- -m browser has them" if packages else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _missing()
    for item in items:
        if reason and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    pytest.MonkeyPatch().setenv("NO_MKDOCS_2_WARNING", "1")
    return Builder(tmp_path_factory.mktemp("sites"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the base class)
        pass


@pytest.fixture(scope="session")
def address(builder: Builder) -> Iterator[str]:
    """Where the folder with all sites is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(builder.folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, _PROGRAMS)))
    with sync_playwright() as playwright:
        # Docker gives no sandbox to root, and little of /dev/shm. What themes fetch from other hosts fails at once:
        # without a network it may as well wait for a minute.
        only_here = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        started = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", only_here]
        )
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any, builder: Builder, address: str) -> Iterator[Open]:
    """Opens a page of a theme in light or dark; fails at an error of a script that the theme alone does not have."""
    contexts: list[Any] = []
    errors: set[tuple[str, str]] = set()

    def start(theme: str, name: str, found: set[tuple[str, str]], **options: Any) -> Any:
        site = builder.site(theme)
        contexts.append(browser.new_context(reduced_motion="reduce", **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: found.add((theme, str(error))))
        page.goto(f"{address}/{site.folder.relative_to(builder.folder)}/{site.file(name)}")
        return page

    def open_(theme: str, name: str = "gallery", *, dark: bool = False, width: int = 1280, **options: Any) -> Any:
        options |= {"color_scheme": "dark" if dark else "light", "viewport": {"width": width, "height": 900}}
        page = start(theme, name, errors, **options)
        if dark and theme == "material":
            page.locator("label[title=Dark]").click()
        if options.get("java_script_enabled", True) and theme not in ALWAYS_LIGHT:
            assert _is_dark(page) == dark
        return page

    yield open_
    of_themes: set[tuple[str, str]] = set()
    for theme in sorted({theme for theme, _ in errors}):
        settle(start(theme, "index", of_themes))
    for context in contexts:
        context.close()
    assert errors <= of_themes


def settle(page: Any) -> None:
    """A wait until the page is complete and nothing more has arrived for half a second.

    The browser's own "networkidle" also waits for requests that never end.
    """
    page.evaluate(_COMPLETE)


def _is_dark(page: Any) -> bool:
    found: bool = page.evaluate(
        "getComputedStyle(document.querySelector('h1')).color.match(/[\\d.]+/g).slice(0, 3).every((c) => c > 127)"
    )
    return found
