"""Stands for a Python process that a host runs in a fork of itself: same directory, variables, pipes and end.

Run with `-I -S`, and importing little, because this is what a start costs.
"""

import json
import os
import signal
import socket
import sys


def main(address: str, command: list[str]) -> None:
    """Have a host run a Python command, and end as it ends."""
    with socket.socket(socket.AF_UNIX) as host:
        host.connect(address)
        job = {"command": command, "cwd": os.getcwd(), "environment": dict(os.environ)}
        text = json.dumps(job).encode() + b"\n"
        socket.send_fds(host, [text[:1]], [0, 1, 2])
        host.sendall(text[1:])
        status = int.from_bytes(host.recv(4), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    os._exit(status)


main(sys.argv[1], sys.argv[2:])
