"""Transactions of type 0x71 from the request to the block, for ordinary accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from entresol._native import sign as sign_digest
from entresol.chain.chain import Chain
from entresol.chain.keyring import Keyring
from entresol.chain.rules import ChainRules
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions import ZkTransaction, decode, sign
from entresol.primitives.values import Data
from entresol.rpc.namespaces.zks.contracts import ZksBytecode
from tests.support.chain.api_client import ACCOUNTS, ApiClient, running_api
from tests.support.chain.dev_chain import (
    ALICE,
    BOB,
    CAROL,
    ETHER,
    FEE,
    GENESIS,
    LOGGER,
    NOBODY,
    SECRETS,
)
from tests.support.contracts.accounts import fill
from tests.support.rpc_client import NamespaceClient, RpcError

WORD = bytes(range(32))
STRANGER = "0x" + "ab" * 20
PLAIN = fill(ALICE, max_fee_per_gas=FEE, gas_limit=100_000, to=NOBODY, value=3)

replace = msgspec.structs.replace


@pytest.fixture
def client() -> Iterator[ApiClient]:
    with running_api() as client:
        yield client


def signed(payload: ZkTransaction = PLAIN, secret: bytes = SECRETS[0], **changes: Any) -> bytes:
    return sign(replace(payload, **changes), secret).raw


def send(client: ApiClient, raw: bytes) -> str:
    sent: str = client("eth_sendRawTransaction", str(Data(raw)))
    return sent


def rejected(client: ApiClient, method: str, *params: object) -> RpcError:
    with pytest.raises(RpcError) as rejection:
        client(method, *params)
    return rejection.value


# Signed by their senders.


def test_r_and_s_beside_a_custom_signature_do_not_make_it_impersonated() -> None:
    signature = sign_digest(PLAIN.signing_hash(), SECRETS[0])
    unlikely = replace(PLAIN, v=0, r=5, s=1 << 160, custom_signature=signature)
    assert not decode(unlikely.encode()).is_impersonated


def test_a_priority_fee_is_shown_but_never_charged(client: ApiClient) -> None:
    sent = send(client, signed(max_fee_per_gas=9 * FEE, max_priority_fee_per_gas=9 * FEE))
    receipt = client("eth_getTransactionReceipt", sent)
    assert receipt["effectiveGasPrice"] == hex(FEE)
    shown = client("eth_getTransactionByHash", sent)
    assert (shown["maxPriorityFeePerGas"], shown["gasPrice"]) == (hex(9 * FEE), hex(FEE))
    spent = 100 * ETHER - int(client("eth_getBalance", str(ALICE)), 16)
    assert spent == 3 + int(receipt["gasUsed"], 16) * FEE


# Factory dependencies.


@pytest.fixture
def zks(client: ApiClient) -> Iterator[NamespaceClient]:
    asking = NamespaceClient(
        ZksBytecode(client.chain.blocks, lambda: client.chain.ledger.head_hash)
    )
    yield asking
    asking.close()


def test_dependencies_are_found_from_the_block_that_has_them(
    client: ApiClient, zks: NamespaceClient
) -> None:
    client("evm_setAutomine", False)
    name = str(eravm_hash(WORD * 3))
    send(client, signed(factory_deps=(WORD * 3, WORD, WORD)))
    assert zks("zks_getBytecodeByHash", name) is None
    client("evm_mine")
    assert zks("zks_getBytecodeByHash", name) == list(WORD * 3)
    assert zks("zks_getBytecodeByHash", str(eravm_hash(WORD))) == list(WORD)


def test_dependencies_may_be_larger_than_other_transactions(
    client: ApiClient, zks: NamespaceClient
) -> None:
    large = bytes(65_535 * 32)
    send(client, signed(factory_deps=(large,)))
    assert len(zks("zks_getBytecodeByHash", str(eravm_hash(large)))) == 2_097_120


def test_a_block_has_room_for_8_mib_of_transactions(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    large = (bytes(65_535 * 32 - 64),) * 2
    for sender, secret in zip((ALICE, BOB, CAROL), SECRETS, strict=True):
        send(client, signed(sender=sender, secret=secret, factory_deps=large))
    client("evm_mine")
    assert client("eth_getBlockTransactionCountByNumber", "latest") == "0x2"
    client("evm_mine")
    assert client("eth_getBlockTransactionCountByNumber", "latest") == "0x1"


# Tried before they are sent.

METAS: list[dict[str, Any]] = [
    {},
    {"eip712Meta": None},
    {"eip712Meta": {"gasPerPubdata": "0xc350"}},
    {"eip712Meta": {"gasPerPubdata": "0x00", "factoryDeps": []}},
    {"eip712Meta": {"gasPerPubdata": "0x0320", "factoryDeps": [list(WORD)]}},
    {"eip712Meta": {"gasPerPubdata": "0xc350", "customSignature": [1, 2, 3]}},
    {"eip712Meta": {"gasPerPubdata": "0xc350", "paymasterParams": None}},
    {
        "eip712Meta": {
            "gasPerPubdata": "0xc350",
            "paymasterParams": {"paymaster": "0x" + "00" * 20, "paymasterInput": []},
        }
    },
]


@pytest.mark.parametrize("extra", METAS)
def test_an_estimate_and_a_call_take_the_fields_of_the_type(
    client: ApiClient, extra: dict[str, Any]
) -> None:
    call = {"from": str(ALICE), "to": str(NOBODY), "value": "0x1", "type": "0x71", **extra}
    assert client("eth_estimateGas", call) == hex(21_000)
    assert client("eth_call", call) == "0x"


@pytest.mark.parametrize("method", ["eth_estimateGas", "eth_sendTransaction"])
@pytest.mark.parametrize(
    "extra", [{}, METAS[2], METAS[4], {"maxFeePerGas": hex(FEE)}, {"data": "0x01"}]
)
def test_what_cannot_be_paid_is_rejected_in_the_same_words_before_it_is_sent(
    client: ApiClient, method: str, extra: dict[str, Any]
) -> None:
    value = 1_000 * ETHER
    call = {"from": str(ALICE), "to": str(NOBODY), "value": hex(value), "type": "0x71", **extra}
    rejection = rejected(client, method, call)
    assert rejection.code == -32000
    words = (
        rf"insufficient funds for gas \+ value\. balance: {100 * ETHER}, fee: \d+, value: {value}"
    )
    assert re.fullmatch(words, rejection.message)


PAYMASTER = {"paymasterParams": {"paymaster": STRANGER, "paymasterInput": [1]}}


@pytest.mark.parametrize("method", ["eth_estimateGas", "eth_sendTransaction"])
def test_a_chain_without_accounts_has_no_paymasters(client: ApiClient, method: str) -> None:
    call = {"from": str(ALICE), "to": str(NOBODY), "type": "0x71", "eip712Meta": PAYMASTER}
    rejection = rejected(client, method, call)
    assert rejection.code == -32000
    assert rejection.message.startswith("failed paymaster validation: paymasters are not supported")


# Signed by the node.


@pytest.mark.parametrize(
    ("extra", "limit"),
    [
        ({"type": "0x71"}, 50_000),
        ({"type": 113}, 50_000),
        ({"type": "0x71", "eip712Meta": {}}, 50_000),
        ({"type": "0x71", "eip712Meta": {"gasPerPubdata": "0x00"}}, 50_000),
        ({"type": "0x71", "eip712Meta": {"gasPerPubdata": "0x320"}}, 800),
        ({"eip712Meta": {"gasPerPubdata": "0x320", "customSignature": []}}, 800),
    ],
)
def test_the_node_completes_signs_and_sends_the_type(
    client: ApiClient, extra: dict[str, Any], limit: int
) -> None:
    given = {"from": str(BOB), "to": str(NOBODY), "value": "0x5", **extra}
    sent = client("eth_sendTransaction", given)
    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"
    raw = decode(bytes(Data.parse(client("eth_getRawTransactionByHash", sent))))
    assert isinstance(raw.payload, ZkTransaction)
    assert (raw.sender, raw.payload.gas_per_pubdata_limit) == (BOB, limit)
    assert (raw.payload.gas_limit, raw.payload.value, str(raw.hash)) == (21_000, 5, sent)


def test_the_node_signs_the_type_without_taking_it(client: ApiClient) -> None:
    given = {"from": str(ALICE), "to": str(NOBODY), "type": "0x71", "gasPrice": hex(FEE)}
    raw = client("eth_signTransaction", given)["raw"]
    transaction = decode(bytes(Data.parse(raw)))
    assert (transaction.sender, transaction.payload.type) == (ALICE, 0x71)
    assert client("eth_getTransactionByHash", str(transaction.hash)) is None
    assert client("eth_sendRawTransaction", raw) == str(transaction.hash)


def test_the_type_of_an_impersonated_account_runs_and_cannot_be_sent_raw(client: ApiClient) -> None:
    client("anvil_impersonateAccount", STRANGER)
    client("anvil_setBalance", STRANGER, hex(ETHER))
    given = {"from": STRANGER, "to": str(LOGGER), "data": "0x01", "type": "0x71"}
    sent = client("eth_sendTransaction", given)
    receipt = client("eth_getTransactionReceipt", sent)
    assert (receipt["status"], receipt["from"], receipt["type"]) == ("0x1", STRANGER, "0x71")
    raw = client("eth_getRawTransactionByHash", sent)
    rejection = rejected(client, "eth_sendRawTransaction", raw)
    assert rejection.message.startswith("invalid signature")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            {"type": "0x71", "eip712Meta": {"customSignature": [1]}},
            "eip712Meta.customSignature: the node signs the transaction itself",
        ),
        ({"type": "0x2", "eip712Meta": {}}, "a transaction of type 0x2 has no eip712Meta"),
        (
            {"type": "0x71", "accessList": [{"address": STRANGER}]},
            "a transaction of type 0x71 has no accessList",
        ),
        ({"type": "0x71", "nonce": "0x100000000", "gas": "0x5208"}, "nonce has max value"),
        (
            {"type": "0x71", "eip712Meta": {"gasPerPubdata": hex(2**64)}},
            "gasPerPubdata: integer is at most 8 bytes, got 9",
        ),
    ],
)
def test_the_node_rejects_to_sign_what_contradicts_the_type(
    client: ApiClient, extra: dict[str, Any], message: str
) -> None:
    rejection = rejected(client, "eth_sendTransaction", {"to": str(NOBODY), **extra})
    assert (rejection.code, rejection.message) == (-32000, message)


def test_a_layer_1_takes_none() -> None:
    chain = Chain.open(None, ChainRules.layer_1(), msgspec.structs.replace(GENESIS, chain_id=31337))
    client = ApiClient(chain, keyring=Keyring(ACCOUNTS))
    try:
        raw = sign(replace(PLAIN, chain_id=31337, max_fee_per_gas=10**10), SECRETS[0]).raw
        for method, given in (
            ("eth_sendRawTransaction", str(Data(raw))),
            ("eth_sendTransaction", {"to": str(NOBODY), "type": "0x71"}),
        ):
            rejection = rejected(client, method, given)
            assert rejection.message == "transaction type not supported: 0x71"
    finally:
        client.api.close()
        chain.close()
