"""Text of pages and of models that tries to run commands, or to bring a script into a page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

COMMANDS = (
    "os.system('touch {}')",
    "subprocess.run(['touch', '{}'])",
    "subprocess.Popen(['touch', '{}'])",
    "subprocess.check_output(['touch', '{}'])",
    "builtins.exec(\"open('{}', 'w')\")",
    "builtins.eval(\"open('{}', 'w')\")",
    "builtins.open('{}', 'w')",
    "pathlib.Path.touch('{}')",
    "os.mkdir('{}')",
    "shutil.copy('/etc/hostname', '{}')",
    "runpy.run_path('{}.py')",
    "pty.spawn(['touch', '{}'])",
    "torch.os.system('touch {}')",
    "torch.save(1, '{}')",
    "torch.utils.cpp_extension.subprocess.run(['touch', '{}'])",
    "soak_texts.os.system('touch {}')",
    "soak_texts.alias('touch {}')",
    "soak_texts.Net(os.system('touch {}'))",
    "soak_texts.Net.__init__.__globals__['os'].system('touch {}')",
    "__import__('os').system('touch {}')",
)
"""As a target, a value of `inputs`, and a `styler`; `{}` is a file that must not appear."""

TEXTS = (
    "<script>soak()</script>",
    '"><img src=x onerror=soak()>',
    "' onload='soak()",
    "</title></svg><script>soak()</script>",
    "javascript:soak()",
    "<svg/onload=soak()>",
    "]]><script>soak()</script>",
    "&lt;script&gt;soak()&lt;/script&gt;",
    "<style>*{display:none}/*soak*/</style>",
    "<iframe src='javascript:soak()'></iframe>",
)
OPTIONS = ("caption", "alt", "name", "class", "width", "align", "shape", "link")
MODEL = '''import os
import torch
from torch import nn
alias = os.system

class Net(nn.Module):
    """TEXT"""
    def __init__(self):
        super().__init__()
        self.add_module(TEXT.replace(".", ""), nn.ReLU())
        self.add_module("act", type(TEXT, (nn.ReLU,), {"extra_repr": lambda self: TEXT})())
    def forward(self, x):
        return self.act([*self.children()][0](x))

class Fails(Net):
    def forward(self, x):
        raise ValueError(TEXT)
'''


def requests(file: Path) -> list[tuple[str, dict[str, str]]]:
    """Targets with their options: each is one injection."""
    commands = [command.format(file) for command in COMMANDS]
    found: list[tuple[str, dict[str, str]]] = [(command, {}) for command in commands]
    for option in ("inputs", "styler"):
        found += [("soak_texts.Net", {"shape": "1,3", option: command}) for command in commands]
    for option in OPTIONS:
        found += [("soak_models0.Net", {"shape": "1,3", option: text}) for text in TEXTS]
    for number in range(len(TEXTS)):
        found += [(f"soak_models{number}.{name}", {"shape": "1,3"}) for name in ("Net", "Fails")]
    return found


def write_texts(folder: Path) -> None:
    """Write the models whose names and words are texts of that kind."""
    (folder / "soak_texts.py").write_text(MODEL.replace("TEXT", '"x"').replace('""""x""""', ""))
    for number, text in enumerate(TEXTS):
        code = MODEL.replace('"""TEXT"""', f"__doc__ = {text!r}").replace("TEXT", repr(text))
        (folder / f"soak_models{number}.py").write_text(code)


LINKS = ("href", "xlink:href", "src", "action", "formaction", "data")


class Scripts(HTMLParser):
    """What of ours would run in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        for name, value in attrs:
            is_link = name in LINKS and (value or "").strip().lower().startswith("javascript:")
            if "soak(" in (value or "") and (name.startswith("on") or is_link):
                self.found.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in ("script", "style") and "soak" in data:
            self.found.append(f"{self._tag}: {data[:100]}")
