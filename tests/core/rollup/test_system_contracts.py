"""The system contracts in the genesis of an L2."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from entresol import contracts
from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.primitives.base_token import ETH_TOKEN, ETHER_TOKEN, BaseToken, EtherPrice, asset_id
from entresol.primitives.interop_bundles import BASE_TOKEN_HOLDER, INTEROP_CENTER
from entresol.primitives.values import Address
from entresol.rollup import system_contracts
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    BASE_TOKEN,
    BRIDGEHUB,
    CONTRACTS,
    DEPLOYERS,
    HELD,
    INTEROP_CONTRACTS,
    NATIVE_TOKEN_VAULT,
    TESTNET_PAYMASTER,
    InteropGenesis,
    backed_balance,
    system_genesis,
)

ROUTER = Address(b"\x5b" * 20)
SOURCES = Path(__file__).parents[3] / "contracts"


def test_no_contract_needs_a_constructor() -> None:
    names = (*CONTRACTS.values(), *INTEROP_CONTRACTS.values())
    assert all(not contracts.artifact(name).immutables for name in names)


def test_every_contract_of_the_l2_is_deployed() -> None:
    compiled = map(contracts.artifact, contracts.names())
    deployed = {*CONTRACTS.values(), *INTEROP_CONTRACTS.values(), "TestnetPaymaster"}
    assert {it.name for it in compiled if it.source.startswith("l2/")} == deployed


def test_only_a_development_chain_has_a_paymaster() -> None:
    assert TESTNET_PAYMASTER not in system_genesis(l1_chain_id=9, l1_asset_router=ROUTER)
    account = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER, paymaster_balance=7)[
        TESTNET_PAYMASTER
    ]
    assert (account.balance, account.nonce) == (7, 1)
    # An odd number of words, as EraVM bytecode has.
    assert len(account.code) % 64 == 32


def test_only_a_chain_with_bundles_has_a_holder_whose_balance_is_in_no_sum() -> None:
    asset = asset_id(9, ETH_TOKEN)
    interop = InteropGenesis(Address(b"\x5e" * 20), {271: asset})
    alloc = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER, interop=interop)
    assert alloc[BASE_TOKEN_HOLDER].balance == HELD
    assert backed_balance(alloc) == 0
    assert asset in alloc[BRIDGEHUB].storage.values()
    earlier = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER)
    assert not earlier.keys() & INTEROP_CONTRACTS.keys()


def test_a_call_to_another_chain_costs_the_same_in_every_base_token() -> None:
    price = EtherPrice(3, 10**12)
    token = BaseToken(l1_address=Address(b"\x70" * 20), decimals=6, ether_price=price)
    alloc = system_genesis(
        l1_chain_id=9, l1_asset_router=ROUTER, base_token=token, interop=InteropGenesis(ROUTER)
    )
    (fee,) = alloc[INTEROP_CENTER].storage.values()
    assert int.from_bytes(fee) == 3


def test_the_addresses_are_those_in_the_contracts() -> None:
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*/*.sol")))
    constants = re.findall(r"address constant (?:L2_)?(\w+) = address\((0x\w+)\);", text)
    renamed = {
        "DEPLOYER": "CONTRACT_DEPLOYER",
        "MESSENGER": "L1_MESSENGER",
        "INTEROP_ROOT_STORAGE": "ROOT_STORAGE",
    }
    known = {renamed.get(name, name): int(address, 16).to_bytes(20) for name, address in constants}
    assert len(known) > len(CONTRACTS) // 2
    assert {name: getattr(system_contracts, name) for name in known} == known


def test_the_settlement_layer_is_part_of_the_genesis_state() -> None:
    here = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER)
    there = system_genesis(l1_chain_id=1, l1_asset_router=Address(b"\x5c" * 20))
    differing = {address for address in here if here[address] != there[address]}
    assert differing == {ASSET_ROUTER, NATIVE_TOKEN_VAULT}


def test_another_base_token_has_another_asset_id() -> None:
    token = Address(b"\x70" * 20)
    base_token = BaseToken(l1_address=token)
    mine = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER, base_token=base_token)
    storage = mine[NATIVE_TOKEN_VAULT].storage
    assert asset_id(9, token) in storage.values()
    assert asset_id(9, ETH_TOKEN) not in storage.values()


@pytest.mark.parametrize("name", ["Zoo", "The longest name of a token that anybody has ever seen"])
def test_the_base_token_is_read_from_the_genesis_that_has_it(name: str) -> None:
    token = BaseToken(l1_address=Address(b"\x70" * 20), name=name, symbol="ZOO", decimals=6)
    mine = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER, base_token=token)
    assert base_token_of(mine) == token


def test_a_genesis_without_a_base_token_is_paid_in_ether() -> None:
    ether = system_genesis(l1_chain_id=9, l1_asset_router=ROUTER)
    # As an earlier version wrote it, whose contract had the name in its code.
    earlier = {**ether, BASE_TOKEN: msgspec.structs.replace(ether[BASE_TOKEN], storage={})}
    assert base_token_of({}) == base_token_of(ether) == base_token_of(earlier) == ETHER_TOKEN


def test_an_asset_has_the_id_that_clients_compute() -> None:
    # keccak256(abi.encode(9, 0x10004, 1)), as ethers encodes it.
    assert str(asset_id(9, ETH_TOKEN)) == (
        "0x52f431aa35dd80982e3c66614112503ca2c6e344745f4a2bcfc9bd7e09c75584"
    )


def test_the_page_about_the_contracts_lists_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "system-contracts.md").read_text()
    rows = re.findall(r"^\| `(0x\w{40})` \| `(\w+)` \|", page, re.MULTILINE)
    assert {Address.parse(address): name for address, name in rows} == {
        **CONTRACTS,
        **INTEROP_CONTRACTS,
        TESTNET_PAYMASTER: "TestnetPaymaster",
    }
    assert all(str(address) in page for address in DEPLOYERS)
