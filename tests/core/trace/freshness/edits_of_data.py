"""Edits of data, links and folders that change the picture."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile

import numpy
import torch

from tests.core.trace.freshness.cases import HERE, Case, Files, each, link, plain, put, remove, touch
from tests.models.one_layer import net


def read(name: str, width: str, before: str | bytes, after: str | bytes, imports: str = "") -> Case:
    """A width that is read from the file `F`."""
    named = f"{HERE}\n{imports}\nF = str(HERE / {name!r})"
    return Case({**plain(net(width, named)), f"src/pkg/{name}": before}, put({f"src/pkg/{name}": after}))


def array(*numbers: int) -> bytes:
    content = io.BytesIO()
    numpy.save(content, numpy.array(numbers))
    return content.getvalue()


def arrays(width: int) -> bytes:
    content = io.BytesIO()
    numpy.savez(content, width=numpy.array([width]))
    return content.getvalue()


def weights(width: int) -> bytes:
    content = io.BytesIO()
    torch.save({"fc.weight": torch.zeros(width, 3)}, content)
    return content.getvalue()


def archive(width: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("width.txt", str(width))
    return content.getvalue()


def tape(width: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        info = tarfile.TarInfo("width.txt")
        info.size = 1
        file.addfile(info, io.BytesIO(str(width).encode()))
    return content.getvalue()


STATE = "['fc.weight'].shape[0]"
LISTED: Files = {"src/pkg/d/a.txt": "", "src/pkg/d/b.txt": ""}
NEW: Files = {"src/pkg/d/c.txt": ""}
INCLUDES = (
    "import json\ndef load(name):\n    data = json.loads((HERE / name).read_text())\n"
    "    return {**(load(data['base']) if 'base' in data else {}), **data}"
)


def listing(width: str, imports: str = "") -> Case:
    """A width that says which files lie in a folder."""
    return Case({**plain(net(width, f"{HERE}\n{imports}\nD = HERE / 'd'")), **LISTED}, put(NEW))


FORMATS = {
    "toml": read("a.toml", "tomllib.load(open(F, 'rb'))['w']", "w = 4\n", "w = 6\n", "import tomllib"),
    "ini": read(
        "a.ini",
        "PARSER.getint('net', 'w')",
        "[net]\nw = 4\n",
        "[net]\nw = 6\n",
        "import configparser\nPARSER = configparser.ConfigParser()\nPARSER.read(HERE / 'a.ini')",
    ),
    "csv": read("a.csv", "int(next(csv.DictReader(open(F)))['w'])", "w,d\n4,2\n", "w,d\n6,2\n", "import csv"),
    "xml": read(
        "a.xml",
        "int(ElementTree.parse(F).getroot().get('w'))",
        "<n w='4'/>",
        "<n w='6'/>",
        "from xml.etree import ElementTree",
    ),
    "jsonl": read("a.jsonl", "sum(1 for _ in open(F)) + 3", "{}\n", "{}\n{}\n"),
    "variables in a file": read(
        "a.env", "dict(l.split('=') for l in open(F).read().split())['W'].__len__()", "W=1234", "W=123456"
    ),
    "array": read("a.npy", "int(numpy.load(F)[0])", array(4), array(6), "import numpy"),
    "array in memory of the file": read(
        "a.npy", "int(numpy.load(F, mmap_mode='r')[0])", array(4), array(6), "import numpy"
    ),
    "arrays": read("a.npz", "int(numpy.load(F)['width'][0])", arrays(4), arrays(6), "import numpy"),
    "numbers as text": read("a.txt", "int(numpy.loadtxt(F))", "4", "6", "import numpy"),
    "raw numbers": read("a.bin", "int(numpy.fromfile(F, dtype='u1')[0])", b"\4", b"\6", "import numpy"),
    "mapped numbers": read("a.bin", "int(numpy.memmap(F, dtype='u1', mode='r')[0])", b"\4", b"\6", "import numpy"),
    "mapped file": read(
        "a.bin", "mmap.mmap(os.open(F, os.O_RDONLY), 0, prot=mmap.PROT_READ)[0]", b"\4", b"\6", "import mmap, os"
    ),
    "weights": read("a.pt", f"torch.load(F){STATE}", weights(4), weights(6)),
    "mapped weights": read("a.pt", f"torch.load(F, mmap=True){STATE}", weights(4), weights(6)),
    "raw tensor": read("a.bin", "int(torch.from_file(F, size=1, dtype=torch.uint8)[0])", b"\4", b"\6"),
    "pickle": read(
        "a.pkl",
        "pickle.loads(HERE.joinpath('a.pkl').read_bytes())['w']",
        pickle.dumps({"w": 4}),
        pickle.dumps({"w": 6}),
        "import pickle",
    ),
    "gzip": read(
        "a.gz", "int(gzip.open(F).read())", gzip.compress(b"4", mtime=0), gzip.compress(b"6", mtime=0), "import gzip"
    ),
    "member of a zip": read(
        "a.zip", "int(zipfile.ZipFile(F).read('width.txt'))", archive(4), archive(6), "import zipfile"
    ),
    "member of a tar": read(
        "a.tar", "int(tarfile.open(F).extractfile('width.txt').read())", tape(4), tape(6), "import tarfile"
    ),
    "line by number": read("a.txt", "int(linecache.getline(F, 2))", "1\n4\n", "1\n6\n", "import linecache"),
    "lines of files": read("a.txt", "int(next(iter(fileinput.input([F]))))", "4", "6", "import fileinput"),
    "descriptor": read("a.txt", "int(os.read(os.open(F, os.O_RDONLY), 9))", "4", "6", "import os"),
    "stream without buffer": read("a.txt", "int(io.FileIO(F).read())", "4", "6", "import io"),
    "coded text": read(
        "a.txt",
        "int(codecs.open(F, encoding='utf-16').read())",
        "4".encode("utf-16"),
        "6".encode("utf-16"),
        "import codecs",
    ),
    "data of a package": read(
        "a.txt",
        "int(resources.files('pkg').joinpath('a.txt').read_text())",
        "4",
        "6",
        "from importlib import resources",
    ),
    "digest of a file": read(
        "a.txt",
        "len(hashlib.file_digest(open(F, 'rb'), 'md5').hexdigest().lstrip('d')) + 3",
        "a",
        "b" * 40,
        "import hashlib",
    ),
    "docstring of a class": Case(
        plain(net("int(Conf.__doc__)", 'class Conf:\n    """4"""')),
        lambda project: project.edit("src/pkg/__init__.py", '"""4"""', '"""6"""'),
        guide="docstrings",
    ),
    "number of a line": Case(
        plain(net("Conf.__init__.__code__.co_firstlineno", "class Conf:\n    def __init__(self): pass")),
        lambda project: project.edit("src/pkg/__init__.py", "class Conf:", "# why\nclass Conf:"),
        guide="numbers of lines",
    ),
    "data that leads to data": Case(
        {
            **plain(net("load('a.json')['w']", f"{HERE}\n{INCLUDES}")),
            "src/pkg/a.json": json.dumps({"base": "b.json"}),
            "src/pkg/b.json": json.dumps({"w": 4}),
        },
        put({"src/pkg/b.json": json.dumps({"w": 6})}),
    ),
    "data that leads to other data": Case(
        {
            **plain(net("load('a.json')['w']", f"{HERE}\n{INCLUDES}")),
            "src/pkg/a.json": json.dumps({"base": "b.json"}),
            "src/pkg/b.json": json.dumps({"w": 4}),
            "src/pkg/c.json": json.dumps({"w": 6}),
        },
        put({"src/pkg/a.json": json.dumps({"base": "c.json"})}),
    ),
    "file above the package": Case(
        {**plain(net("len((HERE.parents[1] / 'conf' / 'a.txt').read_text())", HERE)), "conf/a.txt": "1234"},
        put({"conf/a.txt": "123456"}),
    ),
}
DEFAULTS = "next((int(f.read_text()) for f in (HERE / 'own.txt', HERE / 'all.txt') if f.{}()), 3)"
PLACES = {
    "listing by glob": listing("len(list(D.glob('*.txt'))) + 3"),
    "listing by rglob": listing("len(list(HERE.rglob('*.txt'))) + 3"),
    "listing by the glob module": listing("len(glob.glob(str(D / '*.t*'))) + 3", "import glob"),
    "listing by scandir": listing("len([e for e in os.scandir(D) if e.is_file()]) + 3", "import os"),
    "listing by walk": listing("sum(len(files) for _, _, files in os.walk(D)) + 3", "import os"),
    "listing by iterdir": listing("len([*D.iterdir()]) + 3"),
    "listing by fnmatch": listing("len(fnmatch.filter(os.listdir(D), '*.txt')) + 3", "import fnmatch, os"),
    "listing of data of a package": listing(
        "len([*resources.files('pkg').joinpath('d').iterdir()]) + 3", "from importlib import resources"
    ),
    "new folder below": Case(
        {**plain(net("len([d for d in HERE.glob('d/*/') if d.is_dir()]) + 3", HERE)), **LISTED},
        put({"src/pkg/d/e/x.txt": ""}),
    ),
    "file that is removed from a folder": Case(
        {**plain(net("len(list((HERE / 'd').glob('*.txt'))) + 3", HERE)), **LISTED}, remove("src/pkg/d/b.txt")
    ),
    "own settings appear": Case(
        {**plain(net(DEFAULTS.format("exists"), HERE)), "src/pkg/all.txt": "4"}, put({"src/pkg/own.txt": "6"})
    ),
    "own settings go": Case(
        {**plain(net(DEFAULTS.format("is_file"), HERE)), "src/pkg/all.txt": "4", "src/pkg/own.txt": "6"},
        remove("src/pkg/own.txt"),
    ),
    "folder appears": Case(plain(net("6 if (HERE / 'runs').is_dir() else 4", HERE)), put({"src/pkg/runs/a": ""})),
    "file becomes a folder": Case(
        {**plain(net("6 if (HERE / 'runs').is_dir() else 4", HERE)), "src/pkg/runs": ""},
        each(remove("src/pkg/runs"), put({"src/pkg/runs/a": ""})),
    ),
    "newest file": Case(
        {
            **plain(net("int(max((HERE / 'd').glob('*'), key=os.path.getmtime).read_text())", f"import os\n{HERE}")),
            "src/pkg/d/a": "4",
            "src/pkg/d/b": "6",
        },
        touch("src/pkg/d/b", 1_900_000_000),
        prepare=each(touch("src/pkg/d/a", 1_700_000_000), touch("src/pkg/d/b", 1_600_000_000)),
    ),
    "larger file": Case(
        {**plain(net("(HERE / 'a').stat().st_size", HERE)), "src/pkg/a": "1234"}, put({"src/pkg/a": "123456"})
    ),
    "link to a file": Case(
        {**plain(net("int((HERE / 'l').read_text())", HERE)), "src/pkg/a": "4", "src/pkg/b": "6"},
        link("src/pkg/l", "b"),
        prepare=link("src/pkg/l", "a"),
    ),
    "link to a folder": Case(
        {**plain(net("int((HERE / 'l' / 'w').read_text())", HERE)), "src/pkg/a/w": "4", "src/pkg/b/w": "6"},
        link("src/pkg/l", "b"),
        prepare=link("src/pkg/l", "a"),
    ),
    "name that a link has": Case(
        {**plain(net("len((HERE / 'l').resolve().name)", HERE)), "src/pkg/step": "", "src/pkg/step12": ""},
        link("src/pkg/l", "step12"),
        prepare=link("src/pkg/l", "step"),
    ),
    "name by realpath": Case(
        {**plain(net("len(os.path.basename(os.path.realpath(HERE / 'l')))", f"import os\n{HERE}")), "src/pkg/step": ""},
        link("src/pkg/l", "step12"),
        prepare=link("src/pkg/l", "step"),
    ),
    "link that led nowhere": Case(
        plain(net("6 if (HERE / 'l').exists() else 4", HERE)), put({"src/pkg/a": ""}), prepare=link("src/pkg/l", "a")
    ),
    "link becomes a file": Case(
        {**plain(net("6 if (HERE / 'l').is_symlink() else 4", HERE)), "src/pkg/a": ""},
        each(remove("src/pkg/l"), put({"src/pkg/l": ""})),
        prepare=link("src/pkg/l", "a"),
    ),
    "link to a module": Case(
        {**plain(net("w.WIDTH", "from pkg import w")), "src/v1.txt": "WIDTH = 4\n", "src/v2.txt": "WIDTH = 6\n"},
        link("src/pkg/w.py", "../v2.txt"),
        prepare=link("src/pkg/w.py", "../v1.txt"),
    ),
    "two files that become the same": Case(
        {
            **plain(net("6 if filecmp.cmp(HERE / 'a', HERE / 'b', shallow=False) else 4", f"import filecmp\n{HERE}")),
            "src/pkg/a": "1",
            "src/pkg/b": "2",
        },
        put({"src/pkg/b": "1"}),
    ),
    "copy that is read": Case(
        {
            **plain(
                net("int(open(shutil.copy(HERE / 'a', tempfile.mkdtemp())).read())", f"import shutil, tempfile\n{HERE}")
            ),
            "src/pkg/a": "4",
        },
        put({"src/pkg/a": "6"}),
    ),
    "file that may not be read": Case(
        {**plain(net("6 if os.access(HERE / 'a', os.F_OK) else 4", f"import os\n{HERE}"))},
        put({"src/pkg/a": ""}),
        guide="os.access",
    ),
}
DATA = {**FORMATS, **PLACES}
