"""Files that compiled code opens: what it is told to read, and what only the kernel sees."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.entries import entries, facts_of
from tests.models.one_layer import net
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import read_request
from torchrecorder.trace.readers import Opened

MakeProject = Callable[[dict[str, str | bytes]], Any]

BESIDE = "import os\nFILE = os.path.join(os.path.dirname(__file__), 'data')\n"


def kernel_reports(folder: Path) -> bool:
    """Whether the kernel lets this process see what it opens."""
    opened = Opened(lambda path, is_changed: None)
    opened.start([str(folder)])
    is_on = opened.is_on
    opened.stop()
    return is_on


@pytest.fixture
def kernel(tmp_path: Path) -> None:
    if sys.platform != "linux" or not kernel_reports(tmp_path):
        pytest.skip("the kernel reports no opened files here")


def follows(project: Any, change: Callable[[], None]) -> None:
    """Draw, change something, and see that it is drawn again, and that nothing is without a change."""
    first, recorded = project.draw()
    assert recorded == 1
    assert project.draw()[1] == 0, f"nothing changed, but {project.finding()}"
    change()
    again, recorded = project.draw()
    assert recorded == 1
    assert again.svg != first.svg


def write_program(file: Path, width: int) -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(3, width)), (torch.ones(1, 3),))
    torch.export.save(program, file)


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_a_program_of_torch_export(make_project: MakeProject) -> None:
    imports = f"{BESIDE}width = torch.export.load(FILE + '.pt2').state_dict['0.weight'].shape[0]\n"
    project = make_project({"src/pkg.py": net("width", imports)})
    file = project.root / "src" / "data.pt2"
    write_program(file, 4)
    follows(project, lambda: write_program(file, 6))


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_a_program_that_is_the_target(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project({"src/pkg.py": ""})
    file = project.root / "src" / "net.pt2"
    target = f"torch.export.load('{file}')"
    write_program(file, 4)
    first, recorded = project.draw(target)
    assert recorded == 1
    assert project.draw(target)[1] == 0
    write_program(file, 6)
    again, recorded = project.draw(target)
    assert recorded == 1
    assert first.svg != again.svg


def test_a_tokenizer(make_project: MakeProject) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers")
    imports = f"{BESIDE}from tokenizers import Tokenizer\nwidth = Tokenizer.from_file(FILE).get_vocab_size()\n"
    project = make_project({"src/pkg.py": net("width", imports)})

    def write(size: int) -> None:
        model = tokenizers.models.WordLevel({f"w{number}": number for number in range(size)}, unk_token="w0")
        tokenizers.Tokenizer(model).save(str(project.root / "src" / "data"))

    write(4)
    follows(project, lambda: write(6))


def test_a_missing_vocabulary_that_is_there_now(make_project: MakeProject) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers")
    imports = f"{BESIDE}from tokenizers import Tokenizer\nwidth = Tokenizer.from_file(FILE).get_vocab_size()\n"
    project = make_project({"src/pkg.py": net("width", imports)})
    request = read_request("pkg.Net", {"shape": "1,3"})

    def run() -> Any:
        return Pipeline(project.settings(), project.worker.open).run([request])[request]

    assert "No such file" in str(run().error)
    model = tokenizers.models.WordLevel({"w": 0, "x": 1}, unk_token="w")
    tokenizers.Tokenizer(model).save(str(project.root / "src" / "data"))
    assert run().error is None


def test_hdf5(make_project: MakeProject) -> None:
    h5py = pytest.importorskip("h5py")
    imports = f"{BESIDE}import h5py\nwith h5py.File(FILE, 'r') as data:\n    width = len(data['x'])\n"
    project = make_project({"src/pkg.py": net("width", imports)})

    def write(size: int) -> None:
        with h5py.File(project.root / "src" / "data", "w") as data:
            data["x"] = [0] * size

    write(4)
    follows(project, lambda: write(6))


def test_parquet(make_project: MakeProject) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    imports = f"{BESIDE}import pyarrow.parquet as pq\nwidth = len(pq.read_table(FILE))\n"
    project = make_project({"src/pkg.py": net("width", imports)})

    def write(size: int) -> None:
        parquet.write_table(pyarrow.table({"x": [0] * size}), project.root / "src" / "data")

    write(4)
    follows(project, lambda: write(6))


def test_sentencepiece(make_project: MakeProject) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    load = "sentencepiece.SentencePieceProcessor(model_file=FILE).vocab_size()"
    project = make_project({"src/pkg.py": net("width", f"{BESIDE}import sentencepiece\nwidth = {load}\n")})

    def write(letters: str) -> None:
        with (project.root / "src" / "data").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter([f"a few words {letters}", "more of it"] * 20),
                model_writer=file,
                vocab_size=40,
                hard_vocab_limit=False,
            )

    write("")
    follows(project, lambda: write("zyx"))


READER = (
    f"{BESIDE}import ctypes\nlibc = ctypes.CDLL(None)\n"
    + """
def length():
    libc.fopen.restype = ctypes.c_void_p
    libc.fgets.argtypes = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
    text = ctypes.create_string_buffer(100)
    libc.fgets(text, 100, libc.fopen(FILE.encode(), b"r"))
    return len(text.value)
"""
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("when", ["at import", "later"])
def test_a_reader_that_no_table_knows(when: str, make_project: MakeProject) -> None:
    imports = READER + ("WIDTH = length()\n" if when == "at import" else "")
    project = make_project({"src/pkg.py": net("WIDTH" if when == "at import" else "length()", imports)})
    project.write({"src/data": "1234"})
    follows(project, lambda: project.write({"src/data": "123456"}))


@pytest.mark.usefixtures("kernel")
def test_a_reader_in_a_package_that_several_diagrams_share(make_project: MakeProject) -> None:
    text = net("WIDTH + length()", f"{READER}WIDTH = length()\n")
    project = make_project({"src/pkg.py": text, "src/data": "12"})
    requests = [read_request("pkg.Net", {"shape": shape}) for shape in ("1,3", "2,3", "4,3")]

    def run() -> int:
        before = project.worker.jobs
        assert not any(it.error for it in Pipeline(project.settings(), project.worker.open).run(requests).values())
        return int(project.worker.jobs - before)

    assert run() == 3
    assert run() == 0
    project.write({"src/data": "1234"})
    assert run() == 3


@pytest.mark.usefixtures("kernel")
def test_what_the_model_itself_writes_is_not_read(make_project: MakeProject) -> None:
    imports = (
        f"{BESIDE}import ctypes\nlibc = ctypes.CDLL(None)\n"
        + """
libc.fopen.restype = ctypes.c_void_p
libc.fputs.argtypes = ctypes.c_char_p, ctypes.c_void_p
libc.fclose.argtypes = ctypes.c_void_p,
file = libc.fopen(FILE.encode(), b"w")
libc.fputs(str(os.getpid()).encode(), file)
libc.fclose(file)
"""
    )
    project = make_project({"src/pkg.py": net("4", imports)})
    assert project.draw()[1] == 1
    assert project.draw()[1] == 0


def database(file: Path, width: int) -> sqlite3.Connection:
    nets = sqlite3.connect(file)
    nets.execute("create table if not exists nets (width int)")
    nets.execute("delete from nets")
    nets.execute(f"insert into nets values ({width})")
    nets.commit()
    return nets


QUERY = "execute('select width from nets').fetchone()[0]"


@pytest.mark.parametrize(
    "address",
    [
        "Path(FILE).as_uri() + ' 2.db?mode=ro'",
        "'file:' + FILE + '%202.db?mode=ro'",
        "'file://localhost' + FILE + '%202.db'",
    ],
)
def test_a_database_by_its_address(address: str, make_project: MakeProject) -> None:
    imports = (
        f"{BESIDE}import sqlite3\nfrom pathlib import Path\nwidth = sqlite3.connect({address}, uri=True).{QUERY}\n"
    )
    imports = imports.replace("as_uri() + ' 2.db", "as_uri() + '%202.db")
    project = make_project({"src/pkg.py": net("width", imports)})
    file = project.root / "src" / "data 2.db"
    database(file, 4).close()
    follows(project, lambda: database(file, 6).close())


@pytest.mark.usefixtures("kernel")
def test_a_database_that_another_process_is_writing(make_project: MakeProject) -> None:
    """What it wrote lies in another file until it closes the database, as Optuna's and MLflow's does."""
    imports = f"{BESIDE}import sqlite3\nwidth = sqlite3.connect(FILE).{QUERY}\n"
    project = make_project({"src/pkg.py": net("width", imports)})
    nets = database(project.root / "src" / "data", 4)
    nets.execute("pragma journal_mode = wal")
    nets.execute("update nets set width = 5")
    nets.commit()

    def change() -> None:
        nets.execute("update nets set width = 6")
        nets.commit()

    follows(project, change)
    nets.close()


@pytest.mark.usefixtures("kernel")
def test_a_database_that_another_attaches(make_project: MakeProject) -> None:
    imports = (
        f"{BESIDE}import sqlite3\nnets = sqlite3.connect(':memory:')\nnets.execute(f'attach {{FILE!r}} as other')\n"
        "width = nets.execute('select width from other.nets').fetchone()[0]\n"
    )
    project = make_project({"src/pkg.py": net("width", imports)})
    file = project.root / "src" / "data"
    database(file, 4).close()
    follows(project, lambda: database(file, 6).close())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_starts_anew_cannot_be_followed(method: str, make_project: MakeProject) -> None:
    imports = f"""
import multiprocessing, os
def width():
    context = multiprocessing.get_context("{method}")
    process = context.Process(target=os.getpid)
    process.start()
    process.join()
    return 4
"""
    project = make_project({"src/pkg.py": net("width()", imports)})
    project.draw()
    assert "spawns a process" in facts_of(entries(project.settings().cache)[0])["untracked"]


def test_a_program_is_named_once(make_project: MakeProject) -> None:
    project = make_project({"src/pkg.py": net("4", "import subprocess\nsubprocess.run(['true'])")})
    project.draw()
    assert facts_of(entries(project.settings().cache)[0])["untracked"] == ["starts true"]


def test_no_debugger_is_seen(make_project: MakeProject) -> None:
    """python-dotenv takes a trace for a debugger, and then looks for its file from the current folder."""
    imports = "import sys\nWIDTH = 4 if sys.gettrace() is None else 9\ndef later():\n    return sys.gettrace()\n"
    project = make_project({"src/pkg.py": net("WIDTH if later() is None else 9", imports)})
    assert project.draw()[0].svg == make_project({"src/pkg.py": net("4")}).draw()[0].svg
