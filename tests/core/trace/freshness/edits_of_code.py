"""Edits of a project's code that change the picture."""

from __future__ import annotations

import io
import zipfile

from tests.core.trace.freshness.cases import HERE, Case, installed, package, plain, put, remove, replace
from tests.models.one_layer import net


def helped(util: str, old: str, new: str, width: str = "util.width()", imports: str = "") -> Case:
    """A width that another module works out, and an edit of that."""
    return Case(package(net(width, f"from pkg import util\n{imports}"), util=util), replace("util.py", old, new))


def own(old: str, new: str, imports: str = "", width: str = "4", more: str = "") -> Case:
    """An edit of the module of the model."""
    return Case(plain(net(width, imports, more)), replace("__init__.py", old, new))


def zipped(width: int) -> bytes:
    """An archive with a module; always of one date."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("zipped_net.py"), f"WIDTH = {width}\n")
    return content.getvalue()


COUNT = "len(list(pkgutil.iter_modules([str(HERE / 'parts')]))) + 3"
FORWARD = "return self.fc(x)"

VALUES = {
    "default of a dataclass": helped(
        "from dataclasses import dataclass\n@dataclass\nclass Config:\n    width: int = 4\n",
        "= 4",
        "= 6",
        "util.Config().width",
    ),
    "default of a dataclass that is inherited": helped(
        "from dataclasses import dataclass\n@dataclass\nclass Base:\n    width: int = 4\n"
        "@dataclass\nclass Config(Base):\n    depth: int = 2\n",
        "= 4",
        "= 6",
        "util.Config(depth=3).width",
    ),
    "field of a dataclass with a factory": helped(
        "from dataclasses import dataclass, field\n@dataclass\nclass Config:\n"
        "    widths: list = field(default_factory=lambda: [4])\n",
        "[4]",
        "[6]",
        "util.Config().widths[0]",
    ),
    "value of an enum": helped(
        "import enum\nclass Size(enum.IntEnum):\n    SMALL = 4\n", "= 4", "= 6", "util.Size.SMALL"
    ),
    "default of a named tuple": helped(
        "from typing import NamedTuple\nclass Config(NamedTuple):\n    width: int = 4\n",
        "= 4",
        "= 6",
        "util.Config().width",
    ),
    "attribute of a class": helped("class Config:\n    width = 4\n", "= 4", "= 6", "util.Config.width"),
    "property": helped(
        "class Config:\n    @property\n    def width(self):\n        return 4\n", "4", "6", "util.Config().width"
    ),
    "descriptor": helped(
        "class Width:\n    def __get__(self, owner, cls=None):\n        return 4\nclass Config:\n    width = Width()\n",
        "4",
        "6",
        "util.Config().width",
    ),
    "dictionary with a default": helped(
        "class Config(dict):\n    def __missing__(self, name):\n        return 4\n", "4", "6", "util.Config()['width']"
    ),
    "operator of a class": helped(
        "class Size(int):\n    def __add__(self, other):\n        return 4\n", "4", "6", "util.Size() + 1"
    ),
    "text that is evaluated": helped("def width():\n    return eval('4 + 0')\n", "4 + 0", "4 + 2"),
    "constant of a star import": Case(
        package(net("WIDTH", "from pkg.util import *"), util="WIDTH = 4\n"), replace("util.py", "4", "6")
    ),
    "constant in a module of constants only": Case(
        package(net("C.NET.WIDTH", "import pkg.conf as C"), conf="class NET:\n    WIDTH = 4\n    DEPTH = 3\n"),
        replace("conf.py", "4", "6"),
    ),
    "default of an argument": helped("def width(size=4):\n    return size\n", "size=4", "size=6"),
    "keyword default": helped("def width(*, size=4):\n    return size\n", "size=4", "size=6"),
}
FUNCTIONS = {
    "partial function": helped(
        "import functools\ndef make(a, b): return a + b\nwidth = functools.partial(make, 2, 2)\n", "2, 2", "2, 4"
    ),
    "cached function": helped("import functools\n@functools.lru_cache\ndef width(): return 4\n", "4", "6"),
    "function of a dispatch": helped(
        "import functools\n@functools.singledispatch\ndef size(x): return 2\n@size.register\ndef _(x: int): return 4\n"
        "def width(): return size(1)\n",
        "return 4",
        "return 6",
    ),
    "generator": helped(
        "def sizes():\n    yield 4\n    yield 6\ndef width(): return next(sizes())\n", "yield 4", "yield 5"
    ),
    "context manager": helped(
        "import contextlib\n@contextlib.contextmanager\ndef sized():\n    yield 4\n"
        "def width():\n    with sized() as size: return size\n",
        "yield 4",
        "yield 6",
    ),
    "closure": helped(
        "def maker():\n    size = 4\n    def width(): return size\n    return width\nwidth = maker()\n", "= 4", "= 6"
    ),
    "lambda in a dictionary": helped("SIZES = {'s': lambda: 4}\n", "4", "6", "util.SIZES['s']()"),
    "decorator with an argument": helped(
        "def sized(n):\n    def inner(f): return lambda: f() + n\n    return inner\n@sized(0)\ndef width(): return 4\n",
        "sized(0)",
        "sized(2)",
    ),
    "decorator of a class": helped(
        "def sized(cls):\n    cls.width = 4\n    return cls\n@sized\nclass Config: pass\n",
        "= 4",
        "= 6",
        "util.Config.width",
    ),
    "metaclass": helped(
        "class Meta(type):\n    def __new__(m, name, bases, names):\n"
        "        return super().__new__(m, name, bases, {**names, 'width': 4})\nclass Config(metaclass=Meta): pass\n",
        "4",
        "6",
        "util.Config.width",
    ),
    "keyword of a subclass": helped(
        "class Base:\n    def __init_subclass__(cls, size): cls.width = size\nclass Config(Base, size=4): pass\n",
        "=4",
        "=6",
        "util.Config.width",
    ),
    "case of a match": helped(
        "def width(kind='s'):\n    match kind:\n        case 's': return 4\n        case _: return 6\n",
        "'s': return 4",
        "'s': return 5",
    ),
    "coroutine": helped(
        "import asyncio\nasync def size(): return 4\ndef width(): return asyncio.run(size())\n", "return 4", "return 6"
    ),
    "thread": helped(
        "import threading\ndef work(out): out.append(4)\ndef width():\n    out = []\n"
        "    thread = threading.Thread(target=work, args=(out,))\n    thread.start()\n"
        "    thread.join()\n    return out[0]\n",
        "(4)",
        "(6)",
    ),
    "method by a computed name": helped(
        "class Config:\n    def size_s(self): return 4\ndef width(): return getattr(Config(), 'size_' + 's')()\n",
        "4",
        "6",
    ),
    "hook by name that appears": helped(
        "class Config:\n    pass\ndef width(): return 6 if hasattr(Config, 'setup') else 4\n",
        "pass",
        "def setup(self): pass",
    ),
    "condition on the version of Python": helped(
        "import sys\nwidth = (lambda: 4) if sys.version_info >= (3, 4) else (lambda: 6)\n", "(3, 4)", "(9, 4)"
    ),
}
MODELS = {
    "layer more": own("self.fc = ", "self.bn = nn.BatchNorm1d(3); self.fc = "),
    "layer of another name": own("self.fc", "self.head"),
    "residual": own(FORWARD, "return self.fc(x).relu() + self.fc(x)"),
    "operation": own(FORWARD, "return torch.tanh(self.fc(x))"),
    "condition turned": own("if 0", "if 1", width="4 if 0 else 6"),
    "order of base classes": own(
        "Mixed(A, B)",
        "Mixed(B, A)",
        "class A:\n    width = 4\nclass B:\n    width = 6\nclass Mixed(A, B): pass",
        "Mixed.width",
    ),
    "activation by name": Case(
        plain(net("4", "ACTS = {'act': nn.ReLU}").replace("return self.fc(x)", "return ACTS['act']()(self.fc(x))")),
        replace("__init__.py", "nn.ReLU", "nn.GELU"),
    ),
    "number of blocks": Case(
        plain(
            net("3", "DEPTH = 2").replace("nn.Linear(3, 3)", "nn.Sequential(*[nn.Linear(3, 3) for _ in range(DEPTH)])")
        ),
        replace("__init__.py", "DEPTH = 2", "DEPTH = 3"),
    ),
    "forward hook": Case(
        plain(
            net("4", "def hook(module, given, out): return out + 1").replace(
                "nn.Linear(3, 4)", "nn.Linear(3, 4)\n        self.fc.register_forward_hook(hook)"
            )
        ),
        replace("__init__.py", "out + 1", "out * 2"),
    ),
    "buffer": Case(
        plain(net("3").replace(FORWARD, "return self.fc(x + getattr(self, 'b', 0))")),
        replace(
            "__init__.py", "super().__init__()", "super().__init__()\n        self.register_buffer('b', torch.ones(3))"
        ),
    ),
    "loop": Case(
        plain(net("3", "STEPS = 1").replace(FORWARD, "for _ in range(STEPS): x = self.fc(x)\n        return x")),
        replace("__init__.py", "STEPS = 1", "STEPS = 2"),
    ),
    "model moved to another module": Case(
        package("from pkg.a import Net\n", a=net(), b=net("9")), put({"src/pkg/a.py": "from pkg.b import Net\n"})
    ),
}
IMPORTS: dict[str, Case] = {
    "relative import": Case(
        package(net("width()", "from .a import width"), a="def width(): return 4\n", b="def width(): return 6\n"),
        replace("__init__.py", ".a", ".b"),
    ),
    "value set from outside": Case(
        package(
            net("conf.WIDTH", "from pkg import conf, setup"),
            conf="WIDTH = 1\n",
            setup="from pkg import conf\nconf.WIDTH = 4\n",
        ),
        replace("setup.py", "4", "6"),
    ),
    "module of a package that appears": Case(
        package(net(COUNT, f"import pkgutil\n{HERE}"), parts__a=""), put({"src/pkg/parts/b.py": ""})
    ),
    "module that is removed": Case(
        package(
            net("WIDTH", "try:\n    from pkg.fast import WIDTH\nexcept ImportError:\n    WIDTH = 4"), fast="WIDTH = 6\n"
        ),
        remove("src/pkg/fast.py"),
    ),
    "file loaded as a module": Case(
        {
            **plain(
                net(
                    "mod.WIDTH",
                    f"import importlib.util\n{HERE}\n"
                    "spec = importlib.util.spec_from_file_location('m', HERE / 'conf.py')\n"
                    "mod = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(mod)",
                )
            ),
            "src/pkg/conf.py": "WIDTH = 4\n",
        },
        replace("conf.py", "4", "6"),
    ),
    "script that is run": Case(
        {
            **plain(net("W", f"import runpy\n{HERE}\nW = runpy.run_path(str(HERE / 'script.py'))['WIDTH']")),
            "src/pkg/script.py": "WIDTH = 4\n",
        },
        replace("script.py", "4", "6"),
    ),
    "file compiled by hand": Case(
        {
            **plain(net("WIDTH", f"{HERE}\nexec(compile((HERE / 'conf.py').read_bytes(), 'conf.py', 'exec'))")),
            "src/pkg/conf.py": "WIDTH = 4\n",
        },
        replace("conf.py", "4", "6"),
    ),
    "archive on the path": Case(
        {
            **plain(
                net("WIDTH", f"import sys\n{HERE}\nsys.path.append(str(HERE / 'a.zip'))\nfrom zipped_net import WIDTH")
            ),
            "src/pkg/a.zip": zipped(4),
        },
        put({"src/pkg/a.zip": zipped(6)}),
    ),
    "folder put on the path": Case(
        {
            **plain(
                net(
                    "WIDTH", f"import sys\n{HERE}\nsys.path.insert(0, str(HERE / 'vendor'))\nfrom vendored import WIDTH"
                )
            ),
            "src/pkg/vendor/vendored.py": "WIDTH = 4\n",
        },
        replace("vendor/vendored.py", "4", "6"),
    ),
    "package without __init__": Case(
        {**plain(net("WIDTH", "from spaces.conf import WIDTH")), "src/spaces/conf.py": "WIDTH = 4\n"},
        put({"src/spaces/conf.py": "WIDTH = 6\n"}),
    ),
    "package without __init__ that gets one": Case(
        {**plain(net("getattr(spaces, 'WIDTH', 4)", "import spaces")), "src/spaces/conf.py": ""},
        put({"src/spaces/__init__.py": "WIDTH = 6\n"}),
    ),
    "module before another on the path": Case(
        {**plain(net("WIDTH", "from second import WIDTH")), **installed("second", "1", "WIDTH = 4\n")},
        put({"src/second.py": "WIDTH = 6\n"}),
    ),
    "module of Python's own name": Case(
        plain(net("getattr(this_week, 'W', 4)", "try:\n    import wave as this_week\nexcept ImportError: pass")),
        put({"src/wave.py": "W = 6\n"}),
    ),
    "class found among subclasses": Case(
        package(
            net("Base.__subclasses__()[-1].width", "from pkg.base import Base\nimport pkg.more"),
            base="class Base: pass\nclass A(Base):\n    width = 4\n",
            more="",
        ),
        put({"src/pkg/more.py": "from pkg.base import Base\nclass B(Base):\n    width = 6\n"}),
    ),
    "class named in data": Case(
        {
            **package(
                net(
                    "getattr(importlib.import_module('pkg.' + m), n).width",
                    f"import importlib\n{HERE}\nm, n = (HERE / 'a.txt').read_text().split()",
                ),
                parts="class A:\n    width = 4\nclass B:\n    width = 6\n",
            ),
            "src/pkg/a.txt": "parts A",
        },
        put({"src/pkg/a.txt": "parts B"}),
    ),
}
CODE: dict[str, Case] = {**VALUES, **FUNCTIONS, **MODELS, **IMPORTS}
