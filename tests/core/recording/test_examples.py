"""Arguments that a class can be built with, found where its project shows them: read, never run."""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from torch import nn

from torchrecorder.errors import InputError, TargetBuildFailed
from torchrecorder.graph import Graph
from torchrecorder.recording import examples
from torchrecorder.recording.examples import Way, arguments_found
from torchrecorder.recording.written.values import LARGEST
from torchrecorder.request import RecordingRequest
from torchrecorder.trace import mentions
from torchrecorder.trace.trace import Executed
from torchrecorder.worker.job import record

NETS = """
    import enum
    from dataclasses import dataclass
    import torch
    from torch import nn

    class Kind(enum.Enum):
        PLAIN = "plain"

    @dataclass
    class Config:
        pieces: int = 3

    class Net(nn.Module):
        '''A net.'''
        def __init__(self, pieces, act=nn.ReLU, kind=Kind.PLAIN, head=None, weights=None):
            super().__init__()
            pieces = getattr(pieces, "pieces", pieces)
            self.enter, self.act = nn.Linear(pieces, 5), act()
            self.leave = head or nn.Linear(5, 2)

        def forward(self, x):
            return self.leave(self.act(self.enter(x)))
"""


class Project:
    """A package in a folder with tests and pages; packages have names of their own, since modules stay imported."""

    numbers = itertools.count()

    def __init__(self, folder: Path) -> None:
        self.folder, self.package = folder, f"shown{next(self.numbers)}"
        self.write("pyproject.toml", "")
        self.write(f"src/{self.package}/__init__.py", NETS)
        sys.path.insert(0, str(folder / "src"))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).replace("PKG", self.package))

    def cls(self, name: str = "Net") -> type[nn.Module]:
        found: type[nn.Module] = getattr(importlib.import_module(self.package), name)
        return found

    def ways(self, name: str = "Net") -> list[Way]:
        return list(arguments_found(self.cls(name)))

    def notes(self, name: str = "Net") -> list[str]:
        return [way.note for way in self.ways(name)]

    def graph(self, target: str = "Net") -> Graph:
        return record(RecordingRequest(f"{self.package}.{target}"), [self.package])


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    sys.path.remove(str(tmp_path / "src"))


def shapes(graph: Graph) -> list[tuple[int | str, ...]]:
    return [tuple(it.meta.shape) for it in graph.values if it.kind == "input" and it.meta]


CALLS = {
    "a call with numbers": ("from PKG import Net\nNet(7)", 2, "Net(7)"),
    "under another name": ("import PKG as p\nmake = p.Net\nmake(pieces=7)", 3, "Net(pieces=7)"),
    "by names of constants": ("from PKG import Net\nSIZE = 3 + 4\ndef test():\n    Net(SIZE)", 4, "Net(7)"),
    "a dictionary that is spread": ("from PKG import Net\nP = {'pieces': 7}\nNet(**P)", 3, "Net(pieces=7)"),
    "a relative import": ("from ..nets import Net\nNet(7)", 2, "Net(7)"),
    "classes and members of enums": (
        "from torch import nn\nfrom PKG import Net, Kind\nNet(7, nn.Tanh, kind=Kind.PLAIN)",
        3,
        "Net(7, Tanh, kind=Kind.PLAIN)",
    ),
    "an object of a dataclass": ("from PKG import Config, Net\nNet(Config(pieces=7))", 2, "Net(Config(pieces=7))"),
    "a layer": (
        "import torch.nn as nn\nfrom PKG import Net\nNet(7, head=nn.Linear(5, 1))",
        3,
        "Net(7, head=Linear(5, 1))",
    ),
    "a loop over cases": (
        "from PKG import Net\ncases = []\nfor n in [7, 8]:\n    cases.append({'pieces': n})\n"
        "for case in cases:\n    Net(**case)",
        6,
        "Net(pieces=7)",
    ),
    "a branch that is decided": (
        "from PKG import Net\nn = 7 if 1 > 0 else 8\nif n == 8:\n    Net(1)\nNet(n)",
        5,
        "Net(7)",
    ),
    "pytest's tables": (
        "import pytest\nfrom PKG import Net\n@pytest.mark.parametrize('n, k', [(7, 1), (8, 2)])\n"
        "def test(n, k):\n    Net(n)",
        5,
        "Net(7)",
    ),
    "tables of unittest": (
        "from parameterized import parameterized\nfrom PKG import Net\nCASE = [{'pieces': 7}, (2, 7)]\n"
        "class T:\n  @parameterized.expand([CASE])\n  def test(self, params, shape):\n    Net(**params)",
        7,
        "Net(pieces=7)",
    ),
    "what is set up before": (
        "from parameterized import parameterized\nfrom PKG import Net\nclass T:\n"
        "  @parameterized.expand([[1]])\n  def test(self, n):\n    Net(self.size + n)\n"
        "  def setUp(self):\n    self.size = 6",
        6,
        "Net(7)",
    ),
    "numbers of a tensor that are set": (
        "import torch\nfrom PKG import Net\nmask = torch.zeros(7)\nmask[2:] = 1\nNet(mask.shape[0])",
        5,
        "Net(7)",
    ),
    "a fixture": (
        "import pytest\nfrom PKG import Net\n@pytest.fixture\ndef size():\n  return 7\ndef test(size):\n  Net(size)",
        7,
        "Net(7)",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_in_tests(project: Project, name: str) -> None:
    text, line, call = CALLS[name]
    project.write("tests/test_net.py", text)
    first = project.ways()[0]
    assert (first.note, first.grade) == (f"built as in tests/test_net.py:{line}: {call}", "declared")
    assert first.place == f"tests/test_net.py:{line}"


UNUSED = {
    "what does not parse": "from PKG import Net\nNet(7",
    "what is refused": "import pytest\nfrom PKG import Net\nwith pytest.raises(ValueError):\n    Net(7)",
    "a class of that name that is another": "from collections import OrderedDict as Net\nNet(7)",
    "what a file holds": "from PKG import Net\nNet(int(open('size.txt').read()))",
    "what a function of the project gives": "from PKG import Net, sizes\nNet(sizes())",
    "an object of a test": "from PKG import Net\nclass Own:\n    pass\nNet(Own())",
    "what is changed afterwards": "from PKG import Net\nclass C: pass\nc = C()\nc.size = 7\nNet(c)",
    "too little": "from PKG import Net\nNet(kind=1)",
    "what it does not take": "from PKG import Net\nNet(7, depth=3)",
    "a list that never ends": f"from PKG import Net\nNet([0] * {LARGEST} * {LARGEST})",
    "a list that doubles": "from PKG import Net\nx = [1]\n" + "x = x + x\n" * 40 + "Net(x)",
    "a list that doubles where it is": "from PKG import Net\nx = [1]\n" + "x.extend(x)\n" * 40 + "Net(x)",
    "lists of lists that double": "from PKG import Net\nx = [1]\n" + "x = [x, x]\n" * 60 + "Net(x)",
    "copies of a list in it": "from PKG import Net\nx = [1]\n" + "x.append(list(x))\n" * 60 + "Net(x)",
    "a list in itself": "from PKG import Net\nx = [1]\nx.append(x)\nNet(x)",
    "a text that doubles": "from PKG import Net\nx = 'a'\n" + "x = f'{x}{x}'\n" * 40 + "Net(x)",
    "a power that never ends": "from PKG import Net\nNet(9 ** 9 ** 9 ** 9)",
}


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_not_used(project: Project, name: str) -> None:
    project.write("tests/test_net.py", UNUSED[name])
    assert project.notes() == []


def test_files_that_cannot_be_read_and_the_next_one(project: Project) -> None:
    project.folder.joinpath("tests").mkdir()
    project.folder.joinpath("tests/test_latin.py").write_bytes(b"from shown import Net\n# \xe9\nNet(3)")
    project.folder.joinpath("tests/net.yaml").write_bytes(b"Net:\n  pieces: 4 # \xe9\n")
    project.folder.joinpath("tests/test_huge.py").write_text("Net(5)\n" + "# \n" * 400_000)
    project.folder.joinpath("tests/test_away.py").symlink_to(project.folder / "nowhere.py")
    project.write("tests/test_other.py", "import not_installed_anywhere\nfrom PKG import Net\nNet(7)")
    assert project.notes() == ["built as in tests/test_other.py:3: Net(7)"]


def test_nothing_that_is_read_is_run(project: Project) -> None:
    log = project.folder / "ran"
    touch = f"__import__('pathlib').Path({str(log)!r}).touch()\n"
    project.write("tests/test_net.py", f"{touch}from PKG import Net\nNet(7)")
    project.write("README.md", f"```python\n{touch}Net(8)\n```\n")
    factory = f"\ndef make(n=9):\n    {touch}    return Net(n)\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + factory)
    assert [way.args for way in project.ways()] == [(7,), (8,), (9,)]
    assert shapes(project.graph()) == [(1, 7)]
    assert not log.exists()


def test_pages_and_configurations(project: Project) -> None:
    project.write("docs/use.md", "Net\n\n```python\nfrom PKG import Net\n\nnet = Net(7)\n```\n")
    project.write("docs/use.rst", "Net\n\n.. code-block:: python\n\n   net = Net(8)\n\nText.\n")
    assert project.notes() == ["built as in docs/use.md:6: Net(7)", "built as in docs/use.rst:5: Net(8)"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("net.json", '{"model": {"_target_": "PKG.Net", "pieces": 7}}'),
        ("net.yaml", "model:\n  class_path: PKG.Net\n  init_args: {pieces: 7}\n"),
        ("train.yml", "model: {name: Net, params: {pieces: 7}}\nlr: 0.1\n"),
    ],
)
def test_tables_of_configurations(project: Project, name: str, text: str) -> None:
    project.write(f"configs/{name}", text)
    assert project.notes() == [f"built as in configs/{name}: Net(pieces=7)"]


def test_inputs_that_stand_beside_come_first(project: Project) -> None:
    test = "import torch\nfrom PKG import Net\ndef test():\n    Net(6)\n"
    project.write("tests/test_net.py", f"{test}    net = Net(7).eval()\n    net(torch.randn(3, 4, 7))")
    graph = project.graph()
    assert graph.info.notes == ("built as in tests/test_net.py:5: Net(7)",)
    assert (shapes(graph), graph.info.grade) == ([(3, 4, 7)], "declared")
    assert graph.info.guessed == "x=3,4,7, from tests/test_net.py:6"


def test_the_first_of_two_examples_that_works(project: Project) -> None:
    project.write("tests/test_net.py", "from PKG import Net\nNet('five')\nNet(-1)\nNet(7)")
    assert project.graph().info.notes == ("built as in tests/test_net.py:4: Net(7)",)


def test_what_the_author_writes_is_taken_as_it_is(project: Project) -> None:
    project.write("tests/test_net.py", "from PKG import Net\nNet(7)")
    assert project.graph("Net(9)").info.notes == ()
    with pytest.raises(TargetBuildFailed, match="missing 1 required positional argument: 'pieces'"):
        project.graph("Net()")


def test_the_error_if_nothing_is_found_says_what_is_missing(project: Project) -> None:
    with pytest.raises(TargetBuildFailed, match="missing 1 required positional argument: 'pieces'") as raised:
        project.graph()
    assert f"give the arguments in the target, as in {project.package}.Net(pieces=…)" in str(raised.value)


PACKAGE = """
    class Wide(Net):
        def __init__(self, factor=2):
            super().__init__(7 * factor)

    def net(block=nn.Tanh, **others):
        return Net(7, block, **others)

    def private(anything):
        return Net(anything)
"""


def test_the_package_itself(project: Project) -> None:
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(PACKAGE))
    start = f"built as in src/{project.package}/__init__.py"
    lines = len(dedent(NETS).splitlines())
    assert project.notes() == [f"{start}:{lines + 4}: Net(14)", f"{start}:{lines + 7}: Net(7, Tanh)"]


def test_a_class_of_the_package_that_takes_the_same(project: Project) -> None:
    other = "\nclass Other(nn.Module):\n    def __init__(self, pieces=6, more=None):\n        super().__init__()\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + other)
    (way,) = project.ways()
    assert (way.note, way.grade) == ("built with what Other takes by default: Net(pieces=6)", "model")


def test_what_a_class_near_it_is_built_with(project: Project) -> None:
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + "\nclass Wide(Net):\n    pass\n")
    project.write("tests/test_wide.py", "from PKG import Wide\nWide(pieces=7, kind=2)")
    (way,) = project.ways()
    assert (way.note, way.grade) == ("built as in tests/test_wide.py:2, where Wide is: Net(pieces=7)", "model")


def test_what_the_docstring_of_a_class_near_it_shows(project: Project) -> None:
    wide = '\nclass Wide(Net):\n    """A net.\n\n    >>> Wide(pieces=7, kind=2)\n    """\n'
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + wide)
    (way,) = project.ways()
    assert way.note == "built as in an example in the docstring of Wide: Net(pieces=7)"


def test_a_class_near_it_shows_a_part_and_names_the_rest(project: Project) -> None:
    wide = """
        class Tagger(Net):
            def __init__(self, pieces, num_classes):
                super().__init__(pieces)
                self.tags = nn.Linear(2, num_classes)
    """
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(wide))
    project.write("tests/test_net.py", "from PKG import Net\nNet(pieces=7)")
    (way,) = project.ways("Tagger")
    assert way.kwargs == {"pieces": 7, "num_classes": 4}
    assert way.note == (
        "built as in tests/test_net.py:2, where Net is: Tagger(pieces=7), with num_classes=4, as the names suggest"
    )
    assert way.grade == "names"


def test_what_is_refused_ends_with_its_block(project: Project) -> None:
    refused = "    with pytest.raises(RuntimeError):\n        Net(3)(torch.rand(2, 3).reshape(5))\n"
    code = f"import pytest, torch\nfrom PKG import Net\ndef test_refused():\n{refused}def test_net():\n    Net(7)\n"
    project.write("tests/test_net.py", code)
    assert project.notes() == ["built as in tests/test_net.py:7: Net(7)"]


def test_prompts_of_a_page_are_at_their_lines(project: Project) -> None:
    page = ">>> from PKG import Net\n>>> size = 7\n\nAnd then\n\n>>> net = Net(\n...     size,\n... )\n"
    project.write("README.md", f"A page.\n\n```python\n{page}```\n")
    assert project.notes() == ["built as in README.md:9: Net(7)"]


def test_a_package_with_objects_that_answer_nothing(project: Project) -> None:
    odd = "\nclass Meta(type(nn.Module)):\n    def __subclasscheck__(cls, other):\n        raise RuntimeError(1)\n"
    odd += "class Odd(nn.Module, metaclass=Meta):\n    pass\ndef net():\n    return Net(7)\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + odd)
    assert [way.args for way in project.ways()] == [(7,)]


SHARED = """
    from typing import Sequence
    from torch import nn

    class Net(nn.Module):
        def __init__(self, {}):
            super().__init__()
"""


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("in_channels, num_classes", {"in_channels": 3, "num_classes": 4}),
        ("dim: int, num_heads: int", {"dim": 64, "num_heads": 4}),
        ("classes: Sequence[str], n_leads: int", {"classes": ["A", "B", "C", "D"], "n_leads": 12}),
        ("img_size: tuple[int, int], patch_size: int", {"img_size": (64, 64), "patch_size": 8}),
        ("in_channels: str", None),
        ("in_channels, mystery", None),
        ("dim: nn.Module", None),
    ],
)
def test_names_that_the_field_shares(project: Project, parameters: str, expected: dict[str, object] | None) -> None:
    project.write(f"src/{project.package}/__init__.py", SHARED.format(parameters))
    ways = project.ways()
    assert [way.kwargs for way in ways] == ([] if expected is None else [expected])
    assert all(way.grade == "names" for way in ways)


def test_a_search_costs_little(project: Project) -> None:
    for i in range(1_000):
        project.write(f"tests/test_{i}.py", f"import PKG\nVALUE = {i}\n" * 50)
    long = "\n".join(f"def test_{i}():\n    net = Net(size)\n    assert net({i})\n" for i in range(3_300))
    project.write("tests/test_long.py", f"from PKG import Net\nsize = 7\n{long}")
    cls = project.cls()
    start = time.process_time()
    first = next(arguments_found(cls))
    assert time.process_time() - start < 2
    assert first.note == "built as in tests/test_long.py:4: Net(7)"


def test_functions_given_to_functions_are_not_searched(project: Project) -> None:
    functions = "".join(f"def f{i}(n):\n    return n\n" for i in range(30))
    given = "".join(f"parser.add_argument(name, type=f{i})\n" for i in range(30))
    project.write("tests/test_net.py", f"from PKG import Net\n{functions}{given}Net(7)")
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert project.notes() == ["built as in tests/test_net.py:92: Net(7)"]
    finally:
        sys.setprofile(None)
    assert calls < 100_000  # 25,000; their scope holds them all, so that each is in itself


def test_a_trace_of_calls_does_not_hear_of_reading(project: Project) -> None:
    project.write("tests/test_net.py", "from PKG import Net\nNet(7)")
    cls = project.cls()
    heard: set[str] = set()
    executed = Executed(lambda path: None, lambda module: None)
    executed._note = lambda code: heard.add(code.co_qualname)  # type: ignore[method-assign]
    executed.start()
    try:
        assert len([*arguments_found(cls)]) == 1
        dedent("behind it")
    finally:
        assert executed.stop()
    assert "dedent" in heard
    if sys.version_info < (3, 12):  # where a function is heard of once
        assert not {name for name in heard if name.startswith(("Reader.run", "Expressions.value", "_walked"))}


def test_classes_near_one_are_looked_at_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    wants = "\nclass Wants(Net):\n    def __init__(self, pieces, mystery):\n        super().__init__(pieces)\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + wants)
    project.write("tests/test_net.py", "from PKG import Net\nNet(7)")
    asked: list[str] = []
    written = examples._written
    monkeypatch.setattr(
        examples,
        "_written",
        lambda cls, place: asked.append(cls.__name__) or written(cls, place),  # type: ignore[func-returns-value]
    )
    assert project.ways("Wants") == []
    assert asked == ["Wants", "Net"]


def test_what_holds_itself_is_not_given(project: Project) -> None:
    project.write("tests/test_net.py", "from PKG import Net\nx = []\nx.append(x)\nx.append(x)\nNet(x)\nNet(7)")
    assert project.notes() == ["built as in tests/test_net.py:6: Net(7)"]


def test_an_installed_package_has_no_project_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lib/site-packages/away"
    place = mentions.Place.of(str(package / "nets.py"), "away")
    assert place == (package, package)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src/away").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert mentions.Place.of(str(package / "nets.py"), "away") == (tmp_path, package)


def test_examples_in_docstrings_with_names(project: Project) -> None:
    text = dedent(NETS).replace(
        "A net.", "A net.\n\n    >>> SIZE = 7\n    >>> cfg = {'pieces': SIZE}\n    >>> net = Net(**cfg)\n"
    )
    project.write(f"src/{project.package}/__init__.py", text)
    assert project.notes() == ["built as in an example of its docstring: Net(pieces=7)"]


@pytest.mark.parametrize(
    "text",
    [
        "    Examples::\n\n        # seven pieces\n        net = Net((7,)[0])\n\n    Text.\n",
        "    Example:\n        net = Net(7)",
        "    .. code-block:: python\n\n        net = Net(7)\n",
        "    ```python\n    net = Net(7)\n    ```\n",
    ],
)
def test_code_in_docstrings(project: Project, text: str) -> None:
    nets = dedent(NETS).replace(
        "A net.", f"A net.\n\n{text}\n    Note:\n        Net(8) is not an example: it is refused.\n    "
    )
    project.write(f"src/{project.package}/__init__.py", nets)
    assert project.notes() == ["built as in an example of its docstring: Net(7)"]


TRAINED = """
    class Trained(Net):
        def __init__(self, {parameters}):
            if pretrained:
                raise ImportError("a library that fetches them")
            super().__init__(pieces)
"""


@pytest.mark.parametrize(
    ("parameters", "note"),
    [
        ("pieces=7, pretrained=True", "built with pretrained=False, since a picture needs no weights"),
        ("pieces=7, pretrained='large'", "built with pretrained=None, since a picture needs no weights"),
        (
            "pieces, pretrained=False",
            "built as in tests/test_net.py:2: Trained(pieces=7, pretrained=True), with pretrained=False, "
            "since a picture needs no weights",
        ),
    ],
)
def test_weights_that_cannot_be_had(project: Project, parameters: str, note: str) -> None:
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(TRAINED).format(parameters=parameters))
    project.write("tests/test_net.py", "from PKG import Trained\nTrained(pieces=7, pretrained=True)")
    assert project.graph("Trained").info.notes == (note,)
    with pytest.raises(TargetBuildFailed, match="a library that fetches them"):
        project.graph("Trained(pieces=7, pretrained=True)")


def test_a_file_of_weights_is_not_read(project: Project) -> None:
    project.write("tests/test_net.py", "from PKG import Net\nNet(7, weights='net.pth')")
    (note,) = project.notes()
    assert note.endswith("Net(7, weights='net.pth'), with weights=None, since a picture needs no weights")


def test_weights_that_are_there_are_asked_for_as_in_the_example(project: Project) -> None:
    trained = dedent(TRAINED).format(parameters="pieces, pretrained=False").replace("raise ImportError", "print")
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + trained)
    project.write("tests/test_net.py", "from PKG import Trained\nTrained(pieces=7, pretrained=True)")
    (note,) = project.graph("Trained").info.notes
    assert note == "built as in tests/test_net.py:2: Trained(pieces=7, pretrained=True)"


def test_an_example_that_reads_weights_comes_before_one_that_does_not(project: Project) -> None:
    asked = """
        class Asked(Net):
            def forward(self, x, classes=None):
                return x * 0 - 1 if classes is None else super().forward(x) + classes
    """
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(asked))
    call = "import torch\nfrom PKG import Asked\nAsked(7)(torch.rand(2, 7))\n"
    project.write("tests/test_net.py", call)
    assert len(project.graph("Asked").inputs) == 1
    for other in ("pieces=7", "7"):  # built otherwise, or only called otherwise
        project.write("tests/test_net.py", f"{call}Asked({other})(torch.rand(2, 7), classes=torch.rand(2, 2))\n")
        assert len(project.graph("Asked").inputs) == 2
    assert len(record(RecordingRequest(f"{project.package}.Asked(7)", shape="2,7"), [project.package]).inputs) == 1


def test_inputs_of_a_class_that_needs_no_arguments(project: Project) -> None:
    net = "\nclass Any(nn.Module):\n    def forward(self, x):\n        return (x * 2).sum(1)\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + net)
    assert project.graph("Any").info.grade == "names"
    project.write("tests/test_any.py", "import torch\nfrom PKG import Any\nAny()(torch.rand(2, 5))")
    graph = project.graph("Any")
    assert (graph.info.grade, shapes(graph)) == ("declared", [(2, 5)])


def test_inputs_of_a_class_with_the_same_forward(project: Project) -> None:
    nets = """
        class Any(nn.Module):
            def forward(self, x):
                return (x * 2).sum(1)

        class Same(Any):
            pass

        class Other(Any):
            def forward(self, x):
                return (x * 3).sum(2)

        class Chain(nn.Module):
            def __init__(self, *parts):
                super().__init__()

            def forward(self, x):
                return (x * 3).sum(2)

        class Made(Chain):
            pass
    """
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(nets))
    calls = "Any()(torch.rand(2, 5))\nChain()(torch.rand(4, 4, 4))"
    project.write("tests/test_any.py", f"import torch\nfrom PKG import Any, Chain\n{calls}")
    same, other = project.graph("Same"), project.graph("Other")
    assert project.graph("Made").info.grade == "names"
    assert (same.info.grade, shapes(same)) == ("model", [(2, 5)])
    assert same.info.guessed == "x=2,5, from tests/test_any.py:3"
    assert other.info.grade == "names"


def test_an_example_whose_forward_refuses_is_no_answer(project: Project) -> None:
    text = dedent(NETS).replace("return self.leave", "raise RuntimeError('never')\n        return self.leave")
    project.write(f"src/{project.package}/__init__.py", text)
    project.write("tests/test_net.py", "import torch\nfrom PKG import Net\nNet(7)(torch.rand(1, 7))")
    with pytest.raises(InputError, match="Net is called with inputs of unknown shape"):
        project.graph()


def test_a_guess_from_names_counts_if_an_example_cannot_be_built(project: Project) -> None:
    net = "\nclass Any(nn.Module):\n    def forward(self, x):\n        return (x * 2).sum(1)\n"
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + net)
    project.write("tests/test_any.py", "from PKG import Any\nAny(*[])\nAny(**{})")
    assert project.graph("Any").info.grade == "names"


CONFIGURED = """
    from __future__ import annotations
    from dataclasses import dataclass, field
    from typing import Any, Optional
    import torch
    from torch import nn

    class BaseConfig:
        pass

    @dataclass
    class Inner:
        width: int = 5

    @dataclass
    class NetConfig(BaseConfig):
        pieces: int = 3
        inner: Inner = field(default_factory=Inner)

    @dataclass
    class Wanting:
        hidden_dim: int
        inner: Inner

    class PlainOptions:
        def __init__(self, pieces=3):
            self.pieces = pieces

    @dataclass
    class StrangeConfig:
        mystery: int

    class {name}(nn.Module):
        def __init__(self, {parameters}):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))

        def forward(self, x):
            return self.layers(x)
"""


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("Net", "config: NetConfig", "alone: Net(config=NetConfig())"),
        ("Net", "settings: Optional[NetConfig] = None", "alone: Net(settings=NetConfig())"),
        ("Net", "config", "alone: Net(config=NetConfig())"),
        ("NetModel", "config: dict[str, Any]", "alone: NetModel(config=NetConfig())"),
        ("NetForWords", "config: BaseConfig", "alone: NetForWords(config=NetConfig())"),
        ("Other", "options: PlainOptions", "alone: Other(options=PlainOptions())"),
        ("Other", "how: Inner", "alone: Other(how=Inner())"),
        (
            "Other",
            "how: Wanting, num_classes: int",
            "and what names suggest: Other(how=Wanting(hidden_dim=64, inner=Inner()), num_classes=4)",
        ),
        ("Strange", "config: StrangeConfig", ""),
        ("Net", "config: NetConfig, mystery", ""),
        ("Net", "layers: list[NetConfig]", ""),
        ("Other", "config", ""),
        ("Other", "head: nn.Module", ""),
    ],
)
def test_configurations(project: Project, name: str, parameters: str, expected: str) -> None:
    nets = CONFIGURED.format(name=name, parameters=parameters)
    project.write(f"src/{project.package}/__init__.py", nets)
    notes = [way.note for way in project.ways(name)]
    assert notes == ([f"built with the defaults of its configuration {expected}"] if expected else [])
    if expected:
        if "None" not in parameters:  # it is built without one
            request = RecordingRequest(f"{project.package}.{name}")
            assert record(request, [project.package], is_trial=True).info.notes[0] == notes[0]
        assert [way.grade for way in project.ways(name)] == ["names" if "suggest" in expected else "model"]


def test_a_configuration_that_a_test_shows_comes_first(project: Project) -> None:
    project.write(f"src/{project.package}/__init__.py", CONFIGURED.format(name="Net", parameters="config: NetConfig"))
    project.write("tests/test_net.py", "from PKG import Net, NetConfig\nNet(NetConfig(pieces=7))")
    assert [way.note for way in project.ways()][:2] == [
        "built as in tests/test_net.py:2: Net(NetConfig(pieces=7))",
        "built with the defaults of its configuration alone: Net(config=NetConfig())",
    ]


def test_a_configuration_that_fails_is_advised_of(project: Project) -> None:
    nets = CONFIGURED.format(name="Strange", parameters="config: StrangeConfig")
    project.write(f"src/{project.package}/__init__.py", nets)
    with pytest.raises(TargetBuildFailed, match="write a function of three lines"):
        project.graph("Strange")


def test_what_is_set_before_the_call_is_set_again(project: Project) -> None:
    net = """
        class Timed(Net):
            def __init__(self, pieces):
                super().__init__(pieces)
                self.now = None

            def set_timestep(self, timestep):
                self.now = timestep

            def set_nothing(self):
                raise RuntimeError("never")

            def forward(self, x):
                return super().forward(x) + self.now
    """
    project.write(f"src/{project.package}/__init__.py", dedent(NETS) + dedent(net))
    test = """
        import torch
        from PKG import Timed
        def test():
            timed = Timed(7)
            timed.set_nothing()
            timed.set_timestep(timestep=torch.randint(0, 9, size=(1, 1)))
            timed.set_unread(somewhere.read())
            timed(torch.rand(1, 7))
            timed.set_timestep(None)
    """
    project.write("tests/test_net.py", test)
    graph = project.graph("Timed")
    inner = """
        import torch
        from PKG import Timed, compare
        def test():
            timed, now = Timed(7), torch.rand(1, 1)
            def again(x):
                timed.set_timestep(timestep=now)
                def never():
                    again(x)
                return old(x)
            old, timed.forward = timed.forward, again
            compare(timed)
    """
    project.write("tests/test_net.py", inner)
    assert project.graph("Timed").info.notes == ("built as in tests/test_net.py:5: Timed(7), then set_timestep(…)",)
    assert graph.info.notes[0] == "built as in tests/test_net.py:5: Timed(7), then set_nothing(…), then set_timestep(…)"
    assert shapes(graph) == [(1, 7)]
