"""What the tests of zksync-era check of its API, item by item.

The number of a test is that of its item in the list of behaviours. Transactions (26 to 41) are in
`test_era_transactions.py`, calls and estimates (48 to 57) in `test_era_calls.py`, L1, batches and proofs in
`test_settlement_checklist.py`; an item that the interface has as well (2, 3, 5, 13, 14, 60, 64) is one test of
`test_interface.py` that names both. Where this node decides otherwise, the test has the word `here` in its name and
says why. Items 63 and 68, about limits, are shown in the tests of filters and of the server; 62 is not a setting of
this node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import rlp
from web3 import Web3
from websockets.sync.client import connect

from entresol.contracts import artifact
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from tests.support.clients.accounts import ALICE, BOB, send_next, sign_next
from tests.support.clients.contracts import CONTRACTS
from tests.support.inprocess_node import InprocessNode, inprocess_node
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

pytestmark = pytest.mark.clients

FUTURE = "0x989680"
UNKNOWN = "0x" + "ab" * 32
NO_BLOCK = "Block with such an ID doesn't exist yet"
SENDER = ALICE.address.lower()
MATH = CONTRACTS["math"]
EMITTER = Web3().eth.contract(abi=CONTRACTS["emitter"]["abi"])
MESSENGER = Web3().eth.contract(
    Web3.to_checksum_address(L1_MESSENGER), abi=artifact("L1Messenger").abi
)


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    # Two responses about a block are equal only as long as no batch with it is sealed in between.
    with inprocess_node("--no-settle") as running:
        yield running


@pytest.fixture(scope="module")
def client(node: InprocessNode) -> Iterator[HttpRpcClient]:
    client = CheckedRpcClient(node.url)
    yield client
    client.close()


def rejected(client: HttpRpcClient, method: str, *params: Any) -> RpcError:
    with pytest.raises(RpcError) as raised:
        client(method, *params)
    return raised.value


@pytest.fixture
def manual(client: HttpRpcClient) -> Iterator[None]:
    """Leave transactions pending during a test."""
    client("evm_setAutomine", False)
    yield
    client("evm_setAutomine", True)


@pytest.fixture(scope="module")
def emitter(client: HttpRpcClient) -> str:
    deployed = send_next(client, data=CONTRACTS["emitter"]["bytecode"])["contractAddress"]
    return Web3.to_checksum_address(deployed)


def emit(client: HttpRpcClient, emitter: str, value: int) -> Any:
    """Emit `LogSingleWithIndex(value)` and return the receipt."""
    return send_next(client, to=emitter, data=log_data(value))


def log_data(value: int) -> str:
    return str(EMITTER.encode_abi("logSingle", [7, value]))


@pytest.fixture(scope="module")
def full_block(client: HttpRpcClient, emitter: str) -> Any:
    """Return a block with three transactions, two of them with logs."""
    client("evm_setAutomine", False)
    for fields in ({"to": emitter, "data": log_data(1)}, {"to": BOB.address}):
        client("eth_sendRawTransaction", sign_next(client, **fields))
    client("eth_sendRawTransaction", sign_next(client, to=emitter, data=log_data(2)))
    client("evm_mine")
    client("evm_setAutomine", True)
    block = client("eth_getBlockByNumber", "latest", False)
    assert len(block["transactions"]) == 3
    return block


# Blocks and tags.


def test_04_pending_is_here_the_block_being_built(client: HttpRpcClient) -> None:
    """zksync-era returns null; users want the block that is being built."""
    latest = client("eth_getBlockByNumber", "latest", False)
    pending = client("eth_getBlockByNumber", "pending", False)
    assert pending["parentHash"] == latest["hash"]
    assert int(pending["number"], 16) == int(latest["number"], 16) + 1


# Storage, code and nonces.


def test_21_code_is_what_was_deployed_and_empty_before(client: HttpRpcClient) -> None:
    receipt = send_next(client, data=MATH["bytecode"])
    address, number = receipt["contractAddress"], int(receipt["blockNumber"], 16)
    assert client("eth_getCode", address, "latest") == MATH["runtime"]
    assert client("eth_getCode", address, hex(number - 1)) == "0x"


@pytest.mark.usefixtures("manual")
def test_23_a_count_is_of_its_block_and_pending_counts_pending_transactions(
    client: HttpRpcClient,
) -> None:
    latest = int(client("eth_getTransactionCount", SENDER, "latest"), 16)
    client("eth_sendRawTransaction", sign_next(client, to=BOB.address))
    assert int(client("eth_getTransactionCount", SENDER, "latest"), 16) == latest
    assert int(client("eth_getTransactionCount", SENDER, "pending"), 16) == latest + 1
    assert client("eth_getTransactionCount", SENDER, "0x0") == "0x0"


@pytest.mark.parametrize(
    "method", ["eth_getTransactionCount", "eth_getBalance", "eth_getCode", "eth_getStorageAt"]
)
def test_23_a_state_of_the_future_is_an_error(client: HttpRpcClient, method: str) -> None:
    slot = ["0x0"] if method == "eth_getStorageAt" else []
    error = rejected(client, method, SENDER, *slot, FUTURE)
    assert (error.code, error.message) == (-32602, NO_BLOCK)


@pytest.mark.usefixtures("manual")
def test_24_pending_does_not_count_behind_a_gap(client: HttpRpcClient) -> None:
    count = int(client("eth_getTransactionCount", SENDER, "pending"), 16)
    behind = sign_next(client, to=BOB.address, nonce=count + 1)
    client("eth_sendRawTransaction", behind)
    assert int(client("eth_getTransactionCount", SENDER, "pending"), 16) == count
    client("eth_sendRawTransaction", sign_next(client, to=BOB.address, nonce=count))
    assert int(client("eth_getTransactionCount", SENDER, "pending"), 16) == count + 2


def test_25_a_block_may_be_named_by_an_object(client: HttpRpcClient) -> None:
    genesis = client("eth_getBlockByNumber", "0x0", False)
    for place in ({"blockNumber": "0x0"}, {"blockHash": genesis["hash"]}):
        assert client("eth_getBalance", SENDER, place) == hex(10_000 * 10**18)
        assert client("eth_getTransactionCount", SENDER, place) == "0x0"


# Receipts.


def test_45_the_address_is_that_of_the_outer_contract(client: HttpRpcClient) -> None:
    # The constructor creates an empty contract and then returns no code.
    receipt = send_next(client, data="0x5f5f5ff0005f5ff3")
    count = int(client("eth_getTransactionByHash", receipt["transactionHash"])["nonce"], 16)
    outer = Web3.keccak(rlp.encode([bytes.fromhex(SENDER[2:]), count]))[-20:]
    assert receipt["contractAddress"] == "0x" + outer.hex().removeprefix("0x")


@pytest.mark.parametrize("contract", ["emitter", "messenger"])
def test_47_a_log_has_the_time_of_its_block(
    client: HttpRpcClient, emitter: str, contract: str
) -> None:
    if contract == "emitter":
        receipt = emit(client, emitter, 47)
    else:
        data = MESSENGER.encode_abi("sendToL1", [b"timed"])
        receipt = send_next(client, to=MESSENGER.address, data=data)
    block = client("eth_getBlockByHash", receipt["blockHash"], False)
    assert [log["blockTimestamp"] for log in receipt["logs"]] == [block["timestamp"]]


# Filters, logs and subscriptions.


def test_58_a_block_filter_reports_a_block_once(client: HttpRpcClient) -> None:
    installed = client("eth_newBlockFilter")
    receipt = send_next(client, to=BOB.address)
    assert client("eth_getFilterChanges", installed) == [receipt["blockHash"]]
    assert client("eth_getFilterChanges", installed) == []


def test_59_a_pending_filter_reports_a_transaction_once(client: HttpRpcClient) -> None:
    installed = client("eth_newPendingTransactionFilter")
    receipt = send_next(client, to=BOB.address)
    assert client("eth_getFilterChanges", installed) == [receipt["transactionHash"]]
    assert client("eth_getFilterChanges", installed) == []


def test_61_a_log_filter_matches_address_and_topics(client: HttpRpcClient, emitter: str) -> None:
    topic = Web3.to_hex(Web3.keccak(text="LogSingleWithIndex(uint256)"))
    right = client("eth_newFilter", {"address": emitter, "topics": [topic, [f"0x{61:064x}", None]]})
    elsewhere = client("eth_newFilter", {"address": BOB.address})
    other = client("eth_newFilter", {"topics": [UNKNOWN]})
    receipt = emit(client, emitter, 61)
    (log,) = client("eth_getFilterChanges", right)
    assert log == receipt["logs"][0]
    assert client("eth_getFilterChanges", elsewhere) == client("eth_getFilterChanges", other) == []


def test_61_a_log_filter_may_end(client: HttpRpcClient, emitter: str) -> None:
    latest = int(client("eth_blockNumber"), 16)
    installed = client("eth_newFilter", {"address": emitter, "toBlock": hex(latest + 1)})
    first = emit(client, emitter, 1)
    emit(client, emitter, 2)
    assert client("eth_getFilterChanges", installed) == first["logs"]


def test_65_logs_by_hash_are_those_by_number(client: HttpRpcClient, full_block: Any) -> None:
    by_hash = client("eth_getLogs", {"blockHash": full_block["hash"]})
    span = {"fromBlock": full_block["number"], "toBlock": full_block["number"]}
    assert by_hash == client("eth_getLogs", span)
    assert len(by_hash) == 2


def test_65_a_hash_beside_a_range_is_rejected(client: HttpRpcClient, full_block: Any) -> None:
    error = rejected(client, "eth_getLogs", {"blockHash": full_block["hash"], "fromBlock": "0x0"})
    assert error.code == -32602
    assert "invalid filter" in error.message


def test_66_logs_are_queried_by_tags_and_by_bare_digits(
    client: HttpRpcClient, full_block: Any
) -> None:
    for tag in ("earliest", "committed", "finalized", "latest"):
        assert isinstance(client("eth_getLogs", {"fromBlock": tag, "toBlock": tag}), list)
    assert client("eth_getLogs", {"fromBlock": "0", "toBlock": full_block["number"][2:]})


def test_67_subscribers_are_notified_of_blocks_transactions_and_logs(
    node: InprocessNode, client: HttpRpcClient, emitter: str
) -> None:
    with connect(node.url.replace("http", "ws")) as socket:

        def request(method: str, *params: Any) -> Any:
            socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            return json.loads(socket.recv(5))["result"]

        emit(client, emitter, 66)
        names = {
            request("eth_subscribe", "newHeads"): "head",
            request("eth_subscribe", "newPendingTransactions"): "pending",
            request("eth_subscribe", "logs", {"address": emitter}): "log",
        }
        ended = request("eth_subscribe", "newHeads")
        assert request("eth_unsubscribe", ended) is True
        receipt = emit(client, emitter, 67)
        notified = {}
        for _ in range(3):
            params = json.loads(socket.recv(5))["params"]
            notified[names[params["subscription"]]] = params["result"]
    assert notified["head"]["hash"] == receipt["blockHash"]
    assert notified["head"]["sha3Uncles"].startswith("0x1dcc4de8")
    assert notified["pending"] == receipt["transactionHash"]
    assert notified["log"] == receipt["logs"][0]


# The rest.


@pytest.mark.parametrize(
    ("method", "params", "response"),
    [
        ("net_peerCount", [], "0x0"),
        ("net_listening", [], False),
        ("net_version", [], "270"),
        ("eth_coinbase", [], "0x" + "00" * 20),
        ("eth_hashrate", [], "0x0"),
        ("eth_mining", [], False),
        ("eth_syncing", [], False),
        ("eth_getUncleCountByBlockNumber", ["latest"], "0x0"),
        ("eth_getUncleCountByBlockHash", [UNKNOWN], None),
        ("eth_maxPriorityFeePerGas", [], "0x0"),
    ],
)
def test_69_some_results_never_change(
    client: HttpRpcClient, method: str, params: list[Any], response: Any
) -> None:
    assert client(method, *params) == response


def test_69_the_accounts_are_here_those_that_the_node_signs_for(client: HttpRpcClient) -> None:
    """zksync-era has none; this node has development accounts."""
    assert SENDER in client("eth_accounts")


def test_70_the_protocol_has_a_version(client: HttpRpcClient) -> None:
    head, minor, patch = client("eth_protocolVersion").split(".")
    assert head == "zks/0"
    assert minor.isdigit()
    assert patch.isdigit()


def test_71_other_members_of_a_request_are_ignored(client: HttpRpcClient) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [], "extra": True}
    assert client.post(request) == {"jsonrpc": "2.0", "id": 1, "result": "0x10e"}


def test_72_a_batch_of_two_methods_has_two_responses(client: HttpRpcClient) -> None:
    calls = [("eth_chainId", 1), ("net_version", 2)]
    responses = client.post([{"jsonrpc": "2.0", "id": n, "method": name} for name, n in calls])
    assert [(response["id"], response["result"]) for response in responses] == [
        (1, "0x10e"),
        (2, "270"),
    ]


@pytest.mark.parametrize("count", ["0x2", 2])
def test_73_a_fee_history_has_one_base_fee_more_than_blocks(
    client: HttpRpcClient, count: Any
) -> None:
    history = client("eth_feeHistory", count, "latest", [10, 90])
    fees = history["baseFeePerGas"]
    assert len(fees) == 3
    assert fees[-1] == fees[-2]
    assert [len(tips) for tips in history["reward"]] == [2, 2]
    assert len(history["gasUsedRatio"]) == 2


def test_73_a_fee_history_of_the_future_is_an_error(client: HttpRpcClient) -> None:
    assert rejected(client, "eth_feeHistory", "0x1", FUTURE, []).code == -32602


@pytest.mark.parametrize("percentiles", [[101], [-1], [50, 10]])
def test_73_percentiles_are_percentiles_in_order(
    client: HttpRpcClient, percentiles: list[float]
) -> None:
    assert rejected(client, "eth_feeHistory", "0x1", "latest", percentiles).code == -32602


@pytest.mark.parametrize("params", [(), (None,), (31,)])
def test_75_the_protocol_version_has_the_keys_of_the_network(
    client: HttpRpcClient, params: tuple[Any, ...]
) -> None:
    version = client("zks_getProtocolVersion", *params)
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


def test_75_an_unknown_protocol_version_is_null(client: HttpRpcClient) -> None:
    assert client("zks_getProtocolVersion", 29) is None
