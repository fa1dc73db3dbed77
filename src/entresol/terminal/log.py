"""The log of a node: what is logged at which level, in which format, and where it is written."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final, Self

from entresol.terminal.formats import (
    ConsoleLogged,
    JsonLogFormat,
    LogFormat,
    LogMessage,
    TextLogFormat,
    json_line,
)
from entresol.terminal.log_details import TRACES, LogDetails, abis_of
from entresol.terminal.requests import FailedCalls, RequestLog
from entresol.terminal.transactions import OpenSends, RejectionLog, TransactionLog
from entresol.terminal.writer import OUT, FormatText, LineWriter

if TYPE_CHECKING:
    from collections.abc import Collection

    from entresol.chain.chain import Chain
    from entresol.execution.console import ConsoleCalls
    from entresol.primitives.values import Address
    from entresol.server.handler import Handler, OnRejection
    from entresol.terminal.config import LogConfig
    from entresol.terminal.explainer import Explainer

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class NodeLog:
    """Logs requests, rejections, transactions and messages, as far as the configuration wants them.

    Remembers: which chains it follows. Assumes: one node at a time uses it.
    """

    def __init__(self, config: LogConfig, writer: LineWriter, *, colours: bool = False) -> None:
        self._writer = writer
        self.is_enabled = True
        """Whether requests and transactions are written, as far as the configuration wants them."""
        self._silent = config.silent
        self._level = logging.ERROR if config.silent else LEVELS[config.log_level]
        self._is_json = config.json_logs
        self.format: LogFormat = (
            JsonLogFormat() if self._is_json else TextLogFormat(colours=colours)
        )
        self._abis = abis_of(config)
        self._verbosity = max(config.verbosity, TRACES if config.print_traces else 0)
        self._shows_console = not config.disable_console_log
        self.handler = LogHandler(self.format, writer)

    @classmethod
    def to_writer(cls, config: LogConfig, writer: LineWriter) -> Self:
        """Return a log that writes lines to `writer`, and receives the messages of all modules."""
        coloured = os.isatty(OUT) and "NO_COLOR" not in os.environ
        log = cls(config, writer, colours=coloured)
        logging.basicConfig(level=log._level, handlers=[log.handler], force=True)
        return log

    @property
    def logs_requests(self) -> bool:
        """Whether requests and transactions are logged."""
        return self._level <= logging.INFO

    def announce(self, banner: str, message: str, fields: dict[str, Any]) -> None:
        """Write the banner of a node that has started, or in JSON a message with fields."""
        if self._silent:
            return
        if self._is_json:
            self._writer.write(json_line("info", message, fields))
        else:
            self._writer.write(banner + "\n")

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Write a line, if the log is enabled or it is a problem."""
        if self.is_enabled or to_stderr:
            self._writer.write(text, to_stderr=to_stderr)

    def for_chain(
        self,
        layer: str = "",
        hidden: Collection[Address] = (),
        *,
        is_public: bool = False,
        has_transactions: bool = True,
        explainer: Explainer | None = None,
    ) -> ChainLog:
        """Return the log of one chain; transactions of the senders `hidden` are not logged.

        If it `is_public`, its clients are not developers, and what their contracts print is not logged. Without
        `has_transactions` another process logs them. An `explainer` names contracts, and says where something failed.
        """
        details = LogDetails(
            self._abis,
            0 if is_public else self._verbosity,
            shows_console=self._shows_console and not is_public,
        )
        return ChainLog(
            self,
            layer,
            hidden,
            details,
            has_transactions=has_transactions,
            explainer=None if is_public else explainer,
        )

    def write_later(self, format_text: FormatText, size: int) -> None:
        """Write what `format_text` returns, of about `size` characters, in turn."""
        if self.is_enabled:
            self._writer.write_later(format_text, size)

    def close(self) -> None:
        """Write pending lines."""
        logging.getLogger().removeHandler(self.handler)
        self._writer.close()


class ChainLog:
    """The log of one chain and its server."""

    def __init__(
        self,
        log: NodeLog,
        layer: str,
        hidden: Collection[Address],
        details: LogDetails,
        *,
        has_transactions: bool,
        explainer: Explainer | None = None,
    ) -> None:
        self._log = log
        self._explainer = explainer
        self._has_transactions = has_transactions
        self._layer = layer
        self._hidden = hidden
        self._details = details
        self._sends = OpenSends()
        self._rejections: RejectionLog | None = None
        self._transactions: TransactionLog | None = None

    def set_enabled(self, enabled: bool) -> None:  # noqa: FBT001 - as it arrives by `anvil_setLoggingEnabled`
        """Enable or disable the log of requests and transactions, of both layers."""
        self._log.is_enabled = enabled

    def wrap(self, handler: Handler) -> Handler:
        """Return a handler that also logs requests; the same one if they are not logged."""
        log = self._log
        if not log.logs_requests:
            return handler
        failed = None
        if self._explainer is not None:
            failed = FailedCalls(handler, self._explainer, log.format, log.write, self._layer)
        return RequestLog(handler, log.format, log.write, self._layer, self._sends, failed)

    def on_rejection(self) -> OnRejection | None:
        """Return a callback that logs rejected requests; None if requests are not logged."""
        log = self._log
        if log.logs_requests:
            self._rejections = RejectionLog(log.format, log.write, self._layer)
        return self._rejections

    def follow(self, chain: Chain) -> None:
        """Log the chain's transactions after the requests that sent them, if they are logged."""
        log = self._log
        if self._has_transactions and log.logs_requests:
            self._transactions = TransactionLog(
                chain.events,
                chain.blocks,
                log.format,
                log.write,
                self._layer,
                self._hidden,
                details=self._details,
                ledger=chain.ledger,
                is_enabled=lambda: log.is_enabled,
                sends=self._sends,
                write_later=log.write_later,
                explainer=self._explainer,
            )

    def unfollow(self) -> None:
        """Stop following the chain and its server."""
        if self._rejections is not None:
            self._rejections.step()
        if self._transactions is not None:
            self._transactions.close()

    def report_console(self, method: str, calls: ConsoleCalls) -> None:
        """Log what a call or an estimate printed by `console.log`, on any thread."""
        lines = self._details.console(calls)
        if self._log.logs_requests and lines:
            self._log.write(self._log.format.console(ConsoleLogged(method, lines, self._layer)))


class LogHandler(logging.Handler):
    """Writes the messages of Python loggers, exceptions with their stack trace."""

    def __init__(self, log_format: LogFormat, writer: LineWriter) -> None:
        super().__init__()
        self._format = log_format
        self._writer = writer
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message."""
        trace = self._formatter.formatException(record.exc_info) if record.exc_info else None
        entry = LogMessage(record.levelname.lower(), record.getMessage(), record.name, trace)
        is_problem = record.levelno >= logging.WARNING
        self._writer.write(self._format.message(entry), to_stderr=is_problem)
