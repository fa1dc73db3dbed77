"""Read the output of compilers in a process of its own: decoding large JSON would hold the event loop back."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from entresol.features.debugger.sources.compiled import Compilation, CompiledContract
from entresol.features.debugger.sources.folders import read_contracts, stamp_of
from entresol.features.debugger.sources.source_file import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LARGE_BYTES: Final = 1 << 20
"""Bytes of files that are read apart; starting a process takes longer than reading fewer."""

MODULE: Final = "entresol.features.debugger.sources.reading_process"

MAX_SECONDS: Final = 600.0

MAX_TOGETHER: Final = 1_000
"""Definitions that are loaded at once: half a millisecond."""

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
    process = ReadingProcess(MODULE, *paths)
    try:
        yield from (result for result in process.results() if isinstance(result, CompiledContract))
    finally:
        process.kill()


class ReadingProcess:
    """A process that reads, and returns what it has read one by one. Fails: with an `OSError` if it ends early."""

    def __init__(
        self, module: str, *arguments: str, given: Any = b"", seconds: float = MAX_SECONDS
    ) -> None:
        """Let a module be run, with bytes as its standard input; after some seconds it is killed."""
        # Without the working directory, whose files are somebody's project.
        self._command = [sys.executable, "-P", "-m", module, *arguments]
        self._given = given
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False

    def kill(self) -> None:
        """End the process, and what waits for it; one that has not started does not start."""
        self._is_killed = True
        if self._process is not None:
            self._process.kill()

    def compilation(self) -> Compilation | str:
        """Return the compilation that was read, or why it is none."""
        contracts: list[CompiledContract] = []
        for found in self.results():
            if isinstance(found, CompiledContract):
                contracts.append(found)
            elif isinstance(found, Compilation):
                return found._replace(contracts=contracts)
            else:
                return found
        raise OSError("the process has read nothing")

    def results(self) -> Iterator[CompiledContract | Compilation | str]:
        """Run the process, and yield what it writes."""
        if self._is_killed:
            return
        timer = Timer(self._seconds, self.kill)
        timer.daemon = True
        pipe = subprocess.PIPE
        with subprocess.Popen(self._command, stdin=pipe, stdout=pipe) as self._process:  # noqa: S603 - our own module
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            timer.start()
            try:
                with suppress(BrokenPipeError), self._process.stdin as stdin:
                    stdin.write(self._given)
                yield from _received(self._process.stdout)
            finally:
                self.kill()
                timer.cancel()


def _received(stream: Any) -> Iterator[CompiledContract | Compilation | str]:
    """Yield what a process has written, and log what it has."""
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
                sources[key] = SourceFile(*value)
            case "definitions":
                vars(sources[key]).setdefault("definitions", []).extend(value)
            case "sources":
                lists[key] = [None if number is None else sources[number] for number in value]
            case "contract":
                contract = CompiledContract.__new__(CompiledContract)
                vars(contract).update(value, sources=lists[key])
                yield contract
            case "compilation" | "rejected":
                yield value
            case "log":
                log.log(key, "%s", value)
            case _:
                return


class ContractWriter(logging.Handler):
    """Writes contracts, each source once, and what is logged meanwhile. Assumes: one thread."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream
        self._written: dict[int, object] = {}
        """Sources and lists of them by their ids, which are theirs as long as they are here."""

    def write(self, contract: CompiledContract) -> None:
        """Write a contract, after its sources."""
        sources = contract.sources
        if self._is_new(sources):
            for source in sources:
                if source is not None and self._is_new(source):
                    self._write_source(source)
            self._put(
                "sources",
                id(sources),
                [None if source is None else id(source) for source in sources],
            )
        state = {name: value for name, value in vars(contract).items() if name != "sources"}
        self._put("contract", id(sources), state)

    def write_compilation(self, compilation: Compilation) -> None:
        """Write the contracts of a compilation, and what tells it from others."""
        for contract in compilation.contracts:
            self.write(contract)
        self._put("compilation", 0, compilation._replace(contracts=[]))
        self.end()

    def reject(self, problem: str) -> None:
        """Say why there is nothing to write."""
        self._put("rejected", 0, problem)
        self.end()

    def end(self) -> None:
        """Say that there is nothing more."""
        self._put("end", 0, None)
        self._stream.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message."""
        self._put("log", record.levelno, record.getMessage())

    def _write_source(self, source: SourceFile) -> None:
        self._put("source", id(source), (source.name, source.text))
        definitions = vars(source).get("definitions")
        if definitions is not None:
            for start in range(0, max(1, len(definitions)), MAX_TOGETHER):
                some = definitions[start : start + MAX_TOGETHER]
                self._put("definitions", id(source), some)

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
