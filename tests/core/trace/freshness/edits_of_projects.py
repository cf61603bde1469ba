"""Edits as they happen in projects of other people, between builds that install nothing."""

from __future__ import annotations

import dbm.dumb
import os
import sqlite3
from pathlib import Path
from typing import Any

from tests.core.trace.freshness.cases import (
    HERE,
    Case,
    Edit,
    Files,
    each,
    installed,
    link,
    nothing,
    package,
    plain,
    put,
    remove,
    replace,
    variables,
    without,
)
from tests.core.trace.freshness.edits_of_code import helped, own
from tests.models.one_layer import net

FIRST = "def make_net():\n    return 4\n"
SECOND = FIRST + "\n\ndef make_wide():\n    return 6\n"
LIB = "len([name for name in dir(module) if name.startswith('make_')]) + 3"


def appears(looks: str, imports: str = "", **files: str | bytes) -> Case:
    """A new function in a module, `P`, that code looks for without writing its name."""
    code = net(looks, f"from pkg import parts as P\nKIND = 'wide'\n{imports}")
    return Case({**package(code, parts=FIRST), **files}, put({"src/pkg/parts.py": SECOND}))


def scanned(body: str, before: str, after: str) -> Case:
    """What an installed package sees of a module, `module`."""
    lib = installed("scanlib", "1.0", f"def width(module):\n    return {body}\n")
    code = net("scanlib.width(P)", "import scanlib\nfrom pkg import parts as P")
    return Case({**package(code, parts=before), **lib}, put({"src/pkg/parts.py": after}))


PEEK = "import sys\ndef width():\n    return max(map(len, sys._getframe(1).f_locals))\n"
LOGS = "import logging\nlog = logging.getLogger(__name__)\nlog.setLevel(10)\n"
HANDLER = """import logging
class Count(logging.Handler):
    width = 3
    def emit(self, record):
        Count.width = len(record.getMessage())
logging.getLogger("pkg.parts").addHandler(Count())
"""
LOOKS = {
    "local variable seen from another module": Case(
        package(
            net("parts.build()", "from pkg import parts"),
            parts="from pkg.peek import width\ndef build():\n    abcd = 1\n    return width()\n",
            peek=PEEK,
        ),
        replace("parts.py", "abcd", "abcdef"),
    ),
    "local variable seen by an installed package": Case(
        {
            **package(
                net("parts.build()", "from pkg import parts"),
                parts="from peek import width\ndef build():\n    abcd = 1\n    return width()\n",
            ),
            **installed("peek", "1.0", PEEK),
        },
        replace("parts.py", "abcd", "abcdef"),
    ),
    "local variable in a traceback": Case(
        package(
            net(
                "catch()",
                "from pkg.parts import build\ndef catch():\n    try:\n        build()\n"
                "    except ValueError as error:\n"
                "        return max(map(len, error.__traceback__.tb_next.tb_frame.f_locals))",
            ),
            parts="def build():\n    abcd = 1\n    raise ValueError\n",
        ),
        replace("parts.py", "abcd", "abcdef"),
    ),
    "words of a log counted by a handler": Case(
        package(
            net("Count.width", "from pkg.handler import Count\nfrom pkg import parts\nparts.tell()"),
            parts=LOGS + "def tell(): log.info('abcd')\n",
            handler=HANDLER,
        ),
        replace("parts.py", "'abcd'", "'abcdef'"),
    ),
    "words of a log with a value": Case(
        package(
            net("Count.width", "from pkg.handler import Count\nfrom pkg import parts\nparts.tell()"),
            parts=LOGS + "def tell(): log.warning(f'ab {1}')\n",
            handler=HANDLER,
        ),
        replace("parts.py", "'ab ", "'abcd "),
    ),
    "words of a log kept by a filter": Case(
        package(
            net("len(parts.told[0])", "from pkg import parts\nparts.tell()"),
            parts=LOGS + "told = []\nlog.addFilter(lambda record: told.append(record.msg) or False)\n"
            "def tell(): log.error('abcd')\n",
        ),
        replace("parts.py", "'abcd'", "'abcdef'"),
    ),
    "function that hasattr finds": appears("6 if hasattr(P, 'make_' + KIND) else 4"),
    "function that attrgetter finds": appears(
        "width()",
        "import operator\ndef width():\n    try: return operator.attrgetter('make_' + KIND)(P)()\n"
        "    except AttributeError: return 4",
    ),
    "function that resolve_name finds": appears(
        "width()",
        "import pkgutil\ndef width():\n    try: return pkgutil.resolve_name('pkg.parts:make_' + KIND)()\n"
        "    except AttributeError: return 4",
    ),
    "function that __dir__ lists": appears("len([n for n in P.__dir__() if n[:5] == 'make_']) + 3"),
    "function named in data": appears(
        "width()",
        f"import pkgutil\n{HERE}\ndef width():\n"
        "    try: return pkgutil.resolve_name((HERE / 'entry.txt').read_text())()\n"
        "    except AttributeError: return 4",
        **{"src/pkg/entry.txt": "pkg.parts:make_wide"},
    ),
    "function in a pickle": appears(
        "width()",
        "import pickle\ndef width():\n    try: return pickle.loads(b'cpkg.parts\\nmake_' + KIND.encode() + b'\\n.')()\n"
        "    except AttributeError: return 4",
    ),
    "function that a patch finds": appears(
        "width()",
        "from unittest import mock\ndef width():\n    try:\n"
        "        with mock.patch('pkg.parts.make_' + KIND): return 6\n    except AttributeError: return 4",
    ),
    "function that reload brings": appears(
        "len([n for n in vars(importlib.reload(P)) if n[:5] == 'make_']) + 3", "import importlib"
    ),
    "functions counted by an installed package": scanned(LIB, FIRST, SECOND),
    "order of functions seen by an installed package": scanned(
        "4 if list(vars(module)).index('make_net') < list(vars(module)).index('make_wide') else 6",
        SECOND,
        "def make_wide():\n    return 6\n\n\n" + FIRST,
    ),
    "order of imports seen by an installed package": scanned(
        "4 if list(vars(module)).index('math') < list(vars(module)).index('json') else 6",
        "import math\nimport json\n",
        "import json\nimport math\n",
    ),
    "version seen by an installed package": scanned(
        "len(getattr(module, '__version__'))", "__version__ = '1.0'\n", "__version__ = '1.0.1'\n"
    ),
    "names listed, seen by an installed package": scanned(
        "len(getattr(module, '__all__')) + 3", FIRST + "__all__ = ['make_net']\n", FIRST + "__all__ = []\n"
    ),
    "name of a parameter": helped(
        "import inspect\ndef make(abcd): pass\n"
        "def width(): return len(next(iter(inspect.signature(make).parameters)))\n",
        "make(abcd)",
        "make(abcdef)",
    ),
    "type of a field": helped(
        "import dataclasses, typing\n@dataclasses.dataclass\nclass Config:\n    width: typing.Literal[4]\n"
        "def width(): return typing.get_args(typing.get_type_hints(Config)['width'])[0]\n",
        "Literal[4]",
        "Literal[6]",
    ),
    "words of a warning": helped(
        "import warnings\ndef tell(): warnings.warn('abcd')\ndef width():\n"
        "    with warnings.catch_warnings(record=True) as told:\n        warnings.simplefilter('always')\n"
        "        tell()\n    return len(str(told[0].message))\n",
        "'abcd'",
        "'abcdef'",
    ),
}
CODE = {
    "field with metadata": helped(
        "import dataclasses\n@dataclasses.dataclass\nclass Config:\n"
        "    net: str = dataclasses.field(default='', metadata={'width': 4})\n"
        "def width(): return dataclasses.fields(Config)[0].metadata['width']\n",
        "'width': 4",
        "'width': 6",
    ),
    "what is done after a dataclass is made": helped(
        "from dataclasses import dataclass\n@dataclass\nclass Config:\n    width: int = 1\n"
        "    def __post_init__(self): self.width = 4\n",
        "= 4",
        "= 6",
        "util.Config().width",
    ),
    "new field of a dataclass": helped(
        "from dataclasses import dataclass, fields\n@dataclass\nclass Config:\n    a: int = 1\n"
        "def width(): return len(fields(Config)) + 3\n",
        "a: int = 1",
        "a: int = 1\n    b: int = 2",
    ),
    "partial of a class in a table": helped(
        "import functools\nclass Config:\n    def __init__(self, width): self.width = width\n"
        "TABLE = {'s': functools.partial(Config, 4)}\n",
        "Config, 4",
        "Config, 6",
        "util.TABLE['s']().width",
    ),
    "partial of a method": helped(
        "import functools\nclass Config:\n    def size(self, width): return width\n"
        "    small = functools.partialmethod(size, 4)\n",
        "size, 4",
        "size, 6",
        "util.Config().small()",
    ),
    "order of decorators": helped(
        "def twice(f): return lambda: f() * 2\ndef more(f): return lambda: f() + 1\n@twice\n@more\n"
        "def width(): return 2\n",
        "@twice\n@more",
        "@more\n@twice",
    ),
    "global that a third module sets": Case(
        package(
            net("state.WIDTH", "from pkg import state, boot\nboot.start()"),
            state="WIDTH = 1\n",
            boot="from pkg import state\ndef start():\n    state.WIDTH = 4\n",
        ),
        replace("boot.py", "= 4", "= 6"),
    ),
    "function that a third module replaces": Case(
        package(
            net("util.width()", "from pkg import util, patches"),
            util="def width(): return 1\n",
            patches="from pkg import util\ndef wider(): return 4\nsetattr(util, 'width', wider)\n",
        ),
        replace("patches.py", "return 4", "return 6"),
    ),
    "method of torch that is replaced": own(
        "return 4", "return 6", "def width(self): return 4\nnn.Module.soak_width = width", "self.soak_width()"
    ),
    "value of a context variable": helped(
        "import contextvars\nW = contextvars.ContextVar('w', default=4)\n", "default=4", "default=6", "util.W.get()"
    ),
    "order of an enum": helped(
        "import enum\nclass Size(enum.IntEnum):\n    A = enum.auto()\n    B = enum.auto()\n",
        "A = enum.auto()\n    B = enum.auto()",
        "B = enum.auto()\n    A = enum.auto()",
        "util.Size.A + 3",
    ),
    "metadata of an annotation": helped(
        "from typing import Annotated, get_args\nWidth = Annotated[int, 4]\n",
        "int, 4",
        "int, 6",
        "util.get_args(util.Width)[1]",
    ),
    "hook of a name": helped(
        "class Field:\n    def __set_name__(self, owner, name): owner.width = len(name)\n"
        "class Config:\n    abcd = Field()\n",
        "abcd =",
        "abcdef =",
        "util.Config.width",
    ),
    "namespace of a metaclass": helped(
        "class Meta(type):\n    @classmethod\n"
        "    def __prepare__(m, name, bases): return {'width': 4}\nclass Config(metaclass=Meta): pass\n",
        "4",
        "6",
        "util.Config.width",
    ),
    "arguments of a match": helped(
        "class P:\n    __match_args__ = ('a',)\n    a, b = 4, 6\ndef width():\n    match P():\n"
        "        case P(x): return x\n",
        "('a',)",
        "('b',)",
    ),
    "text that is formatted": helped(
        "SIZE = '{0}{0}'\ndef width(): return len(SIZE.format('ab'))\n", "{0}{0}", "{0}{0}{0}"
    ),
    "object in place of a module": Case(
        package(
            net("conf.width", "from pkg import conf"),
            conf="import sys\nclass Conf:\n    width = 4\nsys.modules[__name__] = Conf()\n",
        ),
        replace("conf.py", "4", "6"),
    ),
    "lazy export": Case(
        package(
            "import importlib\nLAZY = {'Net': 'pkg.a'}\ndef __getattr__(name):\n"
            "    if name in LAZY: return getattr(importlib.import_module(LAZY[name]), name)\n"
            "    raise AttributeError(name)\n",
            a=net(),
            b=net("6"),
        ),
        replace("__init__.py", "'pkg.a'", "'pkg.b'"),
    ),
    "body behind a lazy export": Case(
        package(
            "import importlib\nLAZY = {'Net': 'pkg.a'}\ndef __getattr__(name):\n"
            "    if name in LAZY: return getattr(importlib.import_module(LAZY[name]), name)\n"
            "    raise AttributeError(name)\n",
            a=net(),
        ),
        replace("a.py", "nn.Linear(3, 4)", "nn.Linear(3, 6)"),
    ),
    "export under another name": Case(
        package(
            "from pkg.a import Small as Net\n", a=net().replace("Net", "Small") + "\n" + net("6").replace("Net", "Big")
        ),
        replace("__init__.py", "Small", "Big"),
    ),
    "version file that is generated": Case(
        package(net("len(version)", "from pkg._version import version"), _version="version = '1.0.'\n"),
        replace("_version.py", "1.0.", "1.0.1a"),
    ),
    "constants in a stub of types": Case(
        {
            **plain(net("len(ast.parse((HERE / 'nets.pyi').read_text()).body) + 3", f"import ast\n{HERE}")),
            "src/pkg/nets.pyi": "a: int\n",
        },
        put({"src/pkg/nets.pyi": "a: int\nb: int\n"}),
    ),
    "code that is generated and imported": Case(
        {
            **plain(
                net(
                    "made.WIDTH",
                    f"import importlib.util, tempfile\n{HERE}\nF = Path(tempfile.mkdtemp()) / 'made.py'\n"
                    "F.write_text((HERE / 'made.tpl').read_text())\n"
                    "spec = importlib.util.spec_from_file_location('made', F)\n"
                    "made = importlib.util.module_from_spec(spec)\n"
                    "spec.loader.exec_module(made)",
                )
            ),
            "src/pkg/made.tpl": "WIDTH = 4\n",
        },
        put({"src/pkg/made.tpl": "WIDTH = 6\n"}),
    ),
    "code that is put together": helped(
        "PARTS = ['def width():', ' return 4']\nspace = {}\nexec('\\n'.join(PARTS), space)\nwidth = space['width']\n",
        "return 4",
        "return 6",
    ),
    "settings that each folder overrides": Case(
        {
            **plain(
                net(
                    "W",
                    f"{HERE}\nW = 4\nfor folder in (HERE.parents[1], HERE.parents[0], HERE):\n"
                    "    if (folder / 'netconf.py').is_file():\n        space = {}\n"
                    "        exec((folder / 'netconf.py').read_text(), space)\n        W = space['W']",
                )
            ),
            "netconf.py": "W = 4\n",
        },
        put({"src/netconf.py": "W = 6\n"}),
    ),
    "class that is registered in another file": Case(
        package(
            net("sum(REG.values())", "from pkg.reg import REG\nimport pkg.nets"),
            reg="REG = {}\ndef add(n):\n"
            "    def inner(f):\n        REG[f.__name__] = n\n        return f\n    return inner\n",
            nets="from pkg.reg import add\n@add(4)\ndef a(): pass\n",
        ),
        put({"src/pkg/nets.py": "from pkg.reg import add\n@add(4)\ndef a(): pass\n@add(2)\ndef b(): pass\n"}),
    ),
    "plug-in file in a folder": Case(
        package(
            net(
                "sum(import_module('pkg.nets.' + f.stem).W for f in (HERE / 'nets').glob('[a-z]*.py'))",
                f"from importlib import import_module\n{HERE}",
            ),
            nets__a="W = 4\n",
        ),
        put({"src/pkg/nets/b.py": "W = 2\n"}),
    ),
    "plug-in of a namespace": Case(
        {
            **plain(
                net("sum(1 for _ in pkgutil.iter_modules(soak_plugins.__path__)) + 3", "import pkgutil, soak_plugins")
            ),
            "src/soak_plugins/a.py": "",
        },
        put({"src/soak_plugins/b.py": ""}),
    ),
    "folder in a namespace": Case(
        {
            **plain(net("W", "try:\n    from soak_space.wide import W\nexcept ImportError:\n    W = 4")),
            "src/soak_space/a.py": "",
        },
        put({"src/soak_space/wide/__init__.py": "W = 6\n"}),
    ),
    "assert with an effect": own(
        "assert F.append(1) is None",
        "assert F.extend([1, 1, 1]) is None",
        "F = []",
        "width()",
        "\ndef width():\n    assert F.append(1) is None\n    return len(F) + 3\n",
    ),
}
SLOW = "def read():\n    from concurrent.futures import ThreadPoolExecutor\n    with ThreadPoolExecutor(1) as pool:\n"


def dated(name: str, text: str) -> Edit:
    """A file that is written anew in another's place, of the same size and date."""

    def edit(project: Any) -> None:
        place = project.root / name
        before = place.stat()
        new = place.with_name("new")
        new.write_text(text)
        os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
        new.replace(place)

    return edit


def mode(name: str, bits: int) -> Edit:
    return lambda project: (project.root / name).chmod(bits)


def sql(*lines: str, name: str = "src/pkg/nets.db") -> Edit:
    def edit(project: Any) -> None:
        nets = sqlite3.connect(project.root / name)
        for line in lines:
            nets.execute(line)
        nets.commit()
        nets.close()

    return edit


def shelf(width: int) -> Edit:
    def edit(project: Any) -> None:
        with dbm.dumb.open(str(project.root / "src/pkg/nets"), "c") as nets:
            nets["w"] = str(width)

    return edit


def egg(summary: str, points: str) -> Files:
    """Metadata of the project itself, as `pip install -e` leaves it beside the sources."""
    info = "src/pkg.egg-info/"
    return {
        f"{info}PKG-INFO": f"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nSummary: {summary}\n",
        f"{info}entry_points.txt": f"[soak.own]\n{points}",
    }


def data(width: str, before: Files, after: Edit, imports: str = "", prepare: Edit = nothing) -> Case:
    named = {f"src/pkg/{name}": text for name, text in before.items()}
    return Case({**plain(net(width, f"import os\n{HERE}\n{imports}")), **named}, after, prepare=prepare)


DATA = {
    "version in a file": data(
        "len((HERE / 'VERSION').read_text())", {"VERSION": "1.0."}, put({"src/pkg/VERSION": "1.0.1a"})
    ),
    "settings with an include": data(
        "load(HERE / 'a.yaml')['w']",
        {"a.yaml": "!include b.yaml", "b.yaml": "w: 4"},
        put({"src/pkg/b.yaml": "w: 6"}),
        "import yaml\nclass Loader(yaml.SafeLoader): pass\ndef load(f): return yaml.load(f.read_text(), Loader)\n"
        "Loader.add_constructor('!include', lambda l, n: load(HERE / n.value))",
    ),
    "settings with an anchor": data(
        "yaml.safe_load(open(HERE / 'a.yaml'))['b']['w']",
        {"a.yaml": "a: &a {w: 4}\nb: *a\n"},
        put({"src/pkg/a.yaml": "a: &a {w: 6}\nb: *a\n"}),
        "import yaml",
    ),
    "second file of settings": data(
        "P.getint('net', 'w')",
        {"a.ini": "[net]\nw = 4\n"},
        put({"src/pkg/b.ini": "[net]\nw = 6\n"}),
        "import configparser\nP = configparser.ConfigParser()\nP.read([HERE / 'a.ini', HERE / 'b.ini'])",
    ),
    "folder of settings": data(
        "sum(int(f.read_text()) for f in sorted((HERE / 'conf.d').glob('*.conf')))",
        {"conf.d/10.conf": "4"},
        put({"src/pkg/conf.d/20.conf": "2"}),
    ),
    "project file in a nearer folder": Case(
        {
            **plain(
                net(
                    "W",
                    f"{HERE}\nimport tomllib\n"
                    f"F = next(p / 'soak.toml' for p in HERE.parents if (p / 'soak.toml').exists())\n"
                    "W = tomllib.loads(F.read_text())['w']",
                )
            ),
            "soak.toml": "w = 4\n",
        },
        put({"src/soak.toml": "w = 6\n"}),
    ),
    "branch of git": Case(
        {**plain(net("len((HERE.parents[1] / '.git' / 'HEAD').read_text())", HERE)), ".git/HEAD": "main"},
        put({".git/HEAD": "master"}),
    ),
    "table of dbm": data("int(dbm.dumb.open(str(HERE / 'nets'), 'r')['w'])", {}, shelf(6), "import dbm.dumb", shelf(4)),
    "database by a path": data(
        "sqlite3.connect(HERE / 'nets.db').execute('select w from nets').fetchone()[0]",
        {},
        sql("update nets set w = 6"),
        "import sqlite3",
        sql("create table nets (w int)", "insert into nets values (4)"),
    ),
    "database that is made anew": data(
        "sqlite3.connect(HERE / 'nets.db').execute('select w from nets').fetchone()[0]",
        {},
        each(remove("src/pkg/nets.db"), sql("create table nets (w int)", "insert into nets values (6)")),
        "import sqlite3",
        sql("create table nets (w int)", "insert into nets values (4)"),
    ),
    "file of the same size and date": data("int((HERE / 'w').read_text())", {"w": "4"}, dated("src/pkg/w", "6")),
    "module of the same size and date": Case(
        package(net("W", "from pkg.w import W"), w="W = 4\n"), dated("src/pkg/w.py", "W = 6\n")
    ),
    "link behind a link": data(
        "int((HERE / 'latest').read_text())",
        {"a": "4", "b": "6"},
        link("src/pkg/step", "b"),
        prepare=each(link("src/pkg/step", "a"), link("src/pkg/latest", "step")),
    ),
    "two names of one file": data(
        "6 if os.path.samefile(HERE / 'l', HERE / 'b') else 4",
        {"a": "", "b": ""},
        link("src/pkg/l", "b"),
        prepare=link("src/pkg/l", "a"),
    ),
    "mode of a file that is asked for": data(
        "6 if (HERE / 'a').stat().st_mode & 0o100 else 4",
        {"a": ""},
        mode("src/pkg/a", 0o755),
        prepare=mode("src/pkg/a", 0o644),
    ),
    "mode of a file by another module": data(
        "6 if stat.S_IMODE(os.stat(HERE / 'a').st_mode) & 0o100 else 4",
        {"a": ""},
        mode("src/pkg/a", 0o755),
        "import stat",
        mode("src/pkg/a", 0o644),
    ),
    "size in a listing": data(
        "sum(e.stat().st_size for e in os.scandir(HERE / 'd'))", {"d/a": "1234"}, put({"src/pkg/d/a": "123456"})
    ),
    "kind in a listing": data(
        "len([e for e in os.scandir(HERE / 'd') if e.is_dir()]) + 3",
        {"d/a": ""},
        each(remove("src/pkg/d/a"), put({"src/pkg/d/a/b": ""})),
    ),
    "kind in a walk": data(
        "sum(len(folders) for _, folders, _ in os.walk(HERE / 'd')) + 3",
        {"d/a": ""},
        each(remove("src/pkg/d/a"), put({"src/pkg/d/a/b": ""})),
    ),
    "listing by descriptor": data(
        "len(os.listdir(os.open(HERE / 'd', os.O_RDONLY))) + 3", {"d/a": ""}, put({"src/pkg/d/b": ""})
    ),
    "walk by descriptors": data(
        "sum(len(files) for _, _, files, _ in os.fwalk(HERE / 'd')) + 3", {"d/e/a": ""}, put({"src/pkg/d/e/b": ""})
    ),
    "file by a descriptor of its folder": data(
        "int(os.read(os.open('w', os.O_RDONLY, dir_fd=os.open(HERE / 'd', os.O_RDONLY)), 9))",
        {"d/w": "4"},
        put({"src/pkg/d/w": "6"}),
    ),
    "files compared by size": data(
        "6 if filecmp.cmp(HERE / 'a', HERE / 'b') else 4",
        {"a": "1", "b": "2345"},
        put({"src/pkg/b": "1"}),
        "import filecmp",
    ),
    "size of a link": data(
        "os.lstat(HERE / 'l').st_size",
        {"step": "", "step12": ""},
        link("src/pkg/l", "step12"),
        prepare=link("src/pkg/l", "step"),
    ),
    "file from the current folder": data(
        "int(read())",
        {"w": "4"},
        put({"src/pkg/w": "6"}),
        "def read():\n    before = os.getcwd()\n    os.chdir(HERE)\n"
        "    try: return open('w').read()\n    finally: os.chdir(before)",
    ),
    "folder that did not exist": data("len([*(HERE / 'd').glob('*')]) + 4", {}, put({"src/pkg/d/a": ""})),
    "folder that is made if it is not there": data(
        "read()",
        {"d/w": "1234"},
        put({"src/pkg/d/w": "123456"}),
        "def read():\n    (HERE / 'd').mkdir(exist_ok=True)\n    return len((HERE / 'd' / 'w').read_text())",
    ),
    "file that is opened to be read and written": data(
        "len(open(HERE / 'w', 'r+').read())", {"w": "1234"}, put({"src/pkg/w": "123456"})
    ),
    "folder that could not be listed": data(
        "read()",
        {},
        put({"src/pkg/d/a": "", "src/pkg/d/b": ""}),
        "def read():\n    try: return len(os.listdir(HERE / 'd')) + 4\n    except OSError: return 4",
    ),
    "file that is read in a thread": data(
        "int(read())",
        {"w": "4"},
        put({"src/pkg/w": "6"}),
        f"{SLOW}        return pool.submit(Path.read_text, HERE / 'w').result()",
    ),
    "file that is looked for in a thread": data(
        "6 if read() else 4",
        {},
        put({"src/pkg/w": ""}),
        f"{SLOW}        return pool.submit(os.path.exists, HERE / 'w').result()",
    ),
    "folder that is listed in a thread": data(
        "len(read()) + 3",
        {"d/a": ""},
        put({"src/pkg/d/b": ""}),
        f"{SLOW}        return pool.submit(os.listdir, HERE / 'd').result()",
    ),
    "size that is asked in a thread": data(
        "read()",
        {"w": "1234"},
        put({"src/pkg/w": "123456"}),
        f"{SLOW}        return pool.submit(os.path.getsize, HERE / 'w').result()",
    ),
    "link that is read in a thread": data(
        "len(read())",
        {"step": "", "step12": ""},
        link("src/pkg/l", "step12"),
        f"{SLOW}        return pool.submit(os.readlink, HERE / 'l').result()",
        link("src/pkg/l", "step"),
    ),
    "own entry points": Case(
        {
            **plain(net("len(entry_points(group='soak.own')) + 3", "from importlib.metadata import entry_points")),
            **egg("x", "a = pkg:a\n"),
        },
        put(egg("x", "a = pkg:a\nb = pkg:b\n")),
    ),
    "own metadata": Case(
        {**plain(net("len(metadata('pkg')['Summary'])", "from importlib.metadata import metadata")), **egg("abcd", "")},
        put(egg("abcdef", "")),
    ),
    "data of a namespace": Case(
        {
            **plain(net("len(files('soak_data').joinpath('w').read_text())", "from importlib.resources import files")),
            "src/soak_data/w": "1234",
        },
        put({"src/soak_data/w": "123456"}),
    ),
}


def environ(width: str, imports: str, after: Edit, before: Edit, files: Files | None = None) -> Case:
    return Case({**plain(net(width, f"import os\n{imports}")), **(files or {})}, after, prepare=before)


def program(name: str) -> Edit:
    def edit(project: Any) -> None:
        file = Path(project.root.parent, "bin", name)
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    return edit


SIX, FOUR = variables(NET_W="6"), variables(NET_W="4")
ENVIRONMENT = {
    "variable that is asked in a thread": environ(
        "int(read())", f"{SLOW}        return pool.submit(os.environ.get, 'NET_W').result()", SIX, FOUR
    ),
    "variable that is empty": environ("6 if 'NET_W' in os.environ else 4", "", variables(NET_W=""), without("NET_W")),
    "variable of settings": environ(
        "CONF.get('net', 'w').__len__()",
        "import configparser\nCONF = configparser.ConfigParser({'w': os.environ['NET_W']})\nCONF.add_section('net')",
        variables(NET_W="123456"),
        variables(NET_W="1234"),
    ),
    "variable of a default": environ(
        "P.parse_args([]).width",
        "import argparse\nP = argparse.ArgumentParser()\n"
        "P.add_argument('--width', type=int, default=os.environ.get('NET_W', 4))",
        SIX,
        FOUR,
    ),
    "variable that chooses a module": environ(
        "WIDTH",
        "from importlib import import_module\nWIDTH = import_module('pkg.w' + os.environ['NET_W']).WIDTH",
        SIX,
        FOUR,
        {"src/pkg/w4.py": "WIDTH = 4\n", "src/pkg/w6.py": "WIDTH = 6\n"},
    ),
    "variable in a union": environ("int((os.environ | {})['NET_W'])", "", SIX, FOUR),
    "program that appears": environ(
        "6 if shutil.which('soak-prog') else 4",
        "import shutil",
        program("soak-prog"),
        each(variables(PATH="{}/bin:/usr/bin:/bin"), program("other")),
    ),
    "program on another path": environ(
        "6 if shutil.which('soak-prog') else 4",
        "import shutil",
        variables(PATH="{}/bin:/usr/bin:/bin"),
        each(program("soak-prog"), variables(PATH="/usr/bin:/bin")),
    ),
    "paths of programs": environ(
        "len(os.get_exec_path()) + 3", "", variables(PATH="/usr/bin:/bin"), variables(PATH="/usr/bin")
    ),
}
PROJECTS: dict[str, Case] = {**LOOKS, **CODE, **DATA, **ENVIRONMENT}
