"""A call object comes to the same however it is spelled, and whoever reads it: the crate or Python, on both layers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Overlay
from entresol.chain.chain import Chain
from entresol.chain.fees import FeeModel
from entresol.node.config.api import LimitsConfig
from entresol.node.feature import ServedChain
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain
from tests.support.chain.served import served_chain
from tests.support.contracts.accounts import GENERAL, ScriptedWorld
from tests.support.contracts.layer_two import ETHER
from tests.support.evm.assembler import assemble
from tests.support.rpc_client import DispatcherClient, native_response
from tests.support.run.examples import examples

PROGRAMS = {
    "echo": "calldatasize 0 0 calldatacopy calldatasize 0 return",
    "reverter": "calldatasize 0 0 calldatacopy calldatasize 0 revert",
    "invalid": "invalid",
    "underflow": "add",
    "storer": "0 sload 1 add 0 sstore 0 sload 0 mstore 32 0 return",
    "looper": "again: @again jump",
    "spender": "again: gas 30000 lt @again jumpi stop",
    "price": "gasprice basefee callvalue 0 mstore 32 mstore 64 mstore 96 0 return",
    "caller": "0 0 0 0 1 0x000000000000000000000000000000000000bbbb gas call 0 mstore 32 0 return",
    "console": (
        "0 0 4 0 0x000000000000000000636f6e736f6c652e6c6f67 gas staticcall 0 mstore 32 0 return"
    ),
    "blobs": "0 blobhash blobbasefee 0 mstore 32 mstore 64 0 return",
}
AT = {name: Address(bytes([0xD0 + index]) * 20) for index, name in enumerate(PROGRAMS)}
LIMITS = LimitsConfig(call_gas_cap=1_000_000)
"""More gas than a call may use on the event loop, and so little that a loop ends soon."""
ACCOUNT = "0x" + "ac" * 20
"""Stands for a contract account where the layer has them."""


class Layer(NamedTuple):
    """The API of a chain, and the contract account that it has."""

    api: ServedChain
    account: str

    def response(self, body: bytes) -> bytes:
        response: bytes = asyncio.run(DispatcherClient(self.api.dispatcher).handle(body))
        return response


def _deploy(chain: Chain) -> None:
    def set_code(address: Address, code: bytes, state: Overlay) -> None:
        state.set_code(address, code)

    for name, program in PROGRAMS.items():
        chain.edit(AT[name], partial(set_code, AT[name], assemble(program)))


@pytest.fixture(scope="module")
def layer_one() -> Iterator[Layer]:
    chain = open_chain()
    _deploy(chain)
    api = served_chain(chain, InlineSequencer(chain), limits=LIMITS, wake=lambda: None)
    yield Layer(api, str(AT["echo"]))
    api.close()
    chain.close()


@pytest.fixture(scope="module")
def layer_two() -> Iterator[Layer]:
    world = ScriptedWorld(paymaster_balance=100 * ETHER)
    account = world.multisig()
    _deploy(world.chain)
    fees = FeeModel()
    api = served_chain(
        world.chain,
        InlineSequencer(world.chain),
        limits=LIMITS,
        wake=lambda: None,
        fees=fees,
    )
    yield Layer(api, str(account))
    api.close()
    world.close()


@pytest.fixture(params=["layer_one", "layer_two"], scope="module")
def layer(request: pytest.FixtureRequest) -> Layer:
    found: Layer = request.getfixturevalue(request.param)
    return found


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


TARGETS = st.sampled_from([*map(str, AT.values()), str(NOBODY), str(ALICE), ACCOUNT])
SENDERS = st.sampled_from([str(ALICE), str(NOBODY), ACCOUNT, str(AT["echo"])])
DATA = st.binary(max_size=70).map(hexed)
PRICES = st.sampled_from([0, 1, 10**8, 10**9, 10**14, 10**20, 2**130, 2**255]).map(hex)
HASHES = st.binary(min_size=32, max_size=32).map(hexed)
GAS = st.one_of(st.integers(20_000, 90_000), st.just(50_000_000), st.just(2**63)).map(hex)
VALUES = st.sampled_from([0, 0, 1, 5, ETHER, 2**255]).map(hex)
PLAIN = {"from": SENDERS, "data": DATA, "value": VALUES, "gas": GAS}
PLAIN_CALLS = st.fixed_dictionaries({"to": TARGETS}, optional=PLAIN)
ACCESS = st.fixed_dictionaries({"address": TARGETS}, optional={"storageKeys": st.lists(HASHES)})
NUMBERS = st.integers(0, 3).map(hex)
AUTHORIZATION = st.fixed_dictionaries(
    dict.fromkeys(("chainId", "nonce", "yParity", "r", "s"), NUMBERS) | {"address": TARGETS}
)
META = st.fixed_dictionaries(
    {},
    optional={
        "gasPerPubdata": st.sampled_from(["0x320", "0xc350"]),
        "paymasterParams": st.just(
            {"paymaster": str(TESTNET_PAYMASTER), "paymasterInput": hexed(GENERAL)}
        ),
        "customSignature": DATA,
    },
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        **PLAIN,
        "to": TARGETS,
        "gasPrice": PRICES,
        "maxFeePerGas": PRICES,
        "maxPriorityFeePerGas": PRICES,
        "nonce": st.sampled_from(["0x0", "0x1", "0xffffffffffffffff"]),
        "chainId": st.sampled_from(["0x1", "0x10e", "0x7a69"]),
        "type": st.sampled_from(["0x0", "0x1", "0x2", "0x3", "0x4", "0x71", "0x7f", "0xff"]),
        "accessList": st.lists(ACCESS, max_size=3),
        "authorizationList": st.lists(AUTHORIZATION, max_size=2),
        "blobVersionedHashes": st.lists(HASHES.map(lambda it: "0x01" + it[4:]), max_size=3),
        "maxFeePerBlobGas": PRICES,
        "eip712Meta": META,
    },
)
METHODS = ["eth_call", "eth_estimateGas", "eth_createAccessList"]


def encoded(layer: Layer, method: str, *params: object) -> bytes:
    """Return a request as clients send it, with the account of the layer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.dumps(body).replace(ACCOUNT, layer.account).encode()


def as_python(body: bytes) -> bytes:
    """Return the same request as only Python reads it: with an escape in the name of the method."""
    return body.replace(b'"method": "e', b'"method": "\\u0065').replace(
        b'"method": "z', b'"method": "\\u007a'
    )


NUMERIC = {
    *("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "value", "nonce", "chainId"),
    *("type", "maxFeePerBlobGas"),
}


def respelled(call: dict[str, Any]) -> dict[str, Any]:
    """Return the same call object in the spelling of other clients: integers, bare digits, members that are null."""
    members = {}
    for name, value in call.items():
        if name in NUMERIC:
            number = int(value, 16)
            members[name] = number if number < 2**64 else f"{number:x}"
        elif name == "data":
            members["input"] = value[2:]
        else:
            members[name] = value
    return {"other": None, "accessList": None, **dict(reversed(members.items()))}


@settings(max_examples=examples(150))
@given(call=PLAIN_CALLS)
@pytest.mark.parametrize("method", METHODS)
def test_a_plain_call_has_one_response(layer: Layer, method: str, call: dict[str, Any]) -> None:
    body = encoded(layer, method, call)
    expected = layer.response(as_python(body))
    assert layer.response(body) == expected
    assert layer.response(encoded(layer, method, respelled(call))) == expected


@settings(max_examples=examples(100))
@given(call=PLAIN_CALLS)
def test_an_estimate_from_l1_has_one_response(layer_two: Layer, call: dict[str, Any]) -> None:
    body = encoded(layer_two, "zks_estimateGasL1ToL2", call)
    expected = layer_two.response(as_python(body))
    assert layer_two.response(body) == expected
    assert layer_two.response(encoded(layer_two, "zks_estimateGasL1ToL2", respelled(call))) == (
        expected
    )


@settings(max_examples=examples(200))
@given(call=CALLS)
@pytest.mark.parametrize("method", METHODS)
def test_a_call_with_any_members_has_one_response(
    layer: Layer, method: str, call: dict[str, Any]
) -> None:
    body = encoded(layer, method, call)
    expected = layer.response(as_python(body))
    assert layer.response(body) == expected
    assert layer.response(encoded(layer, method, respelled(call))) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["reverter", "invalid", "underflow"])
def test_the_crate_reports_a_failure_itself(layer: Layer, method: str, name: str) -> None:
    body = encoded(layer, method, {"to": str(AT[name]), "data": "0x1234"})
    assert native_response(layer.api.dispatcher, body) == layer.response(as_python(body))


@pytest.mark.parametrize("method", METHODS)
def test_the_crate_reads_the_call_of_a_contract_account(layer: Layer, method: str) -> None:
    body = encoded(layer, method, {"from": ACCOUNT, "to": str(NOBODY), "data": "0x1234"})
    assert native_response(layer.api.dispatcher, body) == layer.response(as_python(body))


@pytest.mark.parametrize("method", METHODS)
def test_the_crate_reads_what_wallets_know_of_a_transaction(layer: Layer, method: str) -> None:
    call = {"from": str(ALICE), "to": str(AT["price"]), "nonce": "0x7", "type": "0x2"}
    prices = {"maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x0"}
    overridden = {"from": str(NOBODY), "gasPrice": "0x0"}
    for members in (prices, {**prices, **overridden}):
        body = encoded(layer, method, {**call, **members})
        assert native_response(layer.api.dispatcher, body) == layer.response(as_python(body))
