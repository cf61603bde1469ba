"""The same documentation in every theme, built by the tools themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mkdocs_ext.site import Site as MkDocsSite

ROOT = Path(__file__).resolve().parents[2]
NETS = ROOT / "docs" / "demo"

SPHINX = ("furo", "pydata_sphinx_theme", "sphinx_book_theme", "sphinx_rtd_theme", "alabaster")
MKDOCS = ("material", "mkdocs", "readthedocs")
THEMES = (*SPHINX, *MKDOCS)
ALWAYS_LIGHT = ("sphinx_rtd_theme", "alabaster", "readthedocs")

Fence = tuple[str, dict[str, str]]

GALLERY: list[tuple[str, Fence]] = [
    (
        "Closed layers",
        (
            "demo_nets.resnet.ResNet",
            {
                "shape": "1,3,32,32",
                "depth": "1",
                "table": "yes",
                "name": "fig-closed",
                "caption": "A residual network.",
            },
        ),
    ),
    (
        "Switch",
        (
            "demo_nets.encoder.TransformerEncoder",
            {"shape": "ids=int64[1,32]<1000", "depth": "1-3", "name": "fig-switch", "caption": "Choose a depth."},
        ),
    ),
    ("Wide", ("demo_nets.unet.UNet", {"shape": "1,3,64,64", "depth": "1", "direction": "LR", "name": "fig-wide"})),
    ("All", ("demo_nets.unet.UNet", {"shape": "1,3,64,64", "depth": "all", "name": "fig-all"})),
    (
        "Classic",
        (
            "demo_nets.resnet.BasicBlock(16, 32, stride=2)",
            {"shape": "1,16,32,32", "depth": "2", "theme": "classic", "zoom": "no", "name": "fig-classic"},
        ),
    ),
    ("Guessed", ("demo_nets.tagger.LSTMTagger", {"shape": "words=int64[1,20]<5000", "show": "flops memory dtypes"})),
]
WRONG: list[tuple[str, Fence]] = [
    ("Half", ("demo_nets.resnet.ResNet", {"shape": "1,4,32,32"})),
    ("Nothing", ("demo_nets.resnet.ResNett", {"shape": "1,3,32,32"})),
    ("No option", ("demo_nets.resnet.ResNet", {"depth": "3-1", "shapes": "1,3,32,32"})),
]
MANY = 20
CODE = "https://forge.example/{path}#L{line}"
SITE_URL = "http://127.0.0.1/"
CLASSES = ("demo_nets.resnet.BasicBlock", "demo_nets.unet.DoubleConv", "demo_nets.unet.Up")


@dataclass(frozen=True)
class Page:
    """Fences under headings, with text around."""

    name: str
    parts: list[tuple[str, Fence]]
    before: str = ""

    def write(self, fence: Callable[[Fence], str]) -> str:
        words = "Text before and after the figure, so that there is something that could move. " * 3
        parts = [f"## {title}\n\n{words}\n\n{fence(it)}\n\n{words}" for title, it in self.parts]
        return "\n\n".join([f"# Page {self.name}", "[gallery](gallery.md)", self.before, *parts]) + "\n"


def pages(*, with_classes: bool) -> list[Page]:
    classes = [f"```{{py:class}} {cls}\n```" for cls in CLASSES] if with_classes else []
    many = [
        (f"Net {i}", ("demo_nets.resnet.ResNet", {"shape": f"{i},3,32,32", "depth": "2"})) for i in range(1, MANY + 1)
    ]
    return [
        Page("index", [], "Nothing here."),
        Page("gallery", GALLERY, "\n\n".join(classes)),
        Page("many", many),
        Page("wrong", WRONG),
    ]


def fence(it: Fence) -> str:
    """A fence that both tools read."""
    target, options = it
    return "\n".join(["```torchrecorder", target, *(f":{key}: {value}" for key, value in options.items()), "```"])


@dataclass(frozen=True)
class Site:
    """A built site."""

    theme: str
    folder: Path

    def file(self, page: str) -> str:
        """The path of a page in its folder."""
        direct = f"{page}.html"
        return direct if (self.folder / direct).exists() else f"{page}/index.html"


class Builder:
    """Builds sites into a folder, each theme once; all share the recordings and drawings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self._built: dict[str, Site] = {}

    def site(self, theme: str) -> Site:
        if theme not in self._built:
            build = self._sphinx if theme in SPHINX else self._mkdocs
            self._built[theme] = Site(theme, build(theme))
        return self._built[theme]

    def _sphinx(self, theme: str) -> Path:
        source = self.folder / "sphinx"
        source.mkdir(exist_ok=True)
        for page in pages(with_classes=True):
            toctree = "\n\n```{toctree}\ngallery\nmany\nwrong\n```\n" if page.name == "index" else ""
            text = page.write(fence) + toctree
            (source / f"{page.name}.md").write_text(text, encoding="utf-8")
        conf = ["extensions = ['sphinx_torchrecorder', 'myst_parser']", f"torchrecorder_path = [{str(NETS)!r}]"]
        conf += [f"torchrecorder_code = {CODE!r}"]
        conf += [f"torchrecorder_cache = {str(self.cache)!r}", "project = 'Site'", "html_title = 'Site'"]
        (source / "conf.py").write_text("\n".join([*conf, "language = 'en'\n"]), encoding="utf-8")
        out = self.folder / theme
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-d", str(self.folder / "doctrees")]
        done = subprocess.run(
            [*command, "-D", f"html_theme={theme}", str(source), str(out)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "core"), str(ROOT)))},
            capture_output=True,
            text=True,
            timeout=300,
        )
        # The one diagram that is meant to fail is warned of; nothing else is.
        unexpected = [line for line in done.stderr.splitlines() if "WARNING" in line and "wrong.md" not in line]
        assert (done.returncode, unexpected) == (0, []), done.stderr
        return out

    def _mkdocs(self, theme: str) -> Path:
        site = MkDocsSite(self.folder / theme, NETS, self.cache)
        site.settings |= {"code": CODE}
        for page in pages(with_classes=False):
            site.write(f"{page.name}.md", page.write(fence))
        built = site.build(theme=_MKDOCS_THEMES[theme], site_url=SITE_URL)
        assert (built.aborted, [text for text in built.warnings if not re.match("wrong.md", text)]) == ("", [])
        return built.folder


_MKDOCS_THEMES: dict[str, Any] = {
    "material": {
        "name": "material",
        "font": False,
        "features": ["navigation.instant"],
        "palette": [
            {"scheme": "default", "toggle": {"icon": "material/weather-night", "name": "Dark"}},
            {"scheme": "slate", "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
        ],
    },
    "mkdocs": {"name": "mkdocs", "color_mode": "auto", "highlightjs": False},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
}
