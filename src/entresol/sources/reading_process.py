"""Read the output of compilers in a process of its own: decoding large JSON would hold the event loop back."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from entresol.sources.compiled import CompiledContract
from entresol.sources.folders import read_contracts, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.sources.source_file import SourceFile

LARGE_BYTES: Final = 1 << 20
"""Bytes of files that are read apart; starting a process takes longer than reading fewer."""

MODULE: Final = "entresol.sources.reading_process"

log = logging.getLogger(MODULE)


def contracts_of_paths(paths: Sequence[str]) -> Iterable[CompiledContract]:
    """Return the contracts of files and folders: of large ones read apart, unless that is not possible."""
    if stamp_of(paths)[2] < LARGE_BYTES:
        return read_contracts(paths)
    try:
        return list(read_apart(paths))
    except OSError as error:
        log.info("sources are read in this process: %s", error)
        return read_contracts(paths)


def read_apart(paths: Sequence[str]) -> Iterator[CompiledContract]:
    """Yield the contracts of files and folders as they are read; raise an `OSError` if the process ends early.

    They come one by one, so that none of them takes this process longer than a moment.
    """
    # Without the working directory, whose files are somebody's project.
    command = [sys.executable, "-P", "-m", MODULE, *paths]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own module
        assert process.stdout is not None
        try:
            yield from _received(process.stdout)
        finally:
            process.kill()


def _received(stream: Any) -> Iterator[CompiledContract]:
    """Yield the contracts that a process has written, and log what it has."""
    sources: dict[int, SourceFile] = {}
    lists: dict[int, list[SourceFile | None]] = {}
    while True:
        try:
            # Of a process of ours, which executes nothing of what it reads.
            kind, key, value = pickle.load(stream)  # noqa: S301
        except (EOFError, pickle.UnpicklingError) as error:
            raise OSError("the process that reads them has ended") from error
        match kind:
            case "source":
                sources[key] = value
            case "sources":
                lists[key] = [None if it is None else sources[it] for it in value]
            case "contract":
                contract = CompiledContract.__new__(CompiledContract)
                vars(contract).update(value, sources=lists[key])
                yield contract
            case "log":
                log.log(key, "%s", value)
            case _:
                return


class ContractWriter(logging.Handler):
    """Writes contracts, each source once, and what is logged meanwhile.

    Remembers: the sources that were written. Assumes: one thread.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream
        self._written: dict[int, object] = {}
        """Sources and lists of them by their ids, which are theirs as long as they are here."""

    def write(self, contract: CompiledContract) -> None:
        """Write a contract, after its sources."""
        sources = contract.sources
        if self._is_new(sources):
            for it in sources:
                if it is not None and self._is_new(it):
                    self._put("source", id(it), it)
            self._put("sources", id(sources), [None if it is None else id(it) for it in sources])
        state = {name: value for name, value in vars(contract).items() if name != "sources"}
        self._put("contract", id(sources), state)

    def end(self) -> None:
        """Say that there is nothing more."""
        self._put("end", 0, None)
        self._stream.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message."""
        self._put("log", record.levelno, record.getMessage())

    def _is_new(self, value: object) -> bool:
        if id(value) in self._written:
            return False
        self._written[id(value)] = value
        return True

    def _put(self, kind: str, key: int, value: object) -> None:
        pickle.dump((kind, key, value), self._stream, pickle.HIGHEST_PROTOCOL)


def main(paths: Sequence[str]) -> None:
    """Read files and folders, and write their contracts to the standard output."""
    writer = ContractWriter(sys.stdout.buffer)
    logging.basicConfig(handlers=[writer])
    for contract in read_contracts(paths):
        writer.write(contract)
    writer.end()


if __name__ == "__main__":
    main(sys.argv[1:])
