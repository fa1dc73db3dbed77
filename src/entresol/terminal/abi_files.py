"""The ABIs that `--abi` names: files and folders of solc, Hardhat and Foundry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.bounded_file import read_file
from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.terminal.config import LogConfig


ABI_FLAG: Final = "--abi"

MAX_ABI_FILES: Final = 10_000
"""Files that are read of one folder."""

MAX_ABI_FILE_BYTES: Final = 64 << 20


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
