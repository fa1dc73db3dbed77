"""The methods by which a node acts for its accounts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from entresol._native import keccak256
from entresol.node.api.dialect import Dialect
from entresol.node.config.api import ApiConfig
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data
from tests.support.chain.api_client import REVERT, TARGET, ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, BOB, CAROL, ETHER, FEE, LOGGER, NOBODY
from tests.support.clients.accounts import MAIL
from tests.support.rpc_client import RpcError

STRANGER = "0x" + "ab" * 20
# Reverts with no reason when it is called, and when it is made.
REVERTING = "0x5f5ffd"


def fields(**more: object) -> dict[str, object]:
    return {"from": str(ALICE), "to": str(NOBODY), "value": "0x1", **more}


def send(client: ApiClient, **more: object) -> dict[str, Any]:
    sent = client("eth_sendTransaction", fields(**more))
    found: dict[str, Any] = client("eth_getTransactionByHash", sent)
    return found


def test_the_accounts_are_those_with_keys(client: ApiClient) -> None:
    assert client("eth_accounts") == [str(ALICE), str(BOB), str(CAROL)]


def test_what_is_left_out_is_filled_in(client: ApiClient) -> None:
    sent = send(client)
    assert client("eth_getTransactionReceipt", sent["hash"])["status"] == "0x1"
    expected = {
        "type": "0x2",
        "nonce": "0x0",
        "gas": hex(21_000),
        "chainId": "0x10e",
        "maxFeePerGas": hex(2 * FEE),
        "maxPriorityFeePerGas": "0x0",
        "input": "0x",
        "accessList": [],
    }
    assert {key: sent[key] for key in expected} == expected
    assert send(client)["nonce"] == "0x1"


AUTHORIZATION = {
    "chainId": "0x10e", "address": str(LOGGER), "nonce": "0x0",
    "yParity": "0x0", "r": "0x1", "s": "0x1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"gasPrice": hex(FEE)}, "0x0"),
        ({"gasPrice": hex(FEE), "accessList": []}, "0x1"),
        ({"accessList": [{"address": STRANGER, "storageKeys": []}]}, "0x2"),
        ({"maxFeePerGas": hex(FEE)}, "0x2"),
        ({"maxPriorityFeePerGas": "0x0"}, "0x2"),
        ({"authorizationList": [AUTHORIZATION]}, "0x4"),
        ({"type": "0x0"}, "0x0"),
        ({"type": "0x1"}, "0x1"),
        ({"type": "0x2", "gasPrice": hex(FEE)}, "0x2"),
        ({"type": None, "gasPrice": None, "nonce": None, "gas": None, "chainId": None}, "0x2"),
        ({"colour": "blue", "gasLimit": "0x0"}, "0x2"),
    ],
)
def test_the_type_follows_from_the_fields(
    client: ApiClient, given: dict[str, object], kind: str
) -> None:
    sent = send(client, **given)
    assert sent["type"] == kind
    assert client("eth_getTransactionReceipt", sent["hash"])["status"] == "0x1"


def test_a_cap_below_the_suggested_tip_bounds_the_tip(client: ApiClient) -> None:
    sent = send(client, maxFeePerGas=hex(FEE))
    assert (sent["maxFeePerGas"], sent["maxPriorityFeePerGas"]) == (hex(FEE), "0x0")


def test_gas_is_estimated_after_pending_transactions(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    # A contract that reads a slot; who estimates before it is there takes the call for a transfer.
    program = "0x645f54506000" + "5f52" + "6005601bf3"
    client("eth_sendTransaction", {"from": str(BOB), "data": program})
    address = keccak256(b"\xd6\x94" + BOB + b"\x80")[12:]
    sent = client(
        "eth_sendTransaction", {"from": str(ALICE), "to": "0x" + address.hex(), "data": "0x"}
    )
    assert int(client("eth_getTransactionByHash", sent)["gas"], 16) > 21_000


async def test_transactions_sent_at_once_get_nonces_of_their_own(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    program = "0x614e205b600190038060035700"
    bodies = [
        {"jsonrpc": "2.0", "id": n, "method": "eth_sendTransaction", "params": [given]}
        for n, given in enumerate([{"from": str(ALICE), "data": program}, fields()])
    ]
    await asyncio.gather(*(client.handle(json.dumps(body).encode()) for body in bodies))
    assert sorted(client.chain.pool.pending()[ALICE]) == [0, 1]


def test_the_first_account_sends_if_none_is_named(client: ApiClient) -> None:
    sent = client("eth_sendTransaction", {"to": str(NOBODY)})
    assert client("eth_getTransactionByHash", sent)["from"] == str(ALICE)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"from": STRANGER}, -32000, f"unknown account: {STRANGER} is neither in eth_accounts"),
        ({"chainId": "0x1"}, -32000, "invalid chain id for signer: have 1 want 270"),
        ({"data": "0x12", "input": "0x34"}, -32602, "data and input are both given and differ"),
        ({"gasPrice": "0x1", "maxFeePerGas": "0x1"}, -32602, "both gasPrice and (maxFeePerGas or"),
        ({"type": "0x3"}, -32000, "transaction type not supported: 0x3"),
        (
            {"type": "0x0", "maxFeePerGas": "0x1"},
            -32000,
            "a transaction of type 0x0 has no maxFeePerGas",
        ),
        (
            {"type": "0x0", "accessList": [{"address": STRANGER}]},
            -32000,
            "a transaction of type 0x0 has no accessList",
        ),
        (
            {"type": "0x2", "authorizationList": [AUTHORIZATION]},
            -32000,
            "a transaction of type 0x2 has no authorizationList",
        ),
        (
            {"type": "0x4", "to": None, "data": "0x00"},
            -32000,
            "a transaction of type 0x4 cannot create",
        ),
        (
            {"authorizationList": [AUTHORIZATION], "to": None, "data": "0x00"},
            -32000,
            "a transaction of type 0x4 cannot create",
        ),
        ({"type": "0x4"}, -32000, "set code transaction with empty auth list"),
        ({"to": None}, -32000, "contract creation without any data provided"),
        ({"value": hex(10**30)}, -32000, "insufficient funds"),
        ({"gas": "0x1"}, -32000, "intrinsic gas too low"),
        ({"maxFeePerGas": "0x1", "gas": "0x5208"}, -32000, "max fee per gas less than block"),
        ({"nonce": "0xffffffffffffffff", "gas": "0x5208"}, -32000, "nonce has max value"),
        ({"to": "0x12"}, -32602, "params[0].to: an address is 20 bytes, got 1"),
    ],
)
def test_a_rejection_has_a_reason(
    client: ApiClient, given: dict[str, object], code: int, message: str
) -> None:
    rejection = client.error("eth_sendTransaction", fields(**given))
    assert rejection.code == code
    assert rejection.message.startswith(message)
    assert client.chain.number == 0


def test_a_transaction_that_fails_is_sent_with_the_gas_of_a_block(client: ApiClient) -> None:
    sent = send(client, to=None, value=None, data=REVERTING)
    assert client("eth_getTransactionReceipt", sent["hash"])["status"] == "0x0"
    assert sent["gas"] == hex(client.chain.rules.gas_limit)


def test_it_is_rejected_without_developer_methods() -> None:
    with running_api(dev_methods=False) as client:
        rejection = client.error("eth_sendTransaction", fields(to=None, value=None, data=REVERTING))
        assert (rejection.code, rejection.message) == (3, "execution reverted")


@pytest.mark.parametrize(
    ("code", "message", "data"),
    [
        (
            REVERT,
            "VM Exception while processing transaction: reverted with reason string 'no'",
            "0x08c379a0",
        ),
        (REVERTING, "Transaction reverted without a reason string", "0x"),
        ("0xfe", "VM Exception while processing transaction: invalid opcode", "0x"),
    ],
)
def test_hardhats_errors_tell_of_a_failure_in_the_block(code: str, message: str, data: str) -> None:
    with running_api(config=ApiConfig(hardhat_errors=True)) as client:
        client("anvil_setCode", TARGET, code)
        with pytest.raises(RpcError) as failure:
            client("eth_sendTransaction", fields(to=TARGET, value="0x0"))
        error = failure.value
        assert (error.code, error.message, error.data["message"]) == (-32603, message, message)
        assert error.data["data"].startswith(data)
        receipt = client("eth_getTransactionReceipt", error.data["txHash"])
        assert (receipt["status"], receipt["blockNumber"]) == ("0x0", "0x1")
        assert client("eth_sendTransaction", fields())


@pytest.mark.parametrize(
    "dialect", [Dialect.anvil(ApiConfig()), Dialect.layer_two(ApiConfig(preset="anvil"))]
)
def test_what_takes_the_place_of_anvil_returns_the_bytes_of_a_signed_transaction(
    dialect: Dialect,
) -> None:
    with running_api(dialect=dialect) as client:
        raw = client("eth_signTransaction", fields())
        assert client.chain.number == 0
        assert client("eth_sendRawTransaction", raw) == str(decode(bytes(Data.parse(raw))).hash)


@pytest.mark.parametrize(
    "dialect", [Dialect.layer_one(ApiConfig()), Dialect.layer_two(ApiConfig())]
)
@pytest.mark.parametrize("dev_methods", [True, False])
def test_both_layers_return_its_fields_too(dialect: Dialect, dev_methods: bool) -> None:
    with running_api(dev_methods=dev_methods, dialect=dialect) as client:
        signed = client("eth_signTransaction", fields())
        assert decode(bytes(Data.parse(signed["raw"]))).hash.hex() == signed["tx"]["hash"][2:]
        assert (signed["tx"]["from"], signed["tx"]["blockNumber"]) == (str(ALICE), None)
        assert client("eth_sendRawTransaction", signed["raw"]) == signed["tx"]["hash"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "params[1]: the text is not JSON"),
        ("5", "params[1]: is an object"),
        ({**MAIL, "primaryType": "Letter"}, "params[1].primaryType: is the name of one of"),
        ({**MAIL, "message": 5}, "params[1].message: is an object"),
    ],
)
def test_a_document_that_is_none_is_rejected(
    client: ApiClient, document: object, message: str
) -> None:
    rejection = client.error("eth_signTypedData_v4", str(ALICE), document)
    assert rejection.code == -32602
    assert rejection.message.startswith(message)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_sign", [STRANGER, "0x"]),
        ("personal_sign", ["0x", STRANGER]),
        ("eth_signTypedData_v4", [STRANGER, MAIL]),
        ("eth_signTransaction", [fields(**{"from": STRANGER})]),
    ],
)
def test_the_node_does_not_sign_for_an_unknown_account(
    client: ApiClient, method: str, params: list[object]
) -> None:
    rejection = client.error(method, *params)
    assert (rejection.code, rejection.message[:15]) == (-32000, "unknown account")


@pytest.mark.parametrize("prefix", ["anvil", "hardhat"])
def test_an_impersonated_account_sends(client: ApiClient, prefix: str) -> None:
    client(f"{prefix}_setBalance", STRANGER, hex(ETHER))
    client(f"{prefix}_impersonateAccount", STRANGER)
    sent = send(client, **{"from": STRANGER})
    assert (sent["from"], sent["blockNumber"]) == (STRANGER, "0x1")
    assert client("eth_getTransactionReceipt", sent["hash"])["from"] == STRANGER
    client(f"{prefix}_stopImpersonatingAccount", STRANGER)
    with pytest.raises(RpcError, match="unknown account"):
        send(client, **{"from": STRANGER})
    with pytest.raises(RpcError, match="invalid signature"):
        client("eth_sendRawTransaction", client("eth_getRawTransactionByHash", sent["hash"]))


@pytest.mark.parametrize("kind", [0, 1, 2, 0x71])
def test_a_transaction_is_filled_in_and_not_signed(client: ApiClient, kind: int) -> None:
    given = fields(type=kind, **{"from": STRANGER})
    filled = client("eth_fillTransaction", {**given, "gas": "0x7530"})
    transaction = filled["tx"]
    assert filled["raw"].startswith(f"0x{kind:02x}" if kind else "0xe")
    assert (transaction["type"], transaction["from"]) == (hex(kind), STRANGER)
    assert (transaction["gas"], transaction["nonce"]) == ("0x7530", "0x0")
    assert {transaction["r"], transaction["s"]} == {"0x0"}
    assert transaction["blockHash"] is None
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}


@pytest.mark.parametrize("kind", [2, 0x71])
def test_a_number_that_no_transaction_can_have_is_not_filled_in(
    client: ApiClient, kind: int
) -> None:
    given = fields(type=kind, gas="0x7530", maxFeePerGas=hex(2**128), maxPriorityFeePerGas="0x1")
    with pytest.raises(RpcError, match="maxFeePerGas: integer is at most 16 bytes, got 17"):
        client("eth_fillTransaction", given)
