"""Secrets of the configuration: private keys and mnemonics, by flag or from a file, and in no error message."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from entresol.bounded_file import read_file
from entresol.chain.genesis.accounts import DevAccount
from entresol.errors import InvalidConfig, MalformedValue
from entresol.l1.operator import OperatorKeys
from entresol.node.config.setting import settings_of
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.node.config.schema import L1Config, NodeConfig

log = logging.getLogger(__name__)

MAX_SECRET_BYTES: Final = 4096
_KEY_DIGITS: Final = 64
_OTHERS_MAY_READ: Final = stat.S_IRGRP | stat.S_IROTH


def read_secret_files(config: NodeConfig) -> NodeConfig:
    """Return the configuration with the secrets that are in files, also those of each chain in a table.

    A flag and its file exclude each other.
    """
    return config.each_section(_with_files)


def without_secrets(config: NodeConfig) -> NodeConfig:
    """Return the configuration for a process that needs no secrets."""
    return config.each_section(_without_secrets)


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


def _without_secrets(section: Struct) -> Struct:
    settings = settings_of("", type(section))
    values = {setting.field: setting.default for setting in settings if setting.is_secret}
    return structs.replace(section, **values)


def _with_files(section: Struct) -> Struct:
    """Return a section with what the file of a setting `<name>_file` contains as the setting `<name>`."""
    for setting in settings_of("", type(section)):
        file = getattr(section, f"{setting.field}_file", None)
        if file is None:
            continue
        flag = f"{setting.flag}-file"
        if getattr(section, setting.field) != setting.default:
            raise InvalidConfig(flag, f"this cannot be combined with {setting.flag}")
        section = structs.replace(section, **{setting.field: _read(Path(file), flag)})
    return section


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
