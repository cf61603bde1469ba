"""Models that misbehave, as data: code at import, while it is made, or in the forward, and what must be said of it."""

from __future__ import annotations

import html
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from tests.models.one_layer import net
from tests.soaked import Tally


@dataclass(frozen=True)
class Bad:
    """A model with code of its own; a diagram is drawn if no words are given."""

    words: str = ""
    """A part of the error, or others after `|`; a bare `|` allows a diagram and an error."""
    forward: str = ""
    made: str = ""
    imports: str = ""

    @property
    def timeout_s(self) -> int:
        """The time that it may take: on a busy machine much, but for what never ends."""
        return 4 if TIMEOUT in self.words else 60

    def text(self) -> str:
        """The text of its module."""
        text = net(4, self.imports)
        text = (
            text.replace("        return", f"{indent(self.forward, ' ' * 8)}\n        return") if self.forward else text
        )
        return (
            text.replace("super().__init__()", f"super().__init__()\n{indent(self.made, ' ' * 8)}")
            if self.made
            else text
        )


def raises(code: str, words: str, imports: str = "") -> Bad:
    return Bad(words, code, imports=imports)


def layer(members: str) -> Bad:
    """A model with a layer whose class has members of its own."""
    return Bad("|", made=f"self.act = type('Act', (nn.ReLU,), {{{members}}})()", forward="x = self.act(x)")


OS = "import os, signal, sys, threading, time, resource, gc, json, warnings"
SLEEPS = f"""{OS}
import subprocess
SLEEP = [sys.executable, '-c', 'import time; time.sleep(1000)', os.environ.get('SOAK_MARK', '')]"""
TIMEOUT = "longer than 4 s"

ENDS = {
    "exit": Bad("exit status 3", "os._exit(3)", imports=OS),
    "sys exit": Bad("sys.exit(4)", "sys.exit(4)", imports=OS),
    "abort": Bad("SIGABRT", "os.abort()", imports=OS),
    "segmentation fault": Bad("SIGSEGV", "import ctypes; ctypes.string_at(0)", imports=OS),
    "bus error": Bad("SIGBUS", "os.kill(os.getpid(), signal.SIGBUS)", imports=OS),
    "killed": Bad("SIGKILL", "os.kill(os.getpid(), signal.SIGKILL)", imports=OS),
    "group ended": Bad("SIGTERM", "os.killpg(0, signal.SIGTERM)", imports=OS),
    "alarm": Bad("SIGALRM", "signal.alarm(1); time.sleep(3)", imports=OS),
    "stopped": Bad(TIMEOUT, "os.kill(os.getpid(), signal.SIGSTOP)", imports=OS),
    "loop": Bad(TIMEOUT, "while True: pass", imports=OS),
    "loop that ignores signals": Bad(
        TIMEOUT,
        "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
        imports=OS,
    ),
    "wait for a lock": Bad(TIMEOUT, "lock = threading.Lock(); lock.acquire(); lock.acquire()", imports=OS),
    "deep in C": Bad(TIMEOUT, "import re; re.match(r'(a|a)*$', 'a' * 60 + 'b')", imports=OS),
    "interrupt": Bad("KeyboardInterrupt", "raise KeyboardInterrupt"),
    "recursion": Bad("RecursionError", "self(x)"),
    "recursion in C": Bad("RecursionError|SIGSEGV|longer", "a = []\nfor _ in range(10 ** 6): a = [a]\nrepr(a)"),
    "memory": Bad("MemoryError", "bytearray(64 << 30)"),
    "exit at import": Bad("exit status 5", imports="import os; os._exit(5)"),
    "sys exit at import": Bad("sys.exit", imports="import sys; sys.exit(6)"),
    "loop at import": Bad(TIMEOUT, imports="while True: pass"),
    "exit while it is made": Bad("exit status 7", made="import os; os._exit(7)"),
    "graphics card": Bad("", "x = x.to('cuda:7')"),  # the processor stands for it, which the log says
    "hangs at the end": Bad("", imports="import atexit, time\natexit.register(time.sleep, 1000)"),
}
FAILS = {
    "syntax": Bad("SyntaxError", imports="def ("),
    "bytes that are no text": Bad("SyntaxError|null bytes", imports="x = '\0'"),
    "missing module": Bad("soak_missing", imports="import soak_missing"),
    "missing name": Bad("cannot import name", imports="from os import soak_missing"),
    "circular import": Bad("circular|partially initialized", imports="import {name}; {name}.Net"),
    "error at import": Bad("ValueError", imports="raise ValueError('no')"),
    "error while it is made": Bad("KeyError", made="{}['width']"),
    "half a pair": raises("raise ValueError('no file \\udcff')", "no file"),
    "error without words": raises("class E(Exception):\n    def __str__(self): raise RuntimeError('x')\nraise E", "E"),
    "base exception": raises("class E(BaseException): pass\nraise E('bare')", "bare"),
    "group of errors": raises("raise ExceptionGroup('many', [ValueError('one'), KeyError('two')])", "many"),
    "error that is its own cause": raises("e = ValueError('round')\ne.__cause__ = e\nraise e", "round"),
    "long chain of errors": raises(
        "e = None\nfor i in range(3000):\n    n = ValueError(str(i)); n.__cause__ = e; e = n\nraise e", "2999"
    ),
    "error that needs arguments": raises(
        "class E(Exception):\n    def __init__(self, a, b): super().__init__(f'{a} and {b}')\nraise E(1, 2)", "1 and 2"
    ),
    "error of a class without module": raises("raise type('E', (Exception,), {'__module__': None})('lost')", "lost"),
    "error with a wrong name": raises("raise type('<b>E\\n', (Exception,), {})('named')", "named"),
    "end of an iterator": raises("raise StopIteration", "StopIteration"),
    "end of a generator": raises("raise GeneratorExit", "GeneratorExit"),
    "error of 10 MB": raises("raise ValueError('no! ' * 2_500_000)", "no! no!"),
    "error of 10,000 lines": raises("raise ValueError('line\\n' * 10_000)", "line"),
    "error in another thread's pool": raises(
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(1).submit(lambda: 1 / 0).result()",
        "ZeroDivisionError",
    ),
    "control characters": raises("raise ValueError('\\x1b[2J\\x07\\0\\u202eback')", "back"),
    "warning as an error": raises("warnings.simplefilter('error'); warnings.warn('be warned')", "be warned", OS),
    "shape that does not fit": raises("x = x[:, :2]", "mat1 and mat2"),
    "input from the keyboard": raises("input('width? ')", "EOF"),
    "coroutine": raises("async def run(): raise OSError('late')\nimport asyncio\nasyncio.run(run())", "late"),
}
LEAVES = {
    "daemon": Bad("", "subprocess.Popen(SLEEP, start_new_session=True)", imports=SLEEPS),
    "child": Bad("", "subprocess.Popen(SLEEP)", imports=SLEEPS),
    "daemon and exit": Bad(
        "exit status 8", "subprocess.Popen(SLEEP, start_new_session=True); os._exit(8)", imports=SLEEPS
    ),
    "daemon at import": Bad("", imports=f"{SLEEPS}\nsubprocess.Popen(SLEEP, start_new_session=True)"),
    "orphan": Bad(
        "",
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.execv(SLEEP[0], SLEEP)\n"
        "    os._exit(0)\ntime.sleep(0.2)",
        imports=SLEEPS,
    ),
    "shell in the background": Bad(
        "", "os.system(f'{sys.executable} -c \"import time; time.sleep(1000)\" {SLEEP[-1]} &')", imports=SLEEPS
    ),
    "thread": Bad("", "threading.Thread(target=time.sleep, args=(1000,)).start()", imports=OS),
    "thread at import": Bad("", imports=f"{OS}\nthreading.Thread(target=time.sleep, args=(1000,)).start()"),
    "native threads at import": Bad(
        "", imports="torch.set_num_threads(4); torch.randn(512, 512) @ torch.randn(512, 512)"
    ),
    "another folder": Bad("", "os.chdir('/'); sys.path.clear()", imports=OS),
    "no environment": Bad("", "os.environ.clear()", imports=OS),
    "no modules": Bad("|", "sys.modules.clear()", imports=OS),
    "no json": Bad("|", "json.dumps = json.loads = None", imports=OS),
    "no threads": Bad("", "threading.Thread = threading.Lock = None", imports=OS),
    "no builtins": Bad("|", "import builtins\nfor n in ('len', 'isinstance', 'open', 'print'): delattr(builtins, n)"),
    "no output": Bad("", "sys.stdout = sys.stderr = None; print('x')", imports=OS),
    "closed output": Bad("", "os.close(1); os.close(2)", imports=OS),
    "closed descriptors": Bad("closed the descriptors", "os.closerange(3, 1000)", imports=OS),
    "garbage in descriptors": Bad(
        "descriptors that it did not open",
        "for f in range(3, 64):\n    try: os.write(f, b'garbage\\n')\n    except OSError: pass",
        imports=OS,
    ),
    "few descriptors": Bad("|", "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", imports=OS),
    "all descriptors": Bad(
        "|",
        "k = self.__dict__['k'] = []\ntry:\n    while True: k.append(os.open('/dev/null', 0))\nexcept OSError: pass",
        imports=OS,
    ),
    "flood of prints": Bad("", "for _ in range(100): os.write(1, b'x' * (1 << 20))", imports=OS),
    "lines like answers": Bad("", "print('{\"graph\": {}}\\n{', flush=True); os.write(1, b'{}\\n')", imports=OS),
    "temporary folder": Bad(
        "",
        "import shutil, tempfile\nfor f in os.scandir(tempfile.gettempdir()):\n"
        "    if f.name.startswith('torchrecorder-'): shutil.rmtree(f, True)",
        imports=OS,
    ),
    "file of its own": Bad("", "open(__file__, 'a').write('# more\\n')", imports=OS),
    "own file removed": Bad("", "os.unlink(__file__)", imports=OS),
    "limit of recursion": Bad("|", "sys.setrecursionlimit(60)", imports=OS),
    "no trace": Bad("", "sys.settrace(None); sys.setprofile(None)", imports=OS),
    "mask of files": Bad("", "os.umask(0o777)", imports=OS),
    "no garbage collector": Bad("", "gc.disable(); gc.freeze()", imports=OS),
    "warnings as errors": Bad("", imports="import warnings; warnings.simplefilter('error')"),
    "other numbers": Bad("", imports="torch.set_default_dtype(torch.float64)"),
    "other device": Bad("|", imports="torch.set_default_device('meta')"),
    "no gradients": Bad("", imports="torch.set_grad_enabled(False)"),
    "call replaced": Bad("|", "nn.Module.__call__ = None"),
    "logging": Bad("", imports="import logging; logging.basicConfig(level=0, force=True); logging.disable(0)"),
}
SHAPES = {
    "names that are no text": Bad(
        "", made="self.add_module('a\\ud800', nn.Linear(3, 3))", forward="x = getattr(self, 'a\\ud800')(x)"
    ),
    "names in HTML": Bad(
        "", made="self.add_module('<script>alert(1)</script>', nn.ReLU())", forward="x = [*self.children()][0](x)"
    ),
    "names of 100,000 letters": Bad(
        "", made="self.add_module('n' * 100_000, nn.ReLU())", forward="x = [*self.children()][0](x)"
    ),
    "words of its own that fail": layer("'extra_repr': lambda self: 1 / 0"),
    "words that are no text": layer("'extra_repr': lambda self: 7"),
    "layer within itself": Bad("|", made="self.me = [self]; self.add_module('again', self)"),
    "two layers within each other": Bad(
        "|", made="a, b = nn.Sequential(), nn.Sequential()\na.add_module('b', b); b.add_module('a', a); self.a = a"
    ),
    "tower of 300 layers": Bad(
        "|", made="m = nn.ReLU()\nfor _ in range(300): m = nn.Sequential(m)\nself.m = m", forward="x = self.m(x)"
    ),
    "hash that fails": layer("'__hash__': None"),
    "equality that fails": layer("'__eq__': lambda a, b: 1 / 0, '__hash__': object.__hash__"),
    "attributes that fail": layer("'training': property(lambda self: 1 / 0)"),
    "class that lies": layer("'__class__': property(lambda self: int)"),
    "result of nothing": Bad("|", forward="return None"),
    "result of an object": Bad("|", forward="return object()"),
    "result that goes on for ever": Bad("|", forward="import itertools; return itertools.count()"),
    "result within itself": Bad("|", forward="out = [self.fc(x)]; out.append(out); return out"),
    "result of a generator": Bad("|", forward="return (self.fc(x) for _ in range(3))"),
    "100,000 results": Bad("|", forward="return [self.fc(x)] * 100_000"),
    "not a number": Bad("", forward="x = x * float('nan')"),
    "result that is awaited": Bad("|", forward="async def out(): return self.fc(x)\nreturn out()"),
}
BAD = {**ENDS, **FAILS, **LEAVES, **SHAPES}

GOOD = """from torch import nn

class Good(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(3, width))
"""


@dataclass(frozen=True)
class Page:
    """What a tool showed of a bad model, and of the good one after it."""

    name: str
    html: str

    @property
    def lost(self) -> bool:
        """Whether the good model is missing."""
        return not re.search(r"<title[^>]*>Good</title>", self.html)

    @property
    def wrong(self) -> str:
        """What is wrong with what is shown of the bad model."""
        words = BAD[self.name].words
        if self.lost:
            return f"{self.name}: the next diagram is lost"
        text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.html)).split())
        is_drawn = re.search(r"<title[^>]*>Net</title>", self.html)
        if words.strip("|"):
            is_right = any(word in text for word in words.split("|"))
        else:
            is_right = bool(is_drawn or (words and "No diagram" in text))
        return "" if is_right else f"{self.name}: not {words!r}: {text[text.find('No diagram') :][:300]}"


def write_models(folder: Path) -> dict[str, str]:
    """Write a module for each bad model and one of good ones; the module of each."""
    modules = {name: f"soak_bad{number}" for number, name in enumerate(BAD)}
    for name, module in modules.items():
        (folder / f"{module}.py").write_text(BAD[name].text().replace("{name}", module))
    (folder / "soak_good.py").write_text(GOOD)
    return modules


def alive(mark: str) -> int:
    """How many processes have the mark in their command."""
    found = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += mark.encode() in file.read_bytes().split(b"\0")
    return found


def judge(pages: list[Page], mark: str, tally: Tally) -> list[str]:
    """Count what came of the models; what is wrong."""
    wrong = [page.wrong for page in pages if page.wrong]
    deadline = time.monotonic() + 5
    while alive(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    tally.add("bad models", len(pages))
    tally.add("bad models wholly right", len(pages) - len(wrong))
    tally.add("later diagrams lost", sum(page.lost for page in pages))
    tally.add("processes left", alive(mark))
    return wrong
