"""The chains that were added to those of a data directory, as they are recorded."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from entresol.errors import ChainNotAdded, InvalidConfig
from entresol.features.adding.records import ADDED_FILE, AddedChain, AddedChains, added_at
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.settlement.manifest import RecordedToken
from entresol.primitives.base_token import BaseToken, EtherPrice
from entresol.primitives.values import Address

TOKEN = BaseToken(
    l1_address=Address(b"\7" * 20),
    name="Zoo",
    symbol="ZOO",
    decimals=6,
    ether_price=EtherPrice(2**127, 3),
)
RECEIVER = Address(b"\5" * 20)
CHAIN = AddedChain(
    chain_id=2**64 - 1,
    port=0,
    index=1,
    contract=Address(b"\x12" * 20),
    paid_in=RecordedToken.of(TOKEN),
)


def config_of(path: Path) -> NodeConfig:
    return NodeConfig(chain=ChainConfig(data_dir=str(path), balance=5, base_token=str(RECEIVER)))


def test_a_chain_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    AddedChains(config_of(tmp_path)).add(CHAIN)
    assert added_at(tmp_path) == (CHAIN,)
    assert added_at(tmp_path)[0].base_token == TOKEN


def test_the_settings_of_an_added_chain_are_the_nodes_without_its_funds(tmp_path: Path) -> None:
    config = CHAIN.config(config_of(tmp_path))
    assert config.chain.chain_id == CHAIN.chain_id
    assert config.chain.balance == 0
    assert config.chain.data_dir == str(tmp_path / str(CHAIN.chain_id))
    assert config.chain.base_token == str(TOKEN.l1_address)


def test_a_chain_that_is_forgotten_leaves_no_folder(tmp_path: Path) -> None:
    added = AddedChains(config_of(tmp_path))
    added.add(CHAIN)
    folder = added.folder(CHAIN.chain_id)
    assert folder is not None
    folder.mkdir()
    added.forget(CHAIN)
    assert not folder.exists()
    assert added_at(tmp_path) == ()


def test_a_folder_that_is_there_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / str(CHAIN.chain_id)).mkdir()
    with pytest.raises(ChainNotAdded, match="exists"):
        AddedChains(config_of(tmp_path)).add(CHAIN)
    assert not (tmp_path / ADDED_FILE).exists()


def test_a_chain_that_could_not_be_written_is_recorded_once_by_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    added = AddedChains(config_of(tmp_path))
    with monkeypatch.context() as disk:
        disk.setattr("entresol.features.adding.records.write_durably", full)
        with pytest.raises(ChainNotAdded, match="No space left on device"):
            added.add(CHAIN)
    assert added.chains == ()
    added.add(CHAIN)
    assert added.chains == added_at(tmp_path) == (CHAIN,)


@pytest.mark.parametrize("content", [b"", b"{}", b'[{"chain_id": 1}]', b'[{"contract": "0x1"}]'])
def test_a_file_that_is_damaged_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ADDED_FILE).write_bytes(content)
    with pytest.raises(InvalidConfig, match=ADDED_FILE):
        added_at(tmp_path)
