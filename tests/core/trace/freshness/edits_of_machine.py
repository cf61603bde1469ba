"""What changes outside of a project, and what is another in each run."""

from __future__ import annotations

from tests.core.trace.freshness.cases import (
    HERE,
    SITE,
    Case,
    Edit,
    each,
    installed,
    link,
    nothing,
    plain,
    put,
    remove,
    upgraded,
    variables,
    without,
)
from tests.models.one_layer import net

TRY = "try:\n    {}\nexcept {}:\n    W = 4"
POINTS = "from importlib.metadata import entry_points\ndef width(): return 4 + len(entry_points(group='soak.nets'))\n"
HOST = installed("hostlib", "1.0", POINTS)
PLUGIN = installed("pluglib", "1.0", entry_points="[soak.nets]\nwide = pluglib:wide\n")
OPTIONAL = "try:\n    import kernels\n    WIDTH = 6\nexcept ImportError:\n    WIDTH = 4\n"
SETTINGS = "import os\nclass Settings:\n    def __getattr__(self, name): return int(os.environ.get('NET_' + name, 4))\n"


def with_packages(width: str, imports: str, edit: Edit, **files: str | bytes) -> Case:
    return Case({**plain(net(width, imports)), **files}, edit)


PACKAGES = {
    "package upgraded": with_packages(
        "lib.WIDTH",
        "import lib",
        upgraded("lib", "1.0", "1.1", "WIDTH = 6\n"),
        **installed("lib", "1.0", "WIDTH = 4\n"),
    ),
    "package downgraded": with_packages(
        "lib.WIDTH",
        "import lib",
        upgraded("lib", "1.1", "1.0", "WIDTH = 6\n"),
        **installed("lib", "1.1", "WIDTH = 4\n"),
    ),
    "package installed": with_packages(
        "W", TRY.format("from lib import WIDTH as W", "ImportError"), put(installed("lib", "1.0", "WIDTH = 6\n"))
    ),
    "package without metadata appears": with_packages(
        "W", TRY.format("from lib import WIDTH as W", "ImportError"), put({f"{SITE}lib.py": "WIDTH = 6\n"})
    ),
    "package removed": with_packages(
        "W",
        TRY.format("from lib import WIDTH as W", "ImportError"),
        remove(f"{SITE}lib.py", f"{SITE}lib-1.0.dist-info"),
        **installed("lib", "1.0", "WIDTH = 6\n"),
    ),
    "version of a package": with_packages(
        "len(version('lib'))",
        "from importlib.metadata import version",
        upgraded("lib", "1.0", "1.0.1", ""),
        **installed("lib", "1.0"),
    ),
    "package that was not found": with_packages(
        "W",
        "from importlib.metadata import version, PackageNotFoundError\n"
        + TRY.format("W = len(version('lib')) + 3", "PackageNotFoundError"),
        put(installed("lib", "1.0")),
    ),
    "package looked for": with_packages(
        "6 if find_spec('lib') else 4", "from importlib.util import find_spec", put(installed("lib", "1.0"))
    ),
    "plug-in for the model": with_packages(
        "4 + len(entry_points(group='soak.nets'))", "from importlib.metadata import entry_points", put(PLUGIN)
    ),
    "plug-in for a package": with_packages("hostlib.width()", "import hostlib", put(PLUGIN), **HOST),
    "plug-in removed": with_packages(
        "hostlib.width()", "import hostlib", remove(f"{SITE}pluglib-1.0.dist-info"), **HOST, **PLUGIN
    ),
    "optional import of a package": with_packages(
        "lib.WIDTH", "import lib", put(installed("kernels", "0.1")), **installed("lib", "1.0", OPTIONAL)
    ),
    "what a package requires": with_packages(
        "len(requires('lib') or []) + 3",
        "from importlib.metadata import requires",
        each(
            remove(f"{SITE}lib-1.0.dist-info"),
            put(installed("lib", "1.1", more="Requires-Dist: x\nRequires-Dist: y\n")),
        ),
        **installed("lib", "1.0"),
    ),
    "scan of all packages": with_packages(
        "4 + ('lib' in [d.name for d in distributions()])",
        "from importlib.metadata import distributions",
        put(installed("lib", "1.0")),
    ),
    "modules of all folders": with_packages(
        "4 + ('soaklib' in [m.name for m in pkgutil.iter_modules()])",
        "import pkgutil",
        put(installed("soaklib", "1.0")),
    ),
    "version as an attribute": with_packages(
        "len(lib.__version__)",
        "import lib",
        upgraded("lib", "1.0", "1.0.1", "__version__ = '1.0.1'\n"),
        **installed("lib", "1.0", "__version__ = '1.0'\n"),
    ),
    "local module hides a package": with_packages(
        "lib.WIDTH", "import lib", put({"src/lib.py": "WIDTH = 6\n"}), **installed("lib", "1.0", "WIDTH = 4\n")
    ),
    "local module no longer hides it": with_packages(
        "lib.WIDTH",
        "import lib",
        remove("src/lib.py"),
        **installed("lib", "1.0", "WIDTH = 4\n"),
        **{"src/lib.py": "WIDTH = 6\n"},
    ),
    "installed code edited in place": Case(
        {**plain(net("lib.WIDTH", "import lib")), **installed("lib", "1.0", "WIDTH = 4\n")},
        put({f"{SITE}lib.py": "WIDTH = 6\n"}),
        guide="installed code edited in place",
    ),
}


def asks(width: str, after: Edit, before: Edit | None = None, imports: str = "import os", **files: str | bytes) -> Case:
    return Case({**plain(net(width, imports)), **files}, after, prepare=before or without("NET_W"))


SIX, FOUR = variables(NET_W="6"), variables(NET_W="4")
VARIABLES = {
    "variable by item": asks("int(os.environ['NET_W'])", SIX, FOUR),
    "variable by get": asks("int(os.environ.get('NET_W', 4))", SIX),
    "variable by getenv": asks("int(os.getenv('NET_W') or 4)", SIX),
    "variable that goes": asks("int(os.getenv('NET_W', '4'))", without("NET_W"), SIX),
    "variable in": asks("6 if 'NET_W' in os.environ else 4", SIX),
    "variable with a default that is set": asks("int(os.environ.setdefault('NET_W', '4'))", SIX),
    "variable in a path": asks("len(os.path.expandvars('$NET_W'))", variables(NET_W="123456"), FOUR),
    "variable in bytes": asks("int(os.environb.get(b'NET_W', b'4'))", SIX),
    "variable of bytes by getenvb": asks("int(os.getenvb(b'NET_W', b'4'))", SIX),
    "variable in a template": asks(
        "int(string.Template('$NET_W').substitute(os.environ))", SIX, FOUR, "import os, string"
    ),
    "variable of a prefix": asks("len([k for k in os.environ if k.startswith('NET_')]) + 4", SIX),
    "variable by match": asks("4 if not os.environ.keys() & {'NET_W'} else 6", SIX),
    "variable through a package": asks(
        "lib.Settings().W", SIX, None, "import lib", **installed("lib", "1.0", SETTINGS)
    ),
    "variable of another process of torch": asks(
        "6 if torch.utils.cpp_extension.os.getenv('NET_W') else 4", SIX, None, "import torch.utils.cpp_extension"
    ),
    "settings in the home folder": asks(
        "len((Path.home() / '.netrc-soak').read_text())",
        put({"../home/.netrc-soak": "123456"}),
        each(variables(HOME="{}/home"), put({"../home/.netrc-soak": "1234"})),
        "from pathlib import Path",
    ),
    "settings in the home folder appear": asks(
        "6 if os.path.exists(os.path.expanduser('~/.config/net.toml')) else 4",
        put({"../home/.config/net.toml": ""}),
        each(variables(HOME="{}/home"), put({"../home/x": ""})),
    ),
    "another home folder": asks(
        "len(os.listdir(os.path.expanduser('~'))) + 3",
        variables(HOME="{}/other"),
        each(variables(HOME="{}/home"), put({"../home/x": "", "../other/y": "", "../other/z": ""})),
    ),
    "cache folder by variable": asks(
        "len(open(os.path.join(os.environ['XDG_CACHE_HOME'], 'w')).read())",
        variables(XDG_CACHE_HOME="{}/two"),
        each(variables(XDG_CACHE_HOME="{}/one"), put({"../one/w": "1234", "../two/w": "123456"})),
    ),
    "language": asks(
        "6 if 'UTF' in str(locale.getlocale()) else 4",
        variables(LC_ALL="C.UTF-8"),  # the one that each machine has
        variables(LC_ALL="C"),
        "import locale",
    ),
    "user": asks("len(getpass.getuser())", variables(LOGNAME="abcdef"), variables(LOGNAME="abcd"), "import getpass"),
}
BESIDE = f"{HERE}\nD = HERE.parents[2] / 'disk'"
OUTSIDE = {
    "file of a data disk": asks(
        "len((D / 'w').read_text())", put({"../disk/w": "123456"}), put({"../disk/w": "1234"}), BESIDE
    ),
    "file appears on a data disk": asks(
        "6 if (D / 'w').exists() else 4", put({"../disk/w": ""}), put({"../disk/x": ""}), BESIDE
    ),
    "folder of a data disk": asks("len([*D.iterdir()]) + 3", put({"../disk/w": ""}), put({"../disk/x": ""}), BESIDE),
    "link of a data disk": asks(
        "len((D / 'l').readlink().name)",
        link("../disk/l", "step12"),
        each(put({"../disk/x": ""}), link("../disk/l", "step")),
        BESIDE,
    ),
    "size on a data disk": asks(
        "(D / 'w').stat().st_size", put({"../disk/w": "123456"}), put({"../disk/w": "1234"}), BESIDE
    ),
    "file goes from a data disk": asks(
        "6 if (D / 'w').is_file() else 4", remove("../disk/w"), put({"../disk/w": ""}), BESIDE
    ),
}


def runs(width: str, imports: str, guide: str = "") -> Case:
    """What is another in each run, if it is not made the same."""
    return Case(plain(net(width, imports)), nothing, guide=guide)


RUNS = {
    "time": runs("int(time.time() * 1e6) % 997 + 1", "import time"),
    "date": runs("datetime.datetime.now().microsecond % 997 + 1", "import datetime"),
    "counter of time": runs("time.perf_counter_ns() % 997 + 1", "import time", "perf_counter"),
    "current folder": runs("len(os.getcwd())", "import os"),
    "random numbers": runs("random.randint(1, 997)", "import random"),
    "random numbers of numpy": runs("int(numpy.random.randint(1, 997))", "import numpy"),
    "random numbers of torch": runs("int(torch.randint(1, 997, ()))", ""),
    "random numbers of the system": runs("int.from_bytes(os.urandom(2), 'big') % 997 + 1", "import os", "os.urandom"),
    "secret": runs("secrets.randbelow(997) + 1", "import secrets", "secrets"),
    "unique name": runs("uuid.uuid4().int % 997 + 1", "import uuid", "uuid"),
    "generator of numpy without seed": runs(
        "int(numpy.random.default_rng().integers(1, 997))", "import numpy", "default_rng"
    ),
    "generator of Python without seed": runs("random.Random().randint(1, 997)", "import random", "random.Random()"),
    "number of the process": runs("os.getpid() % 997 + 1", "import os", "the number of a process"),
    "name of a temporary folder": runs(
        "sum(map(ord, tempfile.mkdtemp())) % 997 + 1", "import tempfile", "names of temporary files"
    ),
    "hash of a text": runs("hash('net') % 997 + 1", ""),
    "order of a set": runs("len(next(iter({'a', 'bb', 'ccc', 'dddd', 'eeeee'})))", ""),
    "program that is started": runs(
        "int(subprocess.run(['date', '+%N'], capture_output=True).stdout) % 997 + 1", "import subprocess"
    ),
    "program by os.system": runs("4 + 0 * os.system('true')", "import os"),
    "child that reads": runs(
        "int(r())",
        "import multiprocessing\ndef r():\n"
        "    with multiprocessing.get_context('fork').Pool(1) as pool: return pool.apply(len, ('1234',))",
    ),
    "address of an object": runs("id(object()) // 16 % 997 + 1", "", "addresses of objects"),
}
MACHINE = {**PACKAGES, **VARIABLES, **OUTSIDE, **RUNS}
