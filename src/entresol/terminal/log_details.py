"""The details of a transaction in the log, by known ABIs and as far as the verbosity wants them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.bounded_file import read_file
from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.errors import ExecutionFailed, ExecutionReverted, InvalidConfig
from entresol.terminal.call_tree import describe_error, describe_event
from entresol.terminal.console_log import console_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.console import ConsoleCalls
    from entresol.primitives.records import TransactionResult
    from entresol.terminal.config import LogConfig

ABI_FLAG: Final = "--abi"
MAX_ABI_FILES: Final = 10_000
"""Files that are read of one folder."""

MAX_ABI_FILE_BYTES: Final = 64 << 20
CALLS: Final = 1
EVENTS: Final = 2
FAILED_TRACES: Final = 3
TRACES: Final = 4
"""The verbosity from which on each is shown."""

MAX_EVENTS: Final = 100
"""Events that are shown of one transaction."""


class _Artifact(msgspec.Struct):
    """An artifact of solc, Hardhat or Foundry, as far as it matters here."""

    abi: list[dict[str, Any]]


_artifact: Final = msgspec.json.Decoder(_Artifact | list[dict[str, Any]]).decode


def abis_of(config: LogConfig) -> AbiRegistry:
    """Return the ABIs of `--abi`, and after them those of the node's own contracts."""
    registry = AbiRegistry(project_abis)
    for path in map(Path, config.abi):
        if not path.is_dir():
            entries = read_abi(path)
            if entries is None or not registry.add(entries):
                raise InvalidConfig(ABI_FLAG, f"{path} is neither an ABI nor an artifact with one")
            continue
        for file in _files(path):
            # Folders of artifacts also have build information, which is none, and may be large.
            if file.stat().st_size <= MAX_ABI_FILE_BYTES:
                registry.add(read_abi(file) or [])
    return registry


def read_abi(path: Path) -> list[dict[str, Any]] | None:
    """Return the ABI in a file, decoded from JSON, or None if it has none."""
    try:
        found = _artifact(read_file(path, MAX_ABI_FILE_BYTES))
    except OSError as error:
        raise InvalidConfig(ABI_FLAG, f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        return None
    return found.abi if isinstance(found, _Artifact) else found


def _files(folder: Path) -> Iterator[Path]:
    for count, path in enumerate(sorted(folder.rglob("*.json"))):
        if count == MAX_ABI_FILES:
            raise InvalidConfig(ABI_FLAG, f"{folder} has more than {MAX_ABI_FILES:,} JSON files")
        if path.is_file():
            yield path


class LogDetails:
    """Describes transactions by known ABIs, as far as the verbosity wants it."""

    def __init__(
        self, abis: AbiRegistry, verbosity: int = 0, *, shows_console: bool = True
    ) -> None:
        self.abis = abis
        self._verbosity = verbosity
        self._shows_console = shows_console

    def by(self, abis: AbiRegistry) -> LogDetails:
        """Return the same details, by other ABIs."""
        return LogDetails(abis, self._verbosity, shows_console=self._shows_console)

    @property
    def is_brief(self) -> bool:
        """Whether nothing is decoded by an ABI, or traced, of a transaction that succeeds."""
        return self._verbosity < CALLS

    def call(self, data: bytes) -> str | None:
        """Return the decoded call of a transaction, or None if it is not shown."""
        return self.abis.call(data) if data and self._verbosity >= CALLS else None

    def events(self, result: TransactionResult) -> list[str]:
        """Return the logs of a transaction, decoded as far as they are known; a call tree has them, too."""
        if not EVENTS <= self._verbosity < TRACES:
            return []
        logs = result.logs[:MAX_EVENTS]
        lines = [describe_event(self.abis, list(topics), data) for _, topics, data in logs]
        more = len(result.logs) - len(logs)
        return [*lines, f"… ({more:,} more events are not shown)"] if more else lines

    def failure(self, failure: ExecutionFailed | None) -> str | None:
        """Return why a transaction failed, custom errors by name if they are known."""
        if isinstance(failure, ExecutionReverted):
            reason = describe_error(self.abis, failure.data)
            return f"execution reverted: {reason}" if reason else str(failure)
        return None if failure is None else str(failure)

    def console(self, calls: ConsoleCalls | None) -> list[str]:
        """Return the lines that an execution printed by `console.log`."""
        return console_lines(calls) if calls is not None and self._shows_console else []

    def wants_trace(self, *, succeeded: bool) -> bool:
        """Return whether the call tree of a transaction is shown."""
        return self._verbosity >= (TRACES if succeeded else FAILED_TRACES)
