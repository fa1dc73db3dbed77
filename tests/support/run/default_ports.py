"""The ports that a node listens on by default: held by the test run, so that a test that needs one fails."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator
from typing import Final

DEFAULT_PORTS: Final = (3050, 3051, 3052, 8545)


@contextlib.contextmanager
def held_ports(ports: Iterable[int] = DEFAULT_PORTS) -> Iterator[list[int]]:
    """Listen on ports and never respond; yield those that nobody else has."""
    with contextlib.ExitStack() as held:
        yield [port for port in ports if _is_held(port, held)]


def _is_held(port: int, held: contextlib.ExitStack) -> bool:
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        holder.bind(("127.0.0.1", port))
        holder.listen()
    except OSError:
        # Whoever has it keeps tests from it as well.
        holder.close()
        return False
    held.enter_context(holder)
    return True
