"""The log: what a line adds to the cost of a request."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, cast

from benchmarks.harness import Row, Target, best_seconds
from entresol.server.handler import ClientConnection
from entresol.terminal.formats import JsonLogFormat, LogFormat, TextLogFormat
from entresol.terminal.requests import RequestLog
from entresol.terminal.writer import TerminalWriter

BODY: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
RESPONSE: Final = b'{"jsonrpc":"2.0","id":1,"result":"0x10e"}'
NO_CONNECTION: Final = cast("ClientConnection", None)


def rows() -> Iterable[Row]:
    """Measure a line of either kind, until it is written."""
    yield _line("a line a request", TextLogFormat(colours=False), Target(8, "at most"))
    yield _line("a JSON object a request", JsonLogFormat(), None)


def _line(what: str, log_format: LogFormat, target: Target | None) -> Row:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    console = TerminalWriter(nowhere, nowhere, backlog=10**9)
    log = RequestLog(lambda _body, _connection: RESPONSE, log_format, console.write)
    seconds = best_seconds(lambda: log(BODY, NO_CONNECTION))
    console.close()
    os.close(nowhere)
    return Row(what=what, value=seconds * 1e6, unit="µs", target=target)
