"""What a project asks to have in its files: `[tool.torchrecorder.pictures]` of its pyproject.toml, and comments.

[tool.torchrecorder.pictures]
"docs/img/net.svg" = { target = "pkg.Net", shape = "1,3,224,224", dark = "docs/img/net-dark.svg" }
"MODELS.md" = { table = "pkg.models.*" }
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchrecorder.errors import OptionError, did_you_mean, near_miss
from torchrecorder.files.comments import REST, Block, blocks
from torchrecorder.page.files import FileType, file_name, file_type, requests_for_print, type_of, why_no_file
from torchrecorder.request import OPTIONS, Body, DiagramRequest, FigureOptions, Settings, is_pattern
from torchrecorder.request.models import USUAL_COLUMNS, ListedModel, ModelList
from torchrecorder.request.reading import as_text, read_header
from torchrecorder.request.settings import read_settings

CONFIGURATION = "pyproject.toml"
FOLDER = "diagrams"
"""Where recordings are committed, and pictures of a Markdown file beside it, if nothing else is said."""
_MARKDOWN = ["*.md", "*.rst"]
_OWN = ("pictures", "markdown")
_TARGET = ("target", "table", "dark")
_OF_PAGES = ("autodoc", "autodoc_place", "autodoc_summary", "code", "on_error", "on_stale")
"""Settings that change nothing without pages."""
_RECORDING = frozenset(option.name for option in OPTIONS if option.stage == "recording")
_SVG, _MERMAID = file_type("svg"), file_type("mmd")
_FORMS: Mapping[str, frozenset[str]] = {
    "picture": _SVG.heeds | {"alt", "align", "height", "scale"},
    "mermaid": _MERMAID.heeds,
    "table": _SVG.heeds - {"width"},
}
"""What can stand between comments, with the options that change it."""


@dataclass(frozen=True, slots=True, eq=False)
class FilePart:
    """A file, or what stands between two comments of one, with what is asked for there."""

    place: str
    """Where that is written: `README.md:12`."""
    file: str
    """Its path from the folder of the project."""
    kind: FileType | str
    """Type of the file, or `picture`, `mermaid` or `table`."""
    asks: tuple[Any, ...]
    """What is asked for, as it is written, with all that holds for it."""
    request: DiagramRequest | None = None
    models: tuple[ListedModel, ...] = ()
    """Of a table: a model or a pattern in each row."""
    columns: tuple[str, ...] = ()
    block: Block | None = None
    dark: bool = False
    links: tuple[str, ...] = ()
    """Files of the picture, a light and a dark one; of a table, the folder of pictures."""

    @property
    def requests(self) -> tuple[DiagramRequest, ...]:
        """All that has to be drawn for it: of a table a diagram for each row, which is to be no pattern any more."""
        if self.request is None:
            return tuple(row.body.request() for row in self.models)
        return tuple(requests_for_print(self.request) if self.block is None else [self.request])


@dataclass(slots=True)
class Project:
    root: Path
    settings: Settings
    parts: list[FilePart] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    """Of the Markdown files with comments, as they were read."""


def read_project(start: Path) -> Project:
    """Project of a folder, or of one above it.

    Raises:
        OptionError: With every problem of its files.
    """
    here = start.absolute()
    root = next((folder for folder in (here, *here.parents) if (folder / CONFIGURATION).is_file()), None)
    if root is None:
        advice = "name a documentation, as in `torchrecorder update docs`"
        raise OptionError((f"there is no {CONFIGURATION} in {start} or above: {advice}",))
    reader = _ProjectReader(root)
    reader.read()
    if reader.problems:
        raise OptionError(tuple(dict.fromkeys(reader.problems)))
    return reader.project


class _ProjectReader:
    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._root, self._real = root, os.path.realpath(root)
        self._lines: list[str] = []
        self._by_file: dict[str, FilePart] = {}
        self.project = Project(root, Settings(project=root))

    def read(self) -> None:
        written = self._written()
        if self.problems:
            return
        pictures, markdown = written.pop("pictures", {}), written.pop("markdown", _MARKDOWN)
        self.project.settings = self._settings(written)
        if isinstance(pictures, dict):
            for name, entry in pictures.items():
                self._entry(name, entry, self._at(name))
        else:
            self._say(self._at("pictures"), 'pictures holds files: "docs/net.svg" = { target = "pkg.Net" }')
        for file in self._markdown(markdown):
            self._read_comments(file)
        if not self.project.parts and not self.problems:
            self._say(
                CONFIGURATION,
                "no picture is asked for: write one under [tool.torchrecorder.pictures], or a comment"
                " `<!-- torchrecorder: pkg.Net -->` into README.md, or name a documentation: torchrecorder check docs",
            )

    def _say(self, place: str, problem: str) -> None:
        self.problems.append(f"{place}: {problem}")

    def _written(self) -> dict[str, Any]:
        """What stands under `tool.torchrecorder`."""
        try:
            text = (self._root / CONFIGURATION).read_bytes().decode("utf-8")
            self._lines = text.splitlines()
            written = tomllib.loads(text).get("tool", {}).get("torchrecorder", {})
        except (OSError, ValueError) as error:  # also TOMLDecodeError, which says the line
            self._say(CONFIGURATION, f"it cannot be read: {error}")
            return {}
        if not isinstance(written, dict):
            self._say(self._at("torchrecorder"), "tool.torchrecorder is a table of settings")
            return {}
        return written

    def _at(self, name: str) -> str:
        """The line of a key, which the parser of TOML does not give."""
        key = re.compile(rf"(?:^|[\s\[{{,.])[\"']?{re.escape(name)}[\"']?\s*[]=]")
        line = next((number for number, line in enumerate(self._lines, 1) if key.search(line)), 0)
        return f"{CONFIGURATION}:{line}" if line else CONFIGURATION

    def _settings(self, written: dict[str, Any]) -> Settings:
        path = [folder for folder in (".", "src") if (self._root / folder).is_dir()]
        settings, wrong = read_settings(self._root, {"path": path, **written, "cache": written.get("cache") or FOLDER})
        wrong |= {name: ("it changes nothing without pages",) for name in _OF_PAGES if name in written}
        for name, problems in wrong.items():
            for problem in problems:
                near = near_miss(name, _OWN) if problem.startswith("there is no such") else ""
                self._say(self._at(name), f"{name}: {f'did you mean {near}?' if near else problem}")
        return settings

    def _file(self, name: str, place: str) -> str:
        """Path of a file from the project's folder; empty if it must not be written."""
        path = os.path.normpath(os.path.join(self._real, name))
        inside = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if not name.strip() or "\0" in name:
            self._say(place, f"{name!r} is not the name of a file")
        elif not os.path.realpath(inside).startswith(self._real + os.sep):
            self._say(place, f"{name} lies outside of the project {self._root.name}; write a path within it")
        elif os.path.isdir(path):
            self._say(place, f"{name} is a folder; write the name of a file in it")
        else:
            return os.path.relpath(path, self._real).replace(os.sep, "/")
        return ""

    def _add(self, part: FilePart) -> None:
        other = None if part.block is not None else self._by_file.setdefault(part.file, part)
        if other is not None and other is not part:
            if other.asks != part.asks:
                advice = "write another name for one, in a comment as file=NAME.svg"
                self._say(part.place, f"{part.file} is written by {other.place}, too; {advice}")
            return
        self.project.parts.append(part)

    def _entry(self, name: str, entry: object, place: str) -> None:
        file = self._file(name, place)
        if not isinstance(entry, dict):
            self._say(place, f'{name}: write what is drawn: "{name}" = {{ target = "pkg.Net" }}')
            return
        listed = entry.get("table")
        written = {key: as_text(value) for key, value in entry.items() if key != "table"}
        target, dark = written.pop("target", ""), written.pop("dark", "")
        if not file:
            return
        if bool(target) == (listed is not None):
            near = next((f"; did you mean {it}, not {key}?" for key in written if (it := near_miss(key, _TARGET))), "")
            self._say(place, f'{name}: name one model, target = "pkg.Net", or write table = "pkg.models.*"{near}')
        elif listed is not None:
            if not file.endswith((".md", REST)):
                self._say(
                    place,
                    f"{name}: a table is Markdown, or reStructuredText; write a name that ends with .md or {REST}",
                )
            self._table(file, listed if isinstance(listed, list) else [str(listed)], written, place)
        else:
            self._drawn(file, target, written, dark, place)

    def _drawn(self, file: str, target: str, written: Mapping[str, str], dark: str, place: str) -> None:
        """A file that is a picture, and a dark one beside it if that is asked for."""
        try:
            kind = type_of(Path(file))
            kind.require()
        except OptionError as error:
            self._say(place, " ".join(error.problems))
            return
        if dark and kind.name != "svg":
            self._say(place, f"dark: a dark picture is an .svg, and {file} is not")
        if (request := self._request(target, written, kind.heeds, kind, place, _TARGET)) is None:
            return
        asks = (target, self._asked(written, kind.heeds))
        self._add(FilePart(place, file, kind, asks, request))
        if dark and (beside := self._file(dark, place)):
            if not beside.endswith(".svg"):
                self._say(place, f"dark: {dark} must end with .svg")
            self._add(FilePart(place, beside, kind, (*asks, "dark"), request, dark=True))

    def _asked(self, written: Mapping[str, str | None], heeds: Iterable[str]) -> dict[str, str | None]:
        """Options that hold: those of the site that mean something here, and those that are written."""
        site = {name: text for name, text in self.project.settings.options.items() if name in {*heeds, *_RECORDING}}
        return {**site, **written}

    def _request(
        self,
        target: str,
        written: Mapping[str, str | None],
        heeds: frozenset[str],
        kind: FileType,
        place: str,
        own: Iterable[str],
    ) -> DiagramRequest | None:
        """Request of a picture that is drawn as a type of file; None, with all problems, if something is wrong."""
        known = {option.name for option in OPTIONS}
        before, asked = len(self.problems), self._asked(written, heeds)
        for name in written:
            near = "" if name in own or name in known else near_miss(name, own)
            if name in own or near:
                del asked[name]
                if near:
                    self._say(place, f"unknown option {name!r}, did you mean {near!r}?")
            elif name in known and name not in heeds and name not in _RECORDING:
                self._say(place, f"{name} changes nothing in {kind.name if heeds is kind.heeds else 'Markdown'}")
        request: DiagramRequest | None = None
        try:
            request = Body("pkg.Net" if is_pattern(target) else target, asked).request()
        except OptionError as error:
            problems: tuple[str, ...] = error.problems
        else:
            plain = request if heeds is kind.heeds else replace(request, figure=FigureOptions())
            problems = (*request.left_out, *why_no_file(plain, kind))
        for problem in problems:
            self._say(place, problem)
        return request if before == len(self.problems) else None

    def _table(
        self, file: str, lines: Iterable[str], written: Mapping[str, str | None], place: str, block: Block | None = None
    ) -> None:
        """A table of models: a model or a pattern in each line, with options of its own."""
        rest = dict(written)
        columns, folder = rest.pop("columns", None), rest.pop("pictures", None)
        usual = (name for name in USUAL_COLUMNS if name != "picture" or folder)
        listed = ModelList.of(Body("", {"columns": columns or ",".join(usual)}, legend=tuple(lines)))
        rows: list[ListedModel] = []
        for row in listed.models:
            if row.body.fault:
                self._say(place, row.body.fault)
                continue
            options = {**rest, **row.body.options}
            for problem in row.body.problems:
                self._say(place, problem)
            if self._request(row.body.target, options, _FORMS["table"], _SVG, place, ("columns", "pictures")):
                options = self._asked(options, _FORMS["table"])
                rows.append(replace(row, body=replace(row.body, options=options)))
        pictures = folder or (f"{os.path.dirname(file)}/{FOLDER}".lstrip("/") if "picture" in listed.columns else "")
        links = (self._file(f"{pictures}/x", place).removesuffix("/x"),) if pictures else ()
        asks = ([(row.body.target, row.body.options, row.title, row.tags) for row in rows], listed.columns, links)
        self._add(FilePart(place, file, "table", asks, None, tuple(rows), listed.columns, block, links=links))

    def _markdown(self, patterns: object) -> list[Path]:
        if not isinstance(patterns, list) or not all(isinstance(each, str) and each for each in patterns):
            self._say(self._at("markdown"), 'markdown is a list of files or patterns: ["README.md", "docs/*.md"]')
            return []
        files: dict[Path, None] = {}
        for pattern in patterns:
            if os.path.isabs(pattern) or ".." in Path(pattern).parts:
                self._say(self._at("markdown"), f"{pattern} lies outside of the project")
                continue
            matching = sorted(file for file in self._root.glob(pattern) if file.is_file())
            if not matching and patterns is not _MARKDOWN:
                self._say(self._at("markdown"), f"no file matches {pattern}")
            files |= dict.fromkeys(matching)
        return [*files]

    def _read_comments(self, path: Path) -> None:
        file = path.relative_to(self._root).as_posix()
        try:
            data = path.read_bytes()
        except OSError as error:
            self._say(file, f"it cannot be read: {error.strerror or error}")
            return
        found, problems = blocks(data, path.suffix)
        if found and not self._file(file, file):  # a link that leads out of the project
            return
        if found and (other := self._by_file.get(file)):
            self._say(f"{file}:{found[0].line}", f"{other.place} has all of {file} written; leave out one of them")
            return
        for line, problem in problems:
            self._say(f"{file}:{line}", problem)
        if found:
            self.project.contents[file] = data
        for block in found:
            self._commented(file, block, f"{file}:{block.line}")

    def _commented(self, file: str, block: Block, place: str) -> None:
        body, lines = read_header(block.said), list[str]()
        head, *rows = block.said.splitlines() or [""]
        if rows and not read_header(head).target:  # models stand below the options of a list
            body, lines = read_header(head), rows
        options = dict(body.options)
        for problem in body.problems:
            self._say(place, problem)
        is_list = is_pattern(body.target) or bool(lines)
        form = options.pop("as", None) or ("table" if is_list else "picture")
        if form not in _FORMS:
            self._say(place, f"as: {form!r} is none of {', '.join(_FORMS)}{did_you_mean(form, _FORMS, lead='; ')}")
        elif form == "table":
            self._table(file, [line for line in lines if line.strip()] or [body.target], options, place, block)
        elif is_list:
            self._say(place, f"several models are a table; leave out as={form}")
        elif form == "mermaid" and file.endswith(REST):
            self._say(place, "no forge draws Mermaid in reStructuredText; leave out as=mermaid")
        elif form == "mermaid":
            if request := self._request(body.target, options, _MERMAID.heeds, _MERMAID, place, ()):
                asks = (body.target, self._asked(options, _MERMAID.heeds))
                self._add(FilePart(place, file, form, asks, request, block=block))
        else:
            self._picture(file, body.target, options, place, block)

    def _picture(self, file: str, target: str, options: dict[str, str | None], place: str, block: Block) -> None:
        """A picture between comments, and the files that it shows."""
        own = ("as", "file", "dark")
        if (request := self._request(target, options, _FORMS["picture"], _SVG, place, own)) is None:
            return
        light = options.get("file") or f"{os.path.dirname(file)}/{FOLDER}/{file_name(target)}.svg".lstrip("/")
        is_rest = file.endswith(REST)
        dark = options.get("dark") or ("no" if is_rest else f"{light.removesuffix('.svg')}-dark.svg")
        names = [light] if dark.lower() in ("no", "false") else [light, dark]
        if is_rest and len(names) > 1:
            self._say(place, "an image of reStructuredText has no dark file beside it; leave out dark")
        asks = (target, self._asked(options, _FORMS["picture"]))
        files = [self._file(name, place) for name in names]
        drawn = {name: text for name, text in asks[1].items() if name in _SVG.heeds | _RECORDING}
        # The width of a page is that of the picture in it; in a file of its own it would be one of print.
        plain = replace(request, figure=FigureOptions())
        for name, is_dark in zip(files, (False, True), strict=False):
            if name and not name.endswith(".svg"):
                self._say(place, f"{name} cannot be shown here; write a name that ends with .svg")
            elif name:
                asked = ("shown", target, drawn, *(("dark",) if is_dark else ()))
                self._add(FilePart(place, name, _SVG, asked, plain, dark=is_dark))
        self._add(FilePart(place, file, "picture", (*asks, files), request, block=block, links=tuple(files)))
