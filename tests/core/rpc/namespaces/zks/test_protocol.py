"""The version of the protocol, and what the chain started with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.primitives.values import Address, Data, Hash32
from entresol.rollup.system_contracts import CONTRACTS, NATIVE_TOKEN_VAULT, system_genesis
from entresol.rpc.namespaces.eth.client import EthClient
from entresol.rpc.namespaces.zks.protocol import ZksProtocol
from tests.support.chain.dev_chain import ALICE, ETHER
from tests.support.rpc_client import NamespaceClient

GENESIS = Genesis.development(
    270, [ALICE], ETHER, system_genesis(l1_chain_id=9, l1_asset_router=Address(b"\x5b" * 20))
)


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = Chain.open(None, ChainRules.layer_2(), GENESIS)
    yield chain
    chain.close()


@pytest.fixture
def client(chain: Chain) -> Iterator[NamespaceClient]:
    client = NamespaceClient(ZksProtocol(chain.blocks, GENESIS), EthClient(chain))
    yield client
    client.close()


def test_both_namespaces_name_the_same_version(client: NamespaceClient) -> None:
    minor = client("zks_getProtocolVersion")["minorVersion"]
    assert client("eth_protocolVersion") == f"zks/0.{minor}.0"


def test_the_genesis_names_contracts_storage_and_root(
    client: NamespaceClient, chain: Chain
) -> None:
    genesis = client("zks_getGenesis")
    contracts = dict(genesis["initial_contracts"])
    assert {str(address) for address in CONTRACTS} <= set(contracts)
    assert all(len(code) > 2 for code in contracts.values())
    assert str(NATIVE_TOKEN_VAULT) in genesis["additional_storage"]
    assert genesis["execution_version"] == 1
    assert genesis["genesis_root"] == str(chain.blocks.header(0).state_root)


def test_the_root_of_the_genesis_follows_from_the_rest_of_it(
    client: NamespaceClient, chain: Chain
) -> None:
    genesis = client("zks_getGenesis")
    codes = dict(genesis["initial_contracts"])
    alloc = {
        Address.parse(address): GenesisAccount(
            balance=int(account["balance"], 16),
            nonce=int(account["nonce"], 16),
            code=bytes(Data.parse(codes.get(address, "0x"))),
            storage={
                Hash32.parse(slot): Hash32.parse(value)
                for slot, value in genesis["additional_storage"].get(address, {}).items()
            },
        )
        for address, account in genesis["initial_accounts"].items()
    }
    with closing(
        Chain.open(None, ChainRules.layer_2(), Genesis(chain_id=270, alloc=alloc))
    ) as again:
        assert str(again.blocks.header(0).state_root) == genesis["genesis_root"]
        assert again.ledger.head_hash == chain.ledger.head_hash
