"""Read compilations that clients upload in a process of its own, within limits of time and memory.

Decoding megabytes of JSON, and reading the texts in it, would hold the event loop back, and take as much memory and time
as somebody likes.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Raw

from entresol.features.debugger.sources.compilation import compilation_of
from entresol.features.debugger.sources.compiler_json import CompilerInput, CompilerOutput
from entresol.features.debugger.sources.reading_process import ContractWriter, ReadingProcess
from entresol.rpc.jsonrpc.errors import InvalidParamsError
from entresol.rpc.jsonrpc.params import Parameter, ParamsReader

if TYPE_CHECKING:
    from entresol.features.debugger.sources.compiled import Compilation

MODULE: Final = "entresol.features.debugger.uploads"

MAX_CPU_SECONDS: Final = 30
MAX_SECONDS: Final = 120
MAX_MEMORY: Final = 512 << 20

TOO_MUCH: Final = (
    f"reading the compilation takes more than {MAX_CPU_SECONDS} s or {MAX_MEMORY >> 20} MiB"
)

PARAMETERS: Final = [
    Parameter("version", str),
    Parameter("input", CompilerInput),
    Parameter("output", CompilerOutput),
]


async def read_upload(params: Raw) -> Compilation:
    """Return the compilation in the parameters of an upload; raise `InvalidParamsError` for what is none.

    One is read at a time. It ends with the client, as what reads it does.
    """
    process = ReadingProcess(MODULE, given=params, seconds=MAX_SECONDS)
    try:
        return await asyncio.wrap_future(_thread().submit(_read, process))
    finally:
        process.kill()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "uploads")


def _read(process: ReadingProcess) -> Compilation:
    try:
        found = process.compilation()
    except OSError:
        raise InvalidParamsError("params", TOO_MUCH) from None
    if isinstance(found, str):
        path, _, problem = found.partition(": ")
        raise InvalidParamsError(path, problem)
    return found


def main() -> None:
    """Read the parameters of an upload from the standard input, and write the compilation to the standard output."""
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    writer = ContractWriter(sys.stdout.buffer)
    try:
        _, texts, output = ParamsReader(PARAMETERS).decode(Raw(sys.stdin.buffer.read()))
    except InvalidParamsError as error:
        writer.reject(str(error))
    else:
        writer.write_compilation(compilation_of(output, texts))


if __name__ == "__main__":
    main()
