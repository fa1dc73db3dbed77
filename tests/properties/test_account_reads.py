"""Accounts and slots are what the state has, however a request spells them and whoever decodes it, on both layers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.finality import BlockTag
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER, NONCE_HOLDER
from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import ALICE, LOGGER, NOBODY
from tests.support.contracts.accounts import ScriptedWorld, use_nonce
from tests.support.contracts.layer_two import BOB
from tests.support.run.examples import examples

METHODS = [
    "eth_getBalance",
    "eth_getTransactionCount",
    "eth_getCode",
    "eth_getAccountInfo",
    "eth_getAccount",
    "eth_getStorageAt",
]
SLOTS = [0, 1, 2, 2**256 - 1]
EDITED = Address(b"\xed" * 20)
"""An account that an edit has made, and no block has yet."""


class Layer(NamedTuple):
    """A chain with its API, and addresses of all kinds on it."""

    client: ApiClient
    addresses: list[Address]
    contract_accounts: list[Address]

    @property
    def chain(self) -> Chain:
        return self.client.chain


def _edit(chain: Chain) -> None:
    chain.edit(EDITED, lambda state: state.set_balance(EDITED, 7))
    chain.edit(EDITED, lambda state: state.set_slot(EDITED, bytes(32), bytes(31) + b"\x05"))


@pytest.fixture(scope="module")
def layer_one() -> Iterator[Layer]:
    with running_api() as client:
        for nonce in range(3):
            send(client, nonce, to=LOGGER if nonce % 2 else NOBODY)
        _edit(client.chain)
        yield Layer(client, [ALICE, LOGGER, NOBODY, EDITED], [])


@pytest.fixture(scope="module")
def layer_two() -> Iterator[Layer]:
    world = ScriptedWorld()
    account, contract = world.account(), world.contract(ether=3)
    # Transactions and creations of a contract account count apart.
    world.include(world.from_contract(account))
    former = world.account()
    world.do(former, use_nonce(0))
    world.set_version(former, 0)
    _edit(world.chain)
    client = ApiClient(world.chain)
    addresses = [ALICE, BOB, EDITED, NONCE_HOLDER, account, contract, former]
    yield Layer(client, addresses, [account])
    client.api.close()
    world.close()


@pytest.fixture(scope="module", params=["layer_one", "layer_two"])
def layer(request: pytest.FixtureRequest) -> Layer:
    found: Layer = request.getfixturevalue(request.param)
    return found


def body_of(method: str, params: list[object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def spellings(chain: Chain, number: int) -> list[object]:
    """Return what names a block: other than hex digits and `latest`, only Python reads it."""
    block_hash = str(chain.blocks.header(number).hash())
    named: list[object] = [hex(number), number, block_hash]
    named += [{"blockHash": block_hash}, {"blockNumber": hex(number)}]
    # Nothing is pending, so that is the state after the last block.
    tags = [(it, chain.number if it is BlockTag.PENDING else chain.resolve(it)) for it in BlockTag]
    return named + [str(tag) for tag, resolved in tags if resolved == number]


def expected(layer: Layer, method: str, address: Address, slot: int, number: int) -> object:
    """Return what the state after a block has, rendered here."""
    state = layer.chain.state_after(number)
    account = state.account(address)
    balance, nonce = (0, 0) if account is None else (account.balance, account.nonce)
    code = b"" if account is None else state.code(account.code_hash)
    fields = {"balance": hex(balance), "nonce": hex(nonce)}
    match method:
        case "eth_getBalance":
            return hex(balance)
        case "eth_getCode":
            return "0x" + code.hex()
        case "eth_getStorageAt":
            return "0x" + state.slot(address, slot.to_bytes(32)).hex()
        case "eth_getAccountInfo":
            return {**fields, "code": "0x" + code.hex()}
        case "eth_getAccount":
            if account is None:
                return None
            storage = layer.client("eth_getProof", str(address), [], hex(number))["storageHash"]
            return {**fields, "codeHash": "0x" + account.code_hash.hex(), "storageRoot": storage}
    slot_of = keccak256(bytes(12) + address + bytes(32))
    if code and state.slot(CONTRACT_DEPLOYER, slot_of)[-1] == 1:
        return hex(int.from_bytes(state.slot(NONCE_HOLDER, slot_of)[16:]))
    return hex(nonce)


@settings(max_examples=examples(150))
@given(data=st.data())
def test_a_read_has_the_same_result_whoever_decodes_it(layer: Layer, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(METHODS))
    address = data.draw(st.sampled_from(layer.addresses))
    slot = data.draw(st.sampled_from(SLOTS))
    number = data.draw(st.integers(0, layer.chain.number))
    block = data.draw(st.sampled_from(spellings(layer.chain, number)))
    given_slot = data.draw(st.sampled_from([hex(slot), slot] if slot < 2**53 else [hex(slot)]))
    start: list[object] = [str(address)]
    if method == "eth_getStorageAt":
        start.append(given_slot)
    body = body_of(method, [*start, block])
    response = json.loads(asyncio.run(layer.client.handle(body)))
    assert response["result"] == expected(layer, method, address, slot, number)
    # With an escape in the name of the method, only Python reads it.
    by_python = asyncio.run(layer.client.handle(body.replace(b'"eth', b'"\\u0065th')))
    assert json.loads(by_python) == response


def test_the_nonce_of_a_contract_account_counts_its_transactions(layer_two: Layer) -> None:
    (account,) = layer_two.contract_accounts
    head = layer_two.chain.number
    states = map(layer_two.chain.state_after, (0, head))
    before, after = (state.account(account) for state in states)
    assert before is None
    assert after is not None
    counted = layer_two.client("eth_getTransactionCount", str(account))
    assert counted == "0x1"
    assert counted == layer_two.client("eth_getTransactionCount", str(account), "pending")
