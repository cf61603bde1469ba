"""Edits that are easily overlooked. After each the model is really recorded again, and the build must show the same."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.core.trace.freshness.cases import HERE, Case, Files, package, plain, replace, write
from tests.models.one_layer import net


def crlf(project: Any) -> None:
    for file in (project.root / "src").rglob("*.py"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))


def set_width(project: Any) -> None:
    os.environ["PKG_WIDTH"] = "7"


def shadow(project: Any) -> None:
    project.write({"src/pkg/util/__init__.py": "def width(): return 9\n"})


CASES = {
    "own method body": Case(plain(net()), replace("__init__.py", "3, 4", "3, 5"), "pkg/__init__.py: Net.__init__"),
    "base class elsewhere": Case(
        package("from pkg.base import Base\nclass Net(Base): pass\n", base=net().replace("Net", "Base")),
        replace("base.py", "self.fc(x)", "self.fc(x).relu()"),
        "pkg/base.py: Base.forward changed",
    ),
    "imported helper": Case(
        package(net("width()", "from pkg.util import width"), util="def width(): return 4\n"),
        replace("util.py", "4", "6"),
        "pkg/util.py: width changed",
    ),
    "module constant": Case(
        package(net("util.WIDTH", "from pkg import util"), util="WIDTH = 4\n"),
        replace("util.py", "4", "6"),
        "pkg/util.py changed outside its functions",
    ),
    "conditional def": Case(
        package(
            net("width()", "from pkg.util import width"),
            util="FLAG = True\nif FLAG:\n    def width(): return 4\nelse:\n    def width(): return 6\n",
        ),
        replace("util.py", "True", "False"),
        "pkg/util.py changed",
    ),
    "comment and docstring": Case(
        plain(net()),
        replace(
            "__init__.py", "    def forward(self, x):", '    # why\n\n    def forward(self, x):\n        """Text."""'
        ),
        "",
    ),
    "CRLF checkout": Case(plain(net()), crlf, ""),
    "never-called method": Case(
        plain(net(more="    def spare(self):\n        return 1\n")),
        replace("__init__.py", "return 1", "return 2"),
        "",
    ),
    "other class in the file": Case(
        plain(net(more="\nclass Other(nn.Module):\n    def forward(self, x):\n        return x\n")),
        replace("__init__.py", "return x\n", "return x + 1\n"),
        "",
    ),
    "new unrelated function": Case(
        plain(net()),
        replace("__init__.py", "class Net", "def spare():\n    return 1\n\nclass Net"),
        "pkg/__init__.py changed",
    ),
    "re-export retargeted": Case(
        package("from pkg.a import Net\n", a=net(), b=net("8")),
        replace("__init__.py", "pkg.a", "pkg.b"),
        "pkg/__init__.py changed",
    ),
    "yaml read at construction": Case(
        {
            **plain(net("int((HERE / 'net.yaml').read_text().split(':')[1])", HERE)),
            "src/pkg/net.yaml": "width: 4",
        },
        write(net_yaml="width: 6"),
        "pkg/net.yaml changed",
    ),
    "json at import": Case(
        {
            **plain(net("CONFIG['width']", f"import json\n{HERE}\nCONFIG = json.load(open(HERE / 'net.json'))")),
            "src/pkg/net.json": json.dumps({"width": 4}),
        },
        write(net_json=json.dumps({"width": 6})),
        "pkg/net.json changed",
    ),
    "pickle data": Case(
        {
            **plain(net("pickle.load(open(HERE / 'net.pkl', 'rb'))['width']", f"import pickle\n{HERE}")),
            "src/pkg/net.pkl": pickle.dumps({"width": 4}),
        },
        write(net_pkl=pickle.dumps({"width": 6})),
        "pkg/net.pkl changed",
    ),
    "package data": Case(
        {
            **plain(net("int(pkgutil.get_data('pkg', 'width.txt'))", "import pkgutil")),
            "src/pkg/width.txt": "4",
        },
        write(width_txt="6"),
        "pkg/width.txt changed",
    ),
    "optional config appears": Case(
        plain(net("int(FILE.read_text()) if FILE.exists() else 4", f"{HERE}\nFILE = HERE / 'width.txt'")),
        write(width_txt="6"),
        "pkg/width.txt appeared",
    ),
    "environment variable": Case(
        plain(net("int(os.environ.get('PKG_WIDTH', '4'))", "import os")), set_width, "$PKG_WIDTH appeared"
    ),
    "registry by string": Case(
        package(
            net("REGISTRY['wide']()", "from pkg.registry import REGISTRY\nimport pkg.widths"),
            registry="REGISTRY = {}\ndef register(f):\n    REGISTRY[f.__name__] = f\n    return f\n",
            widths="from pkg.registry import register\n\n@register\ndef wide(): return 4\n",
        ),
        replace("widths.py", "4", "6"),
        "pkg/widths.py: wide changed",
    ),
    "plug-in found by listdir": Case(
        {
            **package(
                net(
                    "sum(WIDTHS)",
                    f"import importlib, os\n{HERE}\n"
                    "WIDTHS = [importlib.import_module(f'pkg.plugins.{n[:-3]}').WIDTH"
                    " for n in sorted(os.listdir(HERE / 'plugins')) if n.endswith('.py')]",
                ),
                plugins__a="WIDTH = 4\n",
            )
        },
        write(plugins__b_py="WIDTH = 2\n"),
        "the list of files in pkg/plugins/ changed",
    ),
    "import by computed name": Case(
        package(
            net("importlib.import_module('pkg.' + 'ut' + 'il').width()", "import importlib"),
            util="def width(): return 4\n",
        ),
        replace("util.py", "4", "6"),
        "pkg/util.py: width changed",
    ),
    "lazy __getattr__": Case(
        package(
            "def __getattr__(name):\n    import importlib\n    if name.startswith('_'): raise AttributeError(name)\n"
            "    return getattr(importlib.import_module('pkg.nets'), name)\n",
            nets=net(),
        ),
        replace("nets.py", "3, 4", "3, 5"),
        "pkg/nets.py: Net.__init__ changed",
    ),
    "star import with __all__": Case(
        package(
            net("width()", "from pkg.a import *\nfrom pkg.b import *"),
            a="__all__ = ['width']\ndef width(): return 4\n",
            b="__all__ = []\ndef width(): return 6\n",
        ),
        replace("b.py", "[]", "['width']"),
        "pkg/b.py changed",
    ),
    "monkey-patch by a module nobody references": Case(
        package(
            net("util.width()", "from pkg import util, patch"),
            util="def width(): return 4\n",
            patch="from pkg import util\nutil.width = lambda: 5\n",
        ),
        replace("patch.py", "5", "6"),
        "pkg/patch.py changed",
    ),
    "exec of a template": Case(
        {
            **plain(net("WIDTH", f"{HERE}\nexec((HERE / 'width.tpl').read_text())")),
            "src/pkg/width.tpl": "WIDTH = 4",
        },
        write(width_tpl="WIDTH = 6"),
        "pkg/width.tpl changed",
    ),
    "module shadowed by a new package": Case(
        package(net("width()", "from pkg.util import width"), util="def width(): return 4\n"),
        shadow,
        "pkg/util/__init__.py: width changed",
    ),
    "optional import becomes available": Case(
        plain(net("WIDTH", "try:\n    from pkg.fast import WIDTH\nexcept ImportError:\n    WIDTH = 4")),
        write(fast_py="WIDTH = 6\n"),
        "pkg.fast can be imported now",
    ),
    "inspect.getsource": Case(
        plain(net("inspect.getsource(spare).count('1') + 3", "import inspect\ndef spare():\n    return 1  # 0\n")),
        replace("__init__.py", "# 0", "# 1"),
        "pkg/__init__.py changed",
    ),
    "decorator via __import__": Case(
        package(
            net().replace("    def forward", "    @__import__('pkg.' + 'deco', fromlist=['x']).twice\n    def forward"),
            deco="def twice(f):\n    def g(self, x):\n        return f(self, x)\n    return g\n",
        ),
        replace("deco.py", "return f(self, x)", "return f(self, x).relu()"),
        "pkg/deco.py: twice.<locals>.g changed",
    ),
    "unrelated module imported by __init__": Case(
        package("from pkg import spare\n" + net(), spare="def unused():\n    return 1\n"),
        replace("spare.py", "1", "2"),
        "",
    ),
    "new module imported by __init__": Case(
        package(net(), spare="X = 1\n"),
        replace("__init__.py", "from torch import nn", "from torch import nn\nfrom pkg import spare"),
        "pkg/__init__.py changed",
    ),
}
NEEDLESS = {"new module imported by __init__", "new unrelated function"}
"""Recorded again although the picture stays, because code at the top of a module may do anything."""


@pytest.mark.parametrize("name", CASES)
def test_the_build_shows_what_a_new_recording_shows(
    name: str, make_project: Callable[[Files], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKG_WIDTH", "")
    monkeypatch.delenv("PKG_WIDTH")
    case, project = CASES[name], make_project(CASES[name].files)
    before, _ = project.draw()
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"
    case.edit(project)
    finding = project.finding()
    after, recorded = project.draw()
    truth = project.truth()
    assert after.svg == truth.svg, "stale"
    assert case.reason in str(finding)
    changed = before.svg != truth.svg
    assert recorded == (changed or name in NEEDLESS), f"{finding} (changed: {changed})"
    assert bool(case.reason) == bool(recorded)
