"""The log of a node: what is told, how it is written, and where it goes."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, Self

from entresol.node.log.console import OUT, Console
from entresol.node.log.entries import LogMessage
from entresol.node.log.jsonl import JsonLines, line
from entresol.node.log.rejections import RejectionLog
from entresol.node.log.requests import RequestLog
from entresol.node.log.text import TextLines
from entresol.node.log.transactions import TransactionLog
from entresol.node.startup.banner import READY, banner

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.config.schema import LogConfig
    from entresol.node.log.entries import LogFormat
    from entresol.node.startup.info import NodeInfo
    from entresol.primitives.values import Address
    from entresol.server.handler import Handler, OnRejection

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class NodeLog:
    """Tells of a node's work what the configuration asks for.

    Remembers: which chains it follows. Persists: nothing. Assumes: one node at a time uses it. Fails: never.
    """

    def __init__(self, config: LogConfig, console: Console, *, colours: bool = False) -> None:
        self._console = console
        self._silent = config.silent
        self._level = logging.ERROR if config.silent else LEVELS[config.log_level]
        self._lines: JsonLines | TextLines = (
            JsonLines() if config.json_logs else TextLines(colours=colours)
        )
        self._following: list[TransactionLog] = []
        self._hearing: list[RejectionLog] = []
        self.handler = LogHandler(self._lines, console)

    @classmethod
    def to_terminal(cls, config: LogConfig) -> Self:
        """Return a log that goes where the process writes, and takes what all modules have to say."""
        coloured = os.isatty(OUT) and "NO_COLOR" not in os.environ
        log = cls(config, Console(), colours=coloured)
        logging.basicConfig(level=log._level, handlers=[log.handler], force=True)
        return log

    @property
    def tells_work(self) -> bool:
        """Whether requests and transactions are told."""
        return self._level <= logging.INFO

    def greet(self, info: NodeInfo) -> None:
        """Tell that the node has started: the banner, or its facts in one line."""
        if self._silent:
            return
        if isinstance(self._lines, JsonLines):
            self._console.tell(line("info", f"{READY}{info.address}", info.to_json()))
        else:
            self._console.tell(banner(info) + "\n")

    def of_layer(self, name: str = "", hidden: Address | None = None) -> ChainLog:
        """Return the log of one layer, which says its name and nothing of whom it is to hide."""
        return ChainLog(self, name, hidden)

    def around(self, handler: Handler, layer: str = "") -> Handler:
        """Return a handler that tells of requests to a layer; if they are not told, the same one."""
        if not self.tells_work:
            return handler
        return RequestLog(handler, self._lines, self._console.tell, layer)

    def rejections(self, layer: str = "") -> OnRejection | None:
        """Return what hears of requests that a layer rejects; None if requests are not told."""
        if not self.tells_work:
            return None
        hearing = RejectionLog(self._lines, self._console.tell, layer)
        self._hearing.append(hearing)
        return hearing

    def follow(self, chain: Chain, layer: str = "", hidden: Address | None = None) -> None:
        """Tell of the transactions of `chain`, if they are told, but not of those of `hidden`."""
        if self.tells_work:
            tell = self._console.tell
            self._following.append(TransactionLog(chain, self._lines, tell, layer, hidden))

    def unfollow(self) -> None:
        """Stop listening to the chains and their servers."""
        for hearing in self._hearing:
            hearing.step()
        self._hearing.clear()
        for following in self._following:
            following.close()
        self._following.clear()

    def close(self) -> None:
        """Write what is left."""
        logging.getLogger().removeHandler(self.handler)
        self._console.close()


class ChainLog:
    """What a log tells of one layer."""

    def __init__(self, log: NodeLog, name: str, hidden: Address | None) -> None:
        self._log = log
        self._name = name
        self._hidden = hidden

    def around(self, handler: Handler) -> Handler:
        """Return a handler that tells of requests; if they are not told, the same one."""
        return self._log.around(handler, self._name)

    def rejections(self) -> OnRejection | None:
        """Return what hears of rejected requests; None if requests are not told."""
        return self._log.rejections(self._name)

    def follow(self, chain: Chain) -> None:
        """Tell of the transactions of `chain`, if they are told."""
        self._log.follow(chain, self._name, self._hidden)


class LogHandler(logging.Handler):
    """Takes what modules log, exceptions with their whole trace."""

    def __init__(self, lines: LogFormat, console: Console) -> None:
        super().__init__()
        self._lines = lines
        self._console = console
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record down."""
        trace = self._formatter.formatException(record.exc_info) if record.exc_info else None
        note = LogMessage(record.levelname.lower(), record.getMessage(), record.name, trace)
        self._console.tell(self._lines.note(note), trouble=record.levelno >= logging.WARNING)
