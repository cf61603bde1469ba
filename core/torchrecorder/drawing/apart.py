"""Drawings that another process makes while the build records the next models: both ends of it.

Orders and drawings are files, so that the lines about them are short: neither end ever waits for the other to read.
"""

from __future__ import annotations

import json
import logging
import pickle
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from logging.handlers import BufferingHandler
from pathlib import Path

from torchrecorder.errors import FormatError, TorchRecorderError
from torchrecorder.faults import unforeseen
from torchrecorder.processes import LineProcess
from torchrecorder.request import DrawingOptions
from torchrecorder.worker.client import environment

_AHEAD = 2
"""Orders that the process has at a time: it goes on with one while the build looks at the last. The others can be taken
back."""
_PATIENCE_S = 120.0
"""Seconds for one drawing, of which most take one; the build draws itself what is not there by then."""
_LOG = logging.getLogger("torchrecorder.drawing.draw")


class Apart:
    """The build's end. Whatever happens to the process, what it has not drawn is left to the build."""

    def __init__(self, engine: str) -> None:
        """`engine` is the setting of that name."""
        self._engine = engine
        self._waiting: deque[str] = deque()
        self._sent: list[str] = []
        self._made: dict[str, bytes | TorchRecorderError] = {}
        self._process: LineProcess | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def order(self, digest: str, graph: bytes, name: str, options: DrawingOptions) -> None:
        """Have a Graph drawn; `digest` is that of the drawing's key, `name` names it in its page."""
        if self.has(digest):
            return
        with suppress(OSError):
            if self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="torchrecorder-")
                folder = Path(self._scratch.name)
                command = [sys.executable, "-P", "-m", __name__, str(folder), self._engine]
                self._process = LineProcess(command, environment("", folder), folder / "log")
            Path(self._scratch.name, digest).write_bytes(pickle.dumps((graph, name, options)))
            self._waiting.append(digest)
            self.advance()

    def has(self, digest: str) -> bool:
        return digest in self._waiting or digest in self._sent or digest in self._made

    def advance(self) -> None:
        """Send what can be sent, and take what is there, without waiting."""
        while self._process is not None and self._sent and self._process.has_line():
            self._receive()
        while self._process is not None and self._waiting and len(self._sent) < _AHEAD:
            self._sent.append(self._waiting.popleft())
            try:
                self._process.send({"digest": self._sent[-1]})
            except EOFError:
                self.close()

    def take_back(self) -> str:
        """An order that the process has not got; empty if there is none."""
        self.advance()
        return self._waiting.pop() if self._waiting else ""

    def made(self) -> Iterator[tuple[str, bytes | TorchRecorderError]]:
        """What was ordered and not taken back, each drawing as the cache keeps it, or why there is none."""
        self.advance()
        while self._process is not None and self._sent:
            self._receive()
            self.advance()
        yield from self._made.items()
        self._made = {}

    def close(self) -> None:
        if self._process is not None:
            self._process.end(grace_s=0 if self._sent else 5)
        self._process = None
        self._waiting.clear()
        self._sent.clear()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _receive(self) -> None:
        assert self._process is not None
        assert self._scratch is not None
        try:
            answer = self._process.next(_PATIENCE_S)
            digest = self._sent.pop(0)
            error = answer["error"]
            drawn = Path(self._scratch.name, f"{digest}.drawing")
            self._made[digest] = TorchRecorderError.from_json(error) if error else drawn.read_bytes()
            drawn.unlink(missing_ok=True)
            for text in answer["said"]:
                _LOG.warning("%s", text)
        except (TimeoutError, EOFError, OSError, FormatError, KeyError):
            self.close()


def main() -> None:
    """The other end: draws what the lines of its input name, until that ends."""
    from torchrecorder.drawing.draw import DrawJob, draw
    from torchrecorder.drawing.model import Drawing
    from torchrecorder.engine import find_engine
    from torchrecorder.graph import from_json

    folder, engine = Path(sys.argv[1]), find_engine(sys.argv[2])
    said = BufferingHandler(sys.maxsize)
    said.setLevel(logging.WARNING)
    _LOG.addHandler(said)
    for line in sys.stdin.buffer:
        digest = json.loads(line)["digest"]
        said.buffer.clear()
        try:
            data = (folder / digest).read_bytes()  # the build wrote it, in a folder of its own
            graph, name, options = pickle.loads(data)
            (folder / digest).unlink(missing_ok=True)
            (made,) = draw([DrawJob(from_json(graph), name, options)], engine)
        except Exception as error:
            made = error if isinstance(error, TorchRecorderError) else unforeseen("a drawing", error)
        if isinstance(made, Drawing):
            (folder / f"{digest}.drawing").write_bytes(made.to_bytes())
        failed = None if isinstance(made, Drawing) else made.to_json()
        texts = [record.getMessage() for record in said.buffer]
        sys.stdout.write(json.dumps({"error": failed, "said": texts}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
