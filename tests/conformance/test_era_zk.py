"""What the tests of zksync-era check of transactions of type 0x71 and of estimates from either layer.

The number of a test is that of its item in the list of behaviours, as in `test_era_checklist.py`. Transactions are written and
signed by zksync2, so that no code of the node judges itself. Where this node decides otherwise, the test has the
word `here` in its name and says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import Web3
from zksync2.module.request_types import EIP712Meta
from zksync2.signer.eth_signer import PrivateKeyEthSigner
from zksync2.transaction.transaction712 import Transaction712

from entresol.chain.fees.l2_fees import FeeModel
from entresol.rpc.namespaces.eth.calls import EthCalls
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.namespaces.zks.protocol import ZksProtocol
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from tests.support.contracts import layer_two
from tests.support.contracts.layer_two import LayerTwo
from tests.support.evm.programs import demand_gas, program
from tests.support.http_rpc_client import Asker
from tests.support.node_process import RunningNode, running_node
from tests.support.rpc_client import NamespaceClient, RpcError

pytestmark = pytest.mark.clients

CHAIN_ID = 270
FEE = 100_000_000
BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TARGET = "0x" + "7a" * 20
WORD = bytes(range(32))
ALICE: LocalAccount = Account.from_key(
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
)
STRANGER: LocalAccount = Account.from_key(b"\x77" * 32)
L2_SENDER = str(layer_two.ALICE)

# Reverts with `Error("no")`, with the custom error 0x82b42900, and without a word.
REASON = "0x6308c379a05f526020602052600260405261 6e6f60f01b606052 6064601cfd".replace(" ", "")
CUSTOM = "0x6382b429005f526004601cfd"
SILENT = "0x5f5ffd"
ENDLESS = "0x5b5f56"


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture(scope="module")
def ask(node: RunningNode) -> Iterator[Asker]:
    asker = Asker(node.url)
    yield asker
    asker.close()


@pytest.fixture(scope="module")
def zks() -> Iterator[NamespaceClient]:
    """Return a layer 2 with its system contracts, asked without a server."""
    l2 = LayerTwo()
    resolver, runner = BlockResolver(l2.chain), CallRunner()
    client = NamespaceClient(
        EthCalls(resolver, runner),
        ZksFees(resolver, runner, FeeModel()),
        ZksProtocol(l2.chain.blocks, l2.genesis),
    )
    yield client
    client.close()
    l2.close()


def transaction(ask: Asker, meta: dict[str, Any] | None = None, **fields: Any) -> Transaction712:
    count = int(ask("eth_getTransactionCount", ALICE.address, "pending"), 16)
    given: dict[str, Any] = {
        "chain_id": CHAIN_ID,
        "nonce": count,
        "gas_limit": 200_000,
        "to": BOB,
        "value": 1,
        "data": b"",
        "maxPriorityFeePerGas": FEE,
        "maxFeePerGas": FEE,
        "from_": ALICE.address,
        "meta": EIP712Meta(**{"gas_per_pub_data": 50_000, **(meta or {})}),
    }
    return Transaction712(**{**given, **fields})


def sign(unsigned: Transaction712, key: LocalAccount = ALICE) -> str:
    signer = PrivateKeyEthSigner(key, unsigned.chain_id)
    signature = signer.sign_typed_data(unsigned.to_eip712_struct())
    return Web3.to_hex(unsigned.encode(signature))


def send(ask: Asker, **fields: Any) -> Any:
    """Send a transaction of type 0x71 and return its receipt."""
    return ask("eth_getTransactionReceipt", ask("eth_sendRawTransaction", signed(ask, **fields)))


def signed(ask: Asker, **fields: Any) -> str:
    return sign(transaction(ask, **fields))


def with_item(raw: str, index: int, item: Any) -> str:
    items = rlp.decode(bytes.fromhex(raw[4:]))
    items[index] = item
    return Web3.to_hex(b"\x71" + rlp.encode(items))


def rejected(ask: Any, method: str, *params: Any) -> Any:
    with pytest.raises(RpcError) as raised:
        ask(method, *params)
    return raised.value


# Transactions.


def test_26_a_transfer_of_type_712_is_taken(ask: Asker) -> None:
    receipt = send(ask)
    assert (receipt["status"], receipt["type"]) == ("0x1", "0x71")
    assert receipt["from"] == ALICE.address.lower()


def test_27_type_712_has_no_access_list(ask: Asker) -> None:
    given = {"to": BOB, "type": "0x71", "accessList": [{"address": BOB, "storageKeys": []}]}
    assert "accessList" in rejected(ask, "eth_sendTransaction", given).message


def test_28_the_signature_comes_back_with_a_parity(ask: Asker) -> None:
    raw = signed(ask)
    shown = ask("eth_getTransactionByHash", ask("eth_sendRawTransaction", raw))
    signature = rlp.decode(bytes.fromhex(raw[4:]))[14]
    assert int(shown["r"], 16) == int.from_bytes(signature[:32])
    assert int(shown["s"], 16) == int.from_bytes(signature[32:64])
    assert shown["v"] == shown["yParity"] == hex(signature[64] - 27)


def test_29_both_fees_come_back_and_the_price_is_the_base_fee(ask: Asker) -> None:
    receipt = send(ask, maxFeePerGas=3 * FEE, maxPriorityFeePerGas=2 * FEE)
    shown = ask("eth_getTransactionByHash", receipt["transactionHash"])
    assert (shown["maxFeePerGas"], shown["maxPriorityFeePerGas"]) == (hex(3 * FEE), hex(2 * FEE))
    assert shown["gasPrice"] == receipt["effectiveGasPrice"] == hex(FEE)


def test_30_nothing_for_published_bytes_is_rejected(ask: Asker) -> None:
    error = rejected(ask, "eth_sendRawTransaction", signed(ask, meta={"gas_per_pub_data": 0}))
    assert error.message == "gas per pub data limit is zero"


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "zks_estimateFee"])
def test_31_a_missing_target_is_rejected_with_the_type(zks: NamespaceClient, method: str) -> None:
    error = rejected(zks, method, {"from": L2_SENDER, "data": "0x00", "type": "0x71"})
    assert (error.code, error.data) == (3, None)
    assert error.message == "Failed to serialize transaction: toAddressIsNull"
    assert zks(method, {"from": L2_SENDER, "data": "0x00"})


def test_31_a_missing_target_is_rejected_from_l1(zks: NamespaceClient) -> None:
    error = rejected(zks, "zks_estimateGasL1ToL2", {"from": L2_SENDER, "data": "0x00"})
    assert (error.code, error.data) == (3, None)
    assert error.message == "Failed to serialize transaction: toAddressIsNull"


def test_31_a_missing_target_is_rejected_here_with_the_code_of_other_rejections(ask: Asker) -> None:
    """zksync-era has code 3 for what is sent as well; clients know a rejection by -32000."""
    error = rejected(ask, "eth_sendRawTransaction", with_item(signed(ask), 4, b""))
    assert (error.code, error.data) == (-32000, None)
    assert "toAddressIsNull" in error.message


def test_32_a_used_nonce_is_rejected_here_in_geths_words(ask: Asker) -> None:
    """zksync-era has words and a code of its own, by which viem takes the rejection for a revert."""
    send(ask)
    error = rejected(ask, "eth_sendRawTransaction", signed(ask, nonce=0))
    assert error.message.startswith("nonce too low: next nonce ")


def test_32_a_nonce_that_is_too_high_waits_here(ask: Asker) -> None:
    """zksync-era rejects it beyond a range; a pool of Ethereum's keeps it until its time comes."""
    count = int(ask("eth_getTransactionCount", ALICE.address, "latest"), 16)
    late = ask("eth_sendRawTransaction", signed(ask, nonce=count + 1))
    assert ask("eth_getTransactionReceipt", late) is None
    send(ask, nonce=count)
    assert ask("eth_getTransactionReceipt", late)["status"] == "0x1"


def test_33_a_replaced_transaction_disappears(ask: Asker) -> None:
    ask("evm_setAutomine", False)
    old = ask("eth_sendRawTransaction", signed(ask))
    count = int(ask("eth_getTransactionCount", ALICE.address, "latest"), 16)
    new = ask("eth_sendRawTransaction", signed(ask, nonce=count, maxFeePerGas=2 * FEE))
    assert ask("eth_getTransactionByHash", old) is None
    ask("evm_setAutomine", True)
    assert ask("eth_getTransactionReceipt", new)["status"] == "0x1"


def test_34_a_lack_of_funds_is_rejected_here_in_geths_words(ask: Asker) -> None:
    """For the reason of 32."""
    raw = sign(transaction(ask, from_=STRANGER.address, nonce=0), STRANGER)
    error = rejected(ask, "eth_sendRawTransaction", raw)
    assert error.message.startswith("insufficient funds for gas * price + value: ")


WRONG_CODES = [
    (WORD + b"\0", "Bytecode length is not divisible by 32"),
    (WORD * 2, "Bytecode has even number of 32-byte words"),
    (bytes(65_537 * 32), "Bytecode too long: 2097184 bytes, while max 2097120 allowed"),
]


@pytest.mark.parametrize(("code", "problem"), WRONG_CODES, ids=["odd bytes", "even words", "long"])
def test_35_a_wrong_bytecode_is_rejected(ask: Asker, code: bytes, problem: str) -> None:
    raw = with_item(signed(ask), 13, [WORD, code])
    error = rejected(ask, "eth_sendRawTransaction", raw)
    assert error.message == f"factory dependency #1 is invalid: {problem}"


@pytest.mark.parametrize(("code", "problem"), WRONG_CODES[:2], ids=["odd bytes", "even words"])
@pytest.mark.parametrize(
    "method", ["eth_call", "eth_estimateGas", "zks_estimateFee", "zks_estimateGasL1ToL2"]
)
def test_35_a_wrong_bytecode_is_rejected_by_calls_and_estimates(
    zks: NamespaceClient, method: str, code: bytes, problem: str
) -> None:
    meta = {"gasPerPubdata": "0xc350", "factoryDeps": [list(code)]}
    call = {"from": L2_SENDER, "to": TARGET, "type": "0x71", "eip712Meta": meta}
    error = rejected(zks, method, call)
    assert (error.code, error.data) == (3, None)
    expected = f"Failed to serialize transaction: factory dependency #0 is invalid: {problem}"
    assert error.message == expected


def test_36_a_gas_limit_of_2_to_the_51_is_rejected(ask: Asker) -> None:
    error = rejected(ask, "eth_sendRawTransaction", signed(ask, gas_limit=2**51))
    assert error.message.startswith("exceeds block gas limit")


def test_37_a_nonce_over_32_bits_is_rejected(ask: Asker) -> None:
    error = rejected(ask, "eth_sendRawTransaction", signed(ask, nonce=2**32))
    assert error.message == "nonce has max value"


def test_37_a_price_over_64_bits_is_here_more_than_anybody_has(ask: Asker) -> None:
    """zksync-era has a message of its own; there is no such limit on an EVM."""
    raw = signed(ask, maxFeePerGas=2**65)
    assert "insufficient funds" in rejected(ask, "eth_sendRawTransaction", raw).message


def test_38_duplicate_dependencies_are_taken(ask: Asker) -> None:
    assert send(ask, meta={"factory_deps": [WORD, WORD]})["status"] == "0x1"


def test_39_the_hash_covers_the_digest_and_the_signature(ask: Asker) -> None:
    unsigned = transaction(ask, meta={"factory_deps": [WORD]}, data=b"call")
    signature = PrivateKeyEthSigner(ALICE, CHAIN_ID).sign_typed_data(unsigned.to_eip712_struct())
    domain = PrivateKeyEthSigner.get_default_domain(CHAIN_ID)
    digest = Web3.keccak(unsigned.to_eip712_struct().signable_bytes(domain))
    expected = Web3.to_hex(Web3.keccak(digest + Web3.keccak(signature.signature)))
    assert ask("eth_sendRawTransaction", Web3.to_hex(unsigned.encode(signature))) == expected


def test_40_a_transaction_that_reverts_is_taken(ask: Asker) -> None:
    ask("anvil_setCode", TARGET, SILENT)
    assert send(ask, to=TARGET, value=0)["status"] == "0x0"


@pytest.mark.parametrize(
    ("signature", "problem"),
    [
        (b"\x01" * 65, "invalid signature"),
        (b"\x01" * 64, "invalid signature: a signature is 65 bytes, got 64"),
        (b"", "invalid signature: the transaction is not signed"),
    ],
)
def test_40_a_wrong_signature_is_rejected_here_at_once(
    ask: Asker, signature: bytes, problem: str
) -> None:
    """zksync-era lets the account judge; all accounts here are ordinary ones."""
    error = rejected(ask, "eth_sendRawTransaction", with_item(signed(ask), 14, signature))
    assert error.code == -32000
    assert error.message.startswith(problem)


def test_40_a_signature_of_somebody_else_is_rejected(ask: Asker) -> None:
    error = rejected(ask, "eth_sendRawTransaction", sign(transaction(ask), STRANGER))
    assert re.match("invalid signature: signed by 0x.*, sent from 0x", error.message)


# Calls and estimates.


def estimate(zks: NamespaceClient, method: str, call: dict[str, Any], *more: Any) -> int:
    answer = zks(method, call, *more)
    return int(answer["gas_limit"] if isinstance(answer, dict) else answer, 16)


def overriding(method: str, code: str) -> tuple[Any, ...]:
    """Return the parameters that put `code` at the target."""
    overrides = {TARGET: {"code": code}}
    return ("latest", overrides) if method == "eth_estimateGas" else (overrides,)


ESTIMATES = ["eth_estimateGas", "zks_estimateFee", "zks_estimateGasL1ToL2"]
METAS: list[dict[str, Any]] = [
    {},
    {"type": "0x71"},
    {"type": "0x71", "eip712Meta": {"gasPerPubdata": "0x00"}},
]
every_estimate = pytest.mark.parametrize("method", ESTIMATES)


@pytest.mark.parametrize("extra", METAS)
@pytest.mark.parametrize("method", ["eth_estimateGas", "zks_estimateFee"])
@pytest.mark.parametrize("threshold", [50_000, 100_000, 300_000, 1_000_000])
def test_51_an_estimate_is_enough_and_not_twice_as_much(
    zks: NamespaceClient, method: str, threshold: int, extra: dict[str, Any]
) -> None:
    code = "0x" + program([demand_gas(threshold)]) + "00"
    call = {"from": L2_SENDER, "to": TARGET, **extra}
    assert threshold <= estimate(zks, method, call, *overriding(method, code)) < 2 * threshold


@pytest.mark.parametrize("threshold", [300_000, 500_000, 1_000_000])
def test_51_an_estimate_from_l1_is_here_what_l1_takes_as_well(
    zks: NamespaceClient, threshold: int
) -> None:
    """zksync-era may answer less than L1 takes; here the least that L1 takes is the least answer."""
    method, call = "zks_estimateGasL1ToL2", {"from": L2_SENDER, "to": TARGET}
    code = "0x" + program([demand_gas(threshold)]) + "00"
    assert threshold <= estimate(zks, method, call, *overriding(method, code)) < 2 * threshold
    assert estimate(zks, method, call) == 10_000 + 173_484 + 88 * 800


@pytest.mark.parametrize("method", ["eth_estimateGas", "zks_estimateFee"])
def test_52_a_value_of_256_bits_is_more_than_anybody_has(zks: NamespaceClient, method: str) -> None:
    call = {"from": L2_SENDER, "to": TARGET, "value": hex(2**256 - 1), "type": "0x71"}
    assert "insufficient funds" in rejected(zks, method, call).message


def test_52_a_value_of_256_bits_is_more_than_l1_can_mint(zks: NamespaceClient) -> None:
    call = {"from": L2_SENDER, "to": TARGET, "value": hex(2**256 - 1)}
    error = rejected(zks, "zks_estimateGasL1ToL2", call)
    assert error.code == 3
    assert error.message == "integer overflow computing base token amount to mint"


@every_estimate
def test_53_an_estimate_may_assume_a_balance_code_and_storage(
    zks: NamespaceClient, method: str
) -> None:
    # Reverts unless slot 0 holds what the contract has.
    code = "0x5f5447 14 600a 57 5f5ffd 5b 00".replace(" ", "")
    slots = {"0x" + "00" * 32: f"0x{42:064x}"}
    for name in ("state", "stateDiff"):
        account = {"code": code, "balance": "0x2a", name: slots}
        more = (
            ("latest", {TARGET: account}) if method == "eth_estimateGas" else ({TARGET: account},)
        )
        assert estimate(zks, method, {"from": L2_SENDER, "to": TARGET}, *more) > 21_000


@every_estimate
@pytest.mark.parametrize(
    ("code", "message", "data"),
    [
        (REASON, "execution reverted: no", "0x08c379a0"),
        (CUSTOM, "execution reverted", "0x82b42900"),
        (SILENT, "execution reverted", "0x"),
    ],
)
def test_54_and_55_a_revert_has_code_3_its_reason_and_its_data(
    zks: NamespaceClient, method: str, code: str, message: str, data: str
) -> None:
    call = {"from": L2_SENDER, "to": TARGET, "type": "0x71"}
    error = rejected(zks, method, call, *overriding(method, code))
    assert (error.code, error.message, error.data[:10]) == (3, message, data)


@every_estimate
def test_55_an_estimate_of_an_endless_loop_ends(zks: NamespaceClient, method: str) -> None:
    call = {"from": L2_SENDER, "to": TARGET}
    error = rejected(zks, method, call, *overriding(method, ENDLESS))
    assert error.code in {3, -32000}


def test_56_an_estimate_from_l1_is_something(zks: NamespaceClient) -> None:
    meta = {"gasPerPubdata": "0x0320"}
    for call in (
        {"from": L2_SENDER, "to": L2_SENDER, "value": "0x1", "type": "0x71", "eip712Meta": meta},
        {"from": str(layer_two.ROUTER_ALIAS), "to": TARGET, "data": "0x01", "eip712Meta": meta},
    ):
        assert estimate(zks, "zks_estimateGasL1ToL2", call) > 0


# Miscellaneous.


def test_74_a_fee_is_spelled_with_underscores_and_in_hex(zks: NamespaceClient) -> None:
    fee = zks("zks_estimateFee", {"from": L2_SENDER, "to": TARGET, "value": "0x1"})
    assert set(fee) == {
        "gas_limit",
        "max_fee_per_gas",
        "max_priority_fee_per_gas",
        "gas_per_pubdata_limit",
    }
    assert all(re.fullmatch("0x(0|[1-9a-f][0-9a-f]*)", value) for value in fee.values())


@pytest.mark.parametrize("params", [(), (None,), (30,)])
def test_75_the_protocol_version_has_the_keys_of_the_network(
    zks: NamespaceClient, params: tuple[Any, ...]
) -> None:
    version = zks("zks_getProtocolVersion", *params)
    assert set(version) == {
        "version_id",
        "minorVersion",
        "timestamp",
        "verification_keys_hashes",
        "base_system_contracts",
        "bootloaderCodeHash",
        "defaultAccountCodeHash",
        "evmSimulatorCodeHash",
        "l2_system_upgrade_tx_hash",
        "l2SystemUpgradeTxHash",
    }


def test_75_an_unknown_protocol_version_is_null(zks: NamespaceClient) -> None:
    assert zks("zks_getProtocolVersion", 29) is None
