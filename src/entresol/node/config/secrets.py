"""Secrets of the configuration: private keys and mnemonics, by flag or from a file, and in no error message."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from entresol.bounded_file import read_file
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, DevAccount
from entresol.errors import InvalidConfig, MalformedValue
from entresol.l1.operator import OperatorKeys
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.node.config.schema import L1Config, NodeConfig

log = logging.getLogger(__name__)

S = TypeVar("S", bound=msgspec.Struct)

MAX_SECRET_BYTES: Final = 4096
_KEY_DIGITS: Final = 64
_OTHERS_MAY_READ: Final = stat.S_IRGRP | stat.S_IROTH


def read_secret_files(config: NodeConfig) -> NodeConfig:
    """Return the configuration with the secrets that are in files, also those of each chain in a table.

    A flag and its file exclude each other.
    """
    chain = _from_file(config.chain, "mnemonic", DEVELOPMENT_MNEMONIC)
    l1 = config.l1
    for name in ("operator_key", "prove_key", "execute_key", "bridgehub_owner_key"):
        l1 = _from_file(l1, name)
    chains = tuple(map(read_secret_files, config.chains))
    return msgspec.structs.replace(config, chain=chain, l1=l1, chains=chains)


def operator_keys(config: L1Config, default: Hash32) -> OperatorKeys:
    """Return the keys that deploy and settle; `default` is that of an operator without flags."""
    commit, prove, execute = step_keys(config)
    return OperatorKeys.of(commit or default, prove, execute)


def step_keys(config: L1Config) -> tuple[Hash32 | None, Hash32 | None, Hash32 | None]:
    """Return the keys that commit, prove and execute; None for one that is not given."""
    return (
        _key(config.operator_key, "--operator-key"),
        _key(config.prove_key, "--prove-key"),
        _key(config.execute_key, "--execute-key"),
    )


def parse_private_key(text: str, source: str) -> Hash32:
    """Return a private key; an error names `source`, and what is wrong, but not the key."""
    digits = text.strip().removeprefix("0x")
    if len(digits) != _KEY_DIGITS:
        raise InvalidConfig(
            source, f"a private key is {_KEY_DIGITS} hex digits, got {len(digits)} characters"
        )
    try:
        return DevAccount.from_secret(Hash32(bytes.fromhex(digits))).secret
    except ValueError:
        problem = f"a private key is {_KEY_DIGITS} hex digits, got other characters"
    except MalformedValue as error:
        problem = error.problem
    raise InvalidConfig(source, problem)


def _key(text: str | None, flag: str) -> Hash32 | None:
    return None if text is None else parse_private_key(text, flag)


def _from_file(section: S, name: str, default: str | None = None) -> S:
    """Return a section whose setting `name` is what the file of the setting `name`_file contains."""
    file = getattr(section, f"{name}_file")
    if file is None:
        return section
    flag = "--" + name.replace("_", "-")
    if getattr(section, name) != default:
        raise InvalidConfig(f"{flag}-file", f"this cannot be combined with {flag}")
    values: dict[str, Any] = {name: _read(Path(file), f"{flag}-file")}
    return msgspec.structs.replace(section, **values)


def _read(path: Path, flag: str) -> str:
    try:
        content = read_file(path, MAX_SECRET_BYTES)
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidConfig(flag, f"{path}: {error.strerror or error}") from error
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise InvalidConfig(flag, f"{path} has to contain the secret, as text, and nothing else")
    if mode & _OTHERS_MAY_READ:
        log.warning("other users may read %s (%s): chmod 600 it", path, flag)
    return text
