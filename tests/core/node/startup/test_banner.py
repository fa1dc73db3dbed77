from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, ZK_STACK_ACCOUNTS, derive
from entresol.errors import InvalidConfig
from entresol.l1.deployment import addresses_of
from entresol.l1.urls import Endpoint
from entresol.node.startup.banner import banner
from entresol.node.startup.info import L1Info, NodeInfo
from entresol.primitives.base_token import BaseToken, EtherPrice
from entresol.primitives.values import Address

ACCOUNTS = derive(DEVELOPMENT_MNEMONIC, 2)
ZOO = BaseToken(
    l1_address=Address(b"\x42" * 20),
    name="Zoo",
    symbol="ZOO",
    decimals=6,
    ether_price=EtherPrice(3, 10**9),
)
INFO = NodeInfo(
    accounts=ACCOUNTS,
    balance=10_000,
    mnemonic=DEVELOPMENT_MNEMONIC,
    chain_id=270,
    base_fee=100_000_000,
    gas_price=100_000_001,
    gas_limit=30_000_000,
    fork="osaka",
    head=0,
    money="play money",
    unlocked="2 unlocked",
    methods="with all",
    genesis_timestamp=0,
    address="127.0.0.1:3050",
    data_dir=None,
    l1=None,
)


def test_the_banner_shows_all_that_a_client_needs() -> None:
    lines = banner(INFO).splitlines()
    assert f"(1) {ACCOUNTS[1].address.checksummed()} (10,000 ETH)" in lines
    assert f"(1) {ACCOUNTS[1].secret}" in lines
    assert f"Mnemonic     {DEVELOPMENT_MNEMONIC}" in lines
    assert "Chain id     270" in lines
    assert "Money        play money" in lines
    assert "Accounts     2 unlocked" in lines
    assert "Methods      with all" in lines
    assert "Base fee     100,000,000 wei" in lines
    assert "Gas limit    30,000,000" in lines
    assert "HTTP         http://127.0.0.1:3050" in lines
    assert "WebSocket    ws://127.0.0.1:3050" in lines


def test_the_banner_has_the_rows_of_features_and_says_whose_the_last_accounts_are() -> None:
    info = msgspec.structs.replace(INFO, accounts=(*ACCOUNTS, *ZK_STACK_ACCOUNTS))
    text = banner(msgspec.structs.replace(info, rows={"Explorer": "at its place"}))
    assert "\nExplorer     at its place\n" in text
    assert f"(1) {ACCOUNTS[1].address.checksummed()} (10,000 ETH)\n" in text
    address = ZK_STACK_ACCOUNTS[0].address.checksummed()
    assert f"(2) {address} (10,000 ETH), a rich account of ZK Stack tools" in text
    assert "Explorer" not in banner(info)


def test_a_base_token_is_never_called_ether() -> None:
    info = msgspec.structs.replace(INFO, base_token=ZOO, base_fee=1)
    lines = banner(info).splitlines()
    assert f"(1) {ACCOUNTS[1].address.checksummed()} (10,000 ZOO)" in lines
    assert f"Base token   ZOO, 6 decimals, {ZOO.l1_address.checksummed()} on L1" in lines
    assert "Ratio        3000 ZOO for an ether" in lines
    assert "Base fee     1 of the smallest unit of ZOO" in lines
    assert info.to_json()["base_token"] == {
        "l1_address": str(ZOO.l1_address),
        "name": "Zoo",
        "symbol": "ZOO",
        "decimals": 6,
        "ratio": "3000",
    }


def test_a_temporary_chain_is_shown_as_such() -> None:
    assert "Directory    temporary: deleted when the node stops" in banner(INFO)
    stored = msgspec.structs.replace(INFO, data_dir=Path("/data/chain"))
    assert "Directory    /data/chain" in banner(stored)


def test_the_file_has_what_the_banner_has(tmp_path: Path) -> None:
    path = tmp_path / "info.json"
    path.write_text("older", encoding="utf-8")
    INFO.write(path)
    info = json.loads(path.read_text(encoding="utf-8"))
    assert info["private_keys"] == [str(account.secret) for account in ACCOUNTS]
    assert (info["base_fee"], info["gas_price"]) == ("100000000", "100000001")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_reported_with_its_flag(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidConfig, match=r"^--config-out: .*info\.json cannot be written: No such"
    ):
        INFO.write(tmp_path / "none" / "info.json")
    (tmp_path / "info.json").mkdir()
    with pytest.raises(InvalidConfig, match="cannot be written: Is a directory"):
        INFO.write(tmp_path / "info.json")
    assert [it.name for it in tmp_path.iterdir()] == ["info.json"]


KEYED = msgspec.structs.replace(
    INFO,
    l1=L1Info(
        chain_id=1,
        endpoint=Endpoint("https://l1.example/v2/sesame"),
        is_embedded=False,
        contracts=addresses_of(ACCOUNTS[0].address),
    ),
)


def test_the_banner_shows_no_key_of_an_l1() -> None:
    assert "HTTP         https://l1.example/…" in banner(KEYED).splitlines()
    assert "sesame" not in banner(KEYED)


def test_a_file_with_keys_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "info.json"
    INFO.write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    msgspec.structs.replace(INFO, accounts=()).write(path)
    assert path.stat().st_mode & 0o777 != 0o600


CUSTOM = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def test_only_keys_of_the_development_mnemonic_are_said_to_be_publicly_known() -> None:
    assert "Private keys, publicly known" in banner(INFO).splitlines()
    text = banner(msgspec.structs.replace(INFO, mnemonic=CUSTOM, accounts=derive(CUSTOM, 1)))
    assert "Private keys" in text.splitlines()
    assert "publicly known" not in text


def test_keys_of_a_mnemonic_in_a_file_are_in_no_banner_and_no_log(tmp_path: Path) -> None:
    (account,) = derive(CUSTOM, 1)
    info = msgspec.structs.replace(
        INFO, mnemonic=CUSTOM, mnemonic_file="words", accounts=(account,)
    )
    assert "Mnemonic     in words; --config-out writes the private keys" in banner(info)
    assert account.address.checksummed() in banner(info)
    for text in (banner(info), json.dumps(info.to_log())):
        assert str(account.secret) not in text
        assert CUSTOM not in text
    info.write(tmp_path / "info.json")
    assert str(account.secret) in (tmp_path / "info.json").read_text(encoding="utf-8")
