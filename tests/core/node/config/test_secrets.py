from __future__ import annotations

import logging
from pathlib import Path

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.errors import InvalidConfig
from entresol.l1.operator import OperatorKeys
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.secrets import operator_keys, parse_private_key, read_secret_files
from entresol.primitives.values import Hash32

(ACCOUNT,) = derive(DEVELOPMENT_MNEMONIC, 1)
KEY = str(ACCOUNT.secret)
CUSTOM = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def secret_file(path: Path, content: str | bytes, mode: int = 0o600) -> str:
    file = path / "secret"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    file.chmod(mode)
    return str(file)


def test_a_key_is_read_with_and_without_its_prefix() -> None:
    assert parse_private_key(KEY, "--operator-key") == ACCOUNT.secret
    assert parse_private_key(f" {KEY[2:].upper()}\n", "--operator-key") == ACCOUNT.secret


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (KEY[:-1], "a private key is 64 hex digits, got 63 characters"),
        (KEY + "0", "a private key is 64 hex digits, got 65 characters"),
        (KEY[:-1] + "g", "a private key is 64 hex digits, got other characters"),
        (KEY[:-2] + "é0", "a private key is 64 hex digits, got other characters"),
        ("0x" + 64 * "0", "a secret key is from 1 to the order of the curve - 1"),
        ("0x" + 64 * "f", "a secret key is from 1 to the order of the curve - 1"),
        ("", "a private key is 64 hex digits, got 0 characters"),
    ],
)
def test_a_mistyped_key_is_not_repeated(text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse_private_key(text, "--operator-key")
    assert str(caught.value) == f"--operator-key: {problem}"


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    for name in ("operator_key", "prove_key", "execute_key"):
        l1 = L1Config(**{f"{name}_file": secret_file(tmp_path, KEY + "\n")})  # type: ignore[arg-type]
        assert getattr(read_secret_files(NodeConfig(l1=l1)).l1, name) == KEY
    config = NodeConfig(chain=ChainConfig(mnemonic_file=secret_file(tmp_path, CUSTOM + "\n")))
    assert read_secret_files(config).chain.mnemonic == CUSTOM
    assert read_secret_files(NodeConfig()) == NodeConfig()


def test_a_flag_and_its_file_exclude_each_other(tmp_path: Path) -> None:
    file = secret_file(tmp_path, KEY)
    for config, flag in [
        (NodeConfig(l1=L1Config(operator_key=KEY, operator_key_file=file)), "--operator-key"),
        (NodeConfig(l1=L1Config(prove_key=KEY, prove_key_file=file)), "--prove-key"),
        (NodeConfig(l1=L1Config(execute_key=KEY, execute_key_file=file)), "--execute-key"),
        (NodeConfig(chain=ChainConfig(mnemonic=CUSTOM, mnemonic_file=file)), "--mnemonic"),
    ]:
        problem = f"^{flag}-file: this cannot be combined with {flag}$"
        with pytest.raises(InvalidConfig, match=problem):
            read_secret_files(config)


def test_a_step_without_a_key_has_the_operators() -> None:
    default, other = Hash32(b"\1" * 32), Hash32(b"\2" * 32)
    assert operator_keys(L1Config(), default) == OperatorKeys.of(default)
    config = L1Config(operator_key=KEY, execute_key=str(other))
    assert operator_keys(config, default) == OperatorKeys.of(ACCOUNT.secret, None, other)
    with pytest.raises(InvalidConfig, match=r"^--prove-key: a private key is 64 hex digits, got 4"):
        operator_keys(L1Config(prove_key="0xabcd"), default)


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_file_without_a_secret_is_rejected(tmp_path: Path, content: bytes) -> None:
    config = NodeConfig(l1=L1Config(operator_key_file=secret_file(tmp_path, content)))
    with pytest.raises(InvalidConfig, match=r"^--operator-key-file: .*secret has to contain"):
        read_secret_files(config)


def test_a_file_that_is_too_large_for_a_secret_is_rejected(tmp_path: Path) -> None:
    config = NodeConfig(l1=L1Config(operator_key_file=secret_file(tmp_path, b"a" * 5000)))
    with pytest.raises(InvalidConfig, match=r"^--operator-key-file: .*more than 4,096 bytes$"):
        read_secret_files(config)


@pytest.mark.parametrize(("mode", "count"), [(0o600, 0), (0o640, 1), (0o604, 1)])
def test_a_file_that_others_may_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, count: int
) -> None:
    caplog.set_level(logging.WARNING)
    config = NodeConfig(l1=L1Config(operator_key_file=secret_file(tmp_path, KEY, mode)))
    read_secret_files(config)
    assert len([message for message in caplog.messages if "chmod 600" in message]) == count
