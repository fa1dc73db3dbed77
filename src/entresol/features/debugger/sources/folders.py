"""Read the output of compilers from folders: Foundry's `out`, Hardhat's `artifacts`, standard JSON of solc and Vyper."""

from __future__ import annotations

import errno
import logging
import os
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidConfig
from entresol.features.debugger.sources.compilation import (
    MAX_CONTRACTS,
    MAX_NUMBER_DIGITS,
    compiled_contract,
    contracts_of,
    numbered_sources,
)
from entresol.features.debugger.sources.compiler_json import (
    Bytecode,
    CompilerInput,
    CompilerOutput,
    CompilerSettings,
    Contract,
    ContractCodes,
    nothing,
)
from entresol.features.debugger.sources.source_file import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from entresol.features.debugger.sources.compiled import CompiledContract

log = logging.getLogger(__name__)

SOURCES_FLAG: Final = "--sources"

MAX_TOTAL_BYTES: Final = 2 << 30


class FileReader:
    """Reads files up to a size each, and up to a size together. Fails: never; a file that is not read is logged."""

    def __init__(self) -> None:
        self._room = MAX_TOTAL_BYTES
        self._read: set[Path] = set()
        self._rejected: set[Path] = set()

    def content(self, path: Path, limit: int) -> bytes | None:
        """Return a file of at most `limit` bytes; a file that is read again counts once."""
        if path in self._rejected:
            return None
        is_new = path not in self._read
        room = self._room if is_new else limit
        try:
            content = _regular_content(path, min(limit, room))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else None
            self._reject(path, problem or str(error))
            return None
        if content is None:
            text = f"all files together have more than {MAX_TOTAL_BYTES:,} bytes"
            own = f"it has more than {limit:,} bytes"
            self._reject(path, f"it is too large: {text if room < limit else own}")
        elif is_new:
            self._read.add(path)
            self._room -= len(content)
        return content

    def _reject(self, path: Path, problem: str) -> None:
        self._rejected.add(path)
        log.warning("%s: %s is not read: %s", SOURCES_FLAG, path, problem)


def is_file(path: Path) -> bool:
    """Return whether a path is a file; one that cannot be a path is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _regular_content(path: Path, limit: int) -> bytes | None:
    """Return the bytes of a file, or None if there are more than `limit`."""
    # A pipe that nobody writes to is opened without waiting for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        # One that grows meanwhile is not read further.
        content = file.read(status.st_size + 1) if status.st_size <= limit else None
    return None if content is None or len(content) > limit else content


MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 512 << 20
"""Hardhat's build information has the syntax trees of all sources."""
MAX_SOURCE_BYTES: Final = 8 << 20

HARDHAT_3_OUTPUT: Final = ".output.json"
DEBUG_FILE: Final = ".dbg.json"

_SETTING_NAMES: Final = {"via_ir": "viaIR", "compilation_target": "compilationTarget"}


class ArtifactSettings(CompilerSettings, frozen=True, rename=_SETTING_NAMES):
    """The settings of an artifact's metadata, with the source and the name of its contract."""

    compilation_target: dict[str, str] = msgspec.field(default_factory=dict)


class ArtifactMetadata(msgspec.Struct):
    """The metadata of an artifact of Foundry, as far as it matters here."""

    settings: ArtifactSettings = ArtifactSettings()


class FoundryArtifact(msgspec.Struct, rename="camel"):
    """An artifact of Foundry; `id` is the number of its source."""

    abi: msgspec.Raw
    bytecode: Bytecode
    deployed_bytecode: Bytecode
    id: int
    metadata: ArtifactMetadata = msgspec.field(default_factory=ArtifactMetadata)
    storage_layout: msgspec.Raw = msgspec.field(default_factory=nothing)


_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_artifact: Final = msgspec.json.Decoder(FoundryArtifact).decode
_input: Final = msgspec.json.Decoder(CompilerInput).decode
_output: Final = msgspec.json.Decoder(CompilerOutput).decode
_names: Final = msgspec.json.Decoder(dict[str, str]).decode


def check_paths(paths: Sequence[str]) -> None:
    """Raise `InvalidConfig` unless each path is a file, or a folder with JSON files."""
    for path in map(Path, paths):
        if _is_folder(path):
            if next(path.rglob("*.json"), None) is None:
                raise InvalidConfig(SOURCES_FLAG, f"{path} has no JSON files: compile first")
        elif not is_file(path):
            raise InvalidConfig(SOURCES_FLAG, f"{path}: no such file or folder")


def stamp_of(paths: Sequence[str]) -> tuple[int, int, int]:
    """Return what differs once a compiler has written files: their number, the last change, and their size."""
    count, last, total = 0, 0, 0
    for path in map(Path, paths):
        for found in _statuses(path):
            count, total = count + 1, total + found.st_size
            last = max(last, found.st_mtime_ns)
    return count, last, total


def read_contracts(paths: Sequence[str]) -> Iterator[CompiledContract]:
    """Yield the contracts of files and folders; what cannot be read is logged with its name."""
    for path in map(Path, paths):
        yield from OutputFolder(path).contracts()


def roots_of(path: Path) -> tuple[Path, ...]:
    """Return where the sources are looked for that the output in a file or a folder only names."""
    folder = path if _is_folder(path) else path.parent
    return folder.parent, folder, Path.cwd()


class OutputFolder:
    """The output of a compiler, or of Foundry or Hardhat, in a folder or a file.

    Fails: never; a file that is not understood is logged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = FileReader()
        self._texts: dict[str, bytes | None] = {}
        self._inputs: dict[Path, CompilerInput | None] = {}
        self._roots = roots_of(path)
        self._artifacts: list[FoundryArtifact] = []
        self._builds: list[dict[int, str]] = []
        """The sources of each build of Foundry by their numbers, the latest build first."""

    def contracts(self) -> Iterator[CompiledContract]:
        """Yield the contracts that have code."""
        for path in self._files():
            try:
                yield from self._contracts_in(path)
            except (OSError, ValueError, RecursionError) as error:
                log.warning("%s: %s is not read: %s", SOURCES_FLAG, path, error)
        yield from self._foundry()

    def _files(self) -> Sequence[Path]:
        """Return the files to read, the latest first."""
        if not _is_folder(self._path):
            return [self._path]
        found: list[Path] = []
        try:
            for path in self._path.rglob("*.json"):
                if len(found) == MAX_FILES:
                    text = "%s: %s has more than %d JSON files; further ones are not read"
                    log.warning(text, SOURCES_FLAG, self._path, MAX_FILES)
                    break
                if not path.name.endswith(DEBUG_FILE):
                    found.append(path)
        except OSError as error:
            # A compiler that runs removes folders.
            text = "%s: %s is not read further: %s"
            log.warning(text, SOURCES_FLAG, self._path, error.strerror or error)
        return sorted(found, key=_changed, reverse=True)

    def _contracts_in(self, path: Path) -> Iterator[CompiledContract]:
        content = self._reader.content(path, MAX_FILE_BYTES)
        if content is None or content.lstrip()[:1] != b"{":
            return
        members = _members(content)
        if "source_id_to_path" in members and "output" not in members:
            names = _names(members["source_id_to_path"])
            self._builds.append(
                {int(number): name for number, name in names.items() if _is_number(number)}
            )
        elif "output" in members:
            yield from self._built(path, members)
        elif "contracts" in members and "sources" in members:
            yield from contracts_of(_output(content), self._input_beside(path), self._source)
        elif "deployedBytecode" in members and bytes(members["deployedBytecode"]).startswith(b"{"):
            self._artifacts.append(_artifact(content))

    def _built(self, path: Path, members: Mapping[str, msgspec.Raw]) -> Iterator[CompiledContract]:
        """Yield the contracts of build information; Hardhat 3 has the input in a file of its own."""
        shown: dict[str, str] = {}
        if "input" not in members and path.name.endswith(HARDHAT_3_OUTPUT):
            beside = path.with_name(path.name.removesuffix(HARDHAT_3_OUTPUT) + ".json")
            members = {**_members(self._reader.content(beside, MAX_FILE_BYTES) or b"{}"), **members}
            names = _names(members.get("userSourceNameMap", msgspec.Raw(b"{}")))
            shown = {inner: name for name, inner in names.items()}
        given = _input(members["input"]) if "input" in members else None
        yield from contracts_of(_output(members["output"]), given, self._source, shown)

    def _input_beside(self, path: Path) -> CompilerInput | None:
        """Return the standard JSON input in the folder of an output, if there is one."""
        folder = path.parent
        if folder not in self._inputs:
            self._inputs[folder] = self._input_in(folder)
        return self._inputs[folder]

    def _input_in(self, folder: Path) -> CompilerInput | None:
        for path in sorted(islice(folder.glob("*.json"), MAX_FILES)):
            content = self._reader.content(path, MAX_FILE_BYTES)
            if content is None:
                continue
            try:
                members = _members(content)
                if "language" in members and "sources" in members:
                    return _input(content)
            except (ValueError, RecursionError):
                continue
        return None

    def _foundry(self) -> Iterator[CompiledContract]:
        own = {
            artifact.id: name
            for artifact in self._artifacts
            for name in artifact.metadata.settings.compilation_target
        }
        builds = [self._numbered(names) for names in (*self._builds, own)]
        for artifact in self._artifacts[:MAX_CONTRACTS]:
            for file, name in artifact.metadata.settings.compilation_target.items():
                yield from _of_artifact(artifact, file, name, builds)

    def _numbered(self, names: Mapping[int, str]) -> list[SourceFile | None]:
        return numbered_sources(
            {number: SourceFile(name, self._source(name)) for number, name in names.items()}
        )

    def _source(self, name: str) -> bytes | None:
        """Return a source that the output names, from the project that the folder is in."""
        if name not in self._texts:
            paths = (root / name for root in self._roots)
            found = next((path for path in paths if is_file(path)), None)
            self._texts[name] = (
                None if found is None else self._reader.content(found, MAX_SOURCE_BYTES)
            )
        return self._texts[name]


def _of_artifact(
    artifact: FoundryArtifact, file: str, name: str, builds: Sequence[list[SourceFile | None]]
) -> Iterator[CompiledContract]:
    """Yield the contract of an artifact, with the sources of the latest build that its number is from."""
    number = artifact.id
    for sources in builds:
        own = sources[number] if 0 <= number < len(sources) else None
        if own is not None and own.name == file:
            break
    else:
        return
    codes = ContractCodes(artifact.bytecode, artifact.deployed_bytecode)
    contract = Contract(abi=artifact.abi, evm=codes, storage_layout=artifact.storage_layout)
    is_optimized = artifact.metadata.settings.is_optimized
    found = compiled_contract(name, file, contract, sources, number, is_optimized=is_optimized)
    if found is not None:
        yield found


def _statuses(path: Path) -> Iterator[os.stat_result]:
    """Yield what is known of a file, or of the files of a folder, as far as they are still there."""
    try:
        for file in islice(path.rglob("*.json"), MAX_FILES) if _is_folder(path) else [path]:
            with suppress(OSError):
                yield file.stat()
    except OSError as error:
        # A compiler that runs removes folders.
        log.debug("%s: %s: %s", SOURCES_FLAG, path, error)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
