"""The interface that this node was specified by, a test for each of its rules, against a real node over HTTP.

The parts are those of the interface: what the service does (1), its objects (2), states (3), endpoints (4). What it
leaves open ("not shown") is decided by what the network's own nodes do, or by this node where those disagree; such a
test says `decided` in its name. Errors (7), limits (8), other verbs and headers are shown in the tests of the server.

Nothing here is made up: a deposit came from L1, a message went there, the batch of both was settled, and the contract
on L1 verifies the proofs that the node serves.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.support.rollup.pair import (
    RECEIVER,
    USER,
    Json,
    Pair,
    message_hash,
    running_pair,
)

pytestmark = pytest.mark.clients

OPERATIONS: Final = (
    "eth_getBlockByNumber",
    "zks_estimateGasL1ToL2",
    "eth_uninstallFilter",
    "zks_getL2ToL1MsgProof",
    "zks_getBytecodeByHash",
)
MESSAGE: Final = b"Some L2->L1 message"
PUBLISHED: Final = bytes(range(96))
UNKNOWN: Final = "0x" + "ab" * 32
FUTURE: Final = "0x989680"
SENDER, RECIPIENT = str(USER), str(RECEIVER)
NOBODY: Final = "0x00000000000000000000000000000000deadbeef"

QUANTITY: Final = re.compile(r"0x(0|[1-9a-f][0-9a-f]*)")
HASH: Final = re.compile(r"0x[0-9a-f]{64}")
ADDRESS: Final = re.compile(r"0x[0-9a-f]{40}")
DATA: Final = re.compile(r"0x([0-9a-f]{2})*")


class Response(NamedTuple):
    """What came back over HTTP."""

    status: int
    content_type: str
    body: Any


class Service:
    """The service at its base URL, called in exactly the way that the interface describes."""

    def __init__(self, base_url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=60)
        self._id = 0

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of an operation."""
        response = self.call(method, *params)
        assert "error" not in response, response
        return response["result"]

    def call(self, method: str, *params: Any) -> Any:
        """Return the response envelope of an operation."""
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": list(params)}
        response = self.post(f"/{method}", request).body
        assert (response["jsonrpc"], response["id"]) == ("2.0", self._id)
        return response

    def post(self, path: str, document: Any) -> Response:
        """Return what comes back when a document is posted."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read()
        kind = response.headers["content-type"]
        return Response(response.status, kind, json.loads(text))

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()


class Story(NamedTuple):
    """What happened on both layers before the first request."""

    deposit: Json
    """The receipt on L2 of a deposit of ether that also publishes code."""
    message: Json
    """The receipt of the message to L1, after its batch was executed there."""
    contract: str
    """A contract that was deployed on L2."""
    code: bytes
    """The code of that contract."""


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with running_pair("--l1-delay", "0") as running:
        yield running


@pytest.fixture(scope="module")
def story(pair: Pair) -> Story:
    deposit = pair.arrived(pair.deposit_at_cost(10**18, dependencies=(PUBLISHED,)))
    code = b"\x60\x2a\x5f\x52\x60\x20\x5f\xf3"
    # Copies what follows its ten bytes, and returns it as the code of the contract.
    creation = bytes.fromhex(f"61{len(code):04x}80600a5f395ff3") + code
    creation_fields = {"from": SENDER, "data": "0x" + creation.hex()}
    created = pair.l2.receipt(pair.l2("eth_sendTransaction", creation_fields))
    said = pair.finalized(pair.send_message(MESSAGE))
    return Story(deposit, said, created["contractAddress"], code)


@pytest.fixture(scope="module")
def service(pair: Pair, story: Story) -> Iterator[Service]:
    assert story.deposit["status"] == "0x1"
    service = Service(pair.l2.url)
    yield service
    service.close()


@pytest.fixture(scope="module")
def block(service: Service, story: Story) -> Any:
    """Return the block of the message by operation 4.1."""
    return service("eth_getBlockByNumber", story.message["blockNumber"], False)


# 1. What the service does.


def one_call_of(operation: str, pair: Pair, story: Story) -> tuple[Any, ...]:
    """Return parameters with which an operation has a result."""
    call = {"from": SENDER, "to": RECIPIENT, "data": "0x"}
    return {
        "eth_getBlockByNumber": ("0x1", False),
        "zks_estimateGasL1ToL2": (call,),
        "eth_uninstallFilter": (pair.l2("eth_newBlockFilter"),),
        "zks_getL2ToL1MsgProof": message_params(story),
        "zks_getBytecodeByHash": (message_hash(story.code),),
    }[operation]


def message_params(story: Story) -> tuple[int, str, str]:
    """Return the three parameters that name the message."""
    number = int(story.message["blockNumber"], 16)
    return number, SENDER, message_hash(MESSAGE)


def test_1_the_service_shows_a_layer_2_that_settles_to_a_layer_1(pair: Pair, story: Story) -> None:
    batch = int(story.message["l1BatchNumber"], 16)
    assert pair.totals()[2] >= batch > 0
    assert pair.l1("eth_chainId") == pair.l2("zks_L1ChainId") != pair.l2("eth_chainId")


# 1. Conventions in all operations.


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value that is not a key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_1_convention_1_binary_data_hashes_and_addresses_are_prefixed_hexadecimal_digits(
    service: Service, pair: Pair, story: Story, operation: str
) -> None:
    result = service(operation, *one_call_of(operation, pair, story))
    assert all(re.fullmatch("0x[0-9a-f]*", text) for text in strings_in(result))


def test_1_convention_2_quantities_have_no_fixed_width(service: Service) -> None:
    numbers = [service("eth_getBlockByNumber", hex(n), False)["number"] for n in (0, 1, 2)]
    assert numbers == ["0x0", "0x1", "0x2"]
    assert QUANTITY.fullmatch(service("eth_getBlockByNumber", "0x1", False)["gasLimit"])


@pytest.mark.parametrize("digits", [1, 63, 65])
def test_1_convention_3_holds_for_parameters(service: Service, digits: int) -> None:
    error = service.call("zks_getBytecodeByHash", "0x" + "a" * digits)["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("params[0]: ")


# 2. The request envelope.


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"jsonrpc": "1.0"}, -32600),
        ({"jsonrpc": None}, -32600),
        ({"method": None}, -32600),
        ({"method": 7}, -32600),
        ({"params": "0x0"}, -32602),
        ({"params": []}, -32602),
    ],
    ids=str,
)
def test_2_a_request_without_what_is_required_is_rejected(
    service: Service, wrong: dict[str, Any], code: int
) -> None:
    request = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "eth_getBlockByNumber",
        "params": ["0x0", False],
    }
    changed = {name: value for name, value in {**request, **wrong}.items() if value is not None}
    response = service.post("/eth_getBlockByNumber", changed).body
    assert (response["id"], response["error"]["code"]) == (5, code)


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**53])
def test_2_the_id_is_chosen_by_the_caller_and_echoed(service: Service, number: int) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": "eth_uninstallFilter", "params": [UNKNOWN]}
    assert service.post("/eth_uninstallFilter", request).body["id"] == number


# 2. The block object.


def quantity(value: Any) -> bool:
    return bool(QUANTITY.fullmatch(value))


def hash_of_32_bytes(value: Any) -> bool:
    return bool(HASH.fullmatch(value))


def address_of_20_bytes(value: Any) -> bool:
    return bool(ADDRESS.fullmatch(value))


def data_of(size: int | None, value: Any) -> bool:
    return bool(DATA.fullmatch(value)) and size in {None, len(value) // 2 - 1}


BLOCK_FIELDS: Final[dict[str, Callable[[Any], bool]]] = {
    "number": quantity,
    "hash": hash_of_32_bytes,
    "parentHash": hash_of_32_bytes,
    "nonce": lambda value: data_of(8, value),
    "sha3Uncles": hash_of_32_bytes,
    "logsBloom": lambda value: data_of(256, value),
    "transactionsRoot": hash_of_32_bytes,
    "stateRoot": hash_of_32_bytes,
    "receiptsRoot": hash_of_32_bytes,
    "miner": address_of_20_bytes,
    "difficulty": quantity,
    "totalDifficulty": quantity,
    "extraData": lambda value: data_of(None, value),
    "size": quantity,
    "gasLimit": quantity,
    "gasUsed": quantity,
    "timestamp": quantity,
    "transactions": lambda value: isinstance(value, list),
    "uncles": lambda value: isinstance(value, list),
}


@pytest.mark.parametrize("number", ["0x0", "0x1", "0x3"])
def test_2_each_field_of_a_block_has_its_format(service: Service, number: str) -> None:
    found = service("eth_getBlockByNumber", number, False)
    wrong = [name for name, has_format in BLOCK_FIELDS.items() if not has_format(found[name])]
    assert wrong == []


def test_2_the_elements_of_transactions_are_hashes_when_the_flag_is_false(
    block: Any, story: Story
) -> None:
    assert block["transactions"] == [story.message["transactionHash"]]


def test_2_decided_roots_bloom_and_size_are_real(service: Service, block: Any) -> None:
    # The network's nodes response zeros; here a header verifies like any header of Ethereum.
    zero = "0x" + "00" * 32
    assert zero not in {block["stateRoot"], block["transactionsRoot"], block["receiptsRoot"]}
    assert int(block["logsBloom"], 16) > 0
    assert int(block["size"], 16) > 500
    parent = service("eth_getBlockByNumber", hex(int(block["number"], 16) - 1), False)
    assert parent["hash"] == block["parentHash"]


# 2. Filter identifiers.


FILTER_CREATIONS: Final[list[tuple[str, tuple[Any, ...]]]] = [
    ("eth_newFilter", ({},)),
    ("eth_newBlockFilter", ()),
    ("eth_newPendingTransactionFilter", ()),
]


@pytest.mark.parametrize(("creation", "params"), FILTER_CREATIONS)
def test_2_a_filter_is_identified_by_a_hash(
    service: Service, creation: str, params: tuple[Any, ...]
) -> None:
    # The first digit is never 0, so that the hash is at the same time the quantity that clients make of it.
    found = service(creation, *params)
    assert hash_of_32_bytes(found)
    assert quantity(found)


# 3. States.


@pytest.mark.parametrize("method", ["eth_getFilterChanges", "eth_getFilterLogs"])
@pytest.mark.parametrize("state", ["uninstalled", "unknown"])
def test_3_and_era_60_and_64_a_filter_that_is_not_installed_has_here_the_code_of_geth(
    service: Service, method: str, state: str
) -> None:
    """zksync-era responds with -32602; viem creates its filter anew only after -32000."""
    found = service("eth_newFilter", {}) if state == "uninstalled" else UNKNOWN
    assert service("eth_uninstallFilter", found) is (state == "uninstalled")
    error = service.call(method, found)["error"]
    assert (error["code"], error["message"]) == (-32000, "filter not found")


# 4. Endpoints: the rules that all operations share.


@pytest.mark.parametrize("operation", OPERATIONS)
def test_4_an_operation_of_the_table_is_posted_to_the_path_of_its_name_and_has_a_result(
    service: Service, pair: Pair, story: Story, operation: str
) -> None:
    params = list(one_call_of(operation, pair, story))
    request = {"jsonrpc": "2.0", "id": 3, "method": operation, "params": params}
    response = service.post(f"/{operation}", request)
    assert (response.status, response.content_type) == (200, "application/json; charset=utf-8")
    assert set(response.body) == {"jsonrpc", "id", "result"}
    assert (response.body["jsonrpc"], response.body["id"]) == ("2.0", 3)
    assert response.body["result"] is not None


@pytest.mark.parametrize("path", ["/", "/some/path/of/a/proxy", "/v1"])
def test_4_decided_a_path_that_names_no_method_is_ignored(service: Service, path: str) -> None:
    # Most clients post to the base URL itself, and proxies put things before it.
    request = {"jsonrpc": "2.0", "id": 3, "method": "eth_uninstallFilter", "params": [UNKNOWN]}
    assert service.post(path, request).body["result"] is False


def test_4_decided_a_path_that_names_another_method_is_rejected(service: Service) -> None:
    # Path and body have the same name; where they differ, one of them is a mistake.
    request = {"jsonrpc": "2.0", "id": 3, "method": "eth_uninstallFilter", "params": [UNKNOWN]}
    error = service.post("/eth_getBlockByNumber", request).body["error"]
    assert error["code"] == -32600
    assert error["data"] == "the path says eth_getBlockByNumber, the body eth_uninstallFilter"


# 4.1 eth_getBlockByNumber.


def test_4_1_a_block_is_found_by_its_number(block: Any, story: Story) -> None:
    assert block["number"] == story.message["blockNumber"]
    assert block["hash"] == story.message["blockHash"]


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ((), "params[0]"),
        (("0x1",), "params[1]"),
        ((1.5, False), "params[0]"),
        ((-1,), "params[0]"),
        (("one", False), "params[0]"),
        (("0x1", "false"), "params[1]"),
        (("0x1", None), "params[1]"),
    ],
    ids=str,
)
def test_4_1_and_era_13_both_parameters_are_required_and_of_their_type(
    service: Service, params: tuple[Any, ...], place: str
) -> None:
    error = service.call("eth_getBlockByNumber", *params)["error"]
    assert error["code"] == -32602
    assert place in error["message"]


@pytest.mark.parametrize(
    "tag",
    [
        *("latest", "committed", "earliest", "pending", "safe", "finalized"),
        *("l1_committed", "precommitted", "fast_finalized"),
    ],
)
def test_4_1_decided_and_era_05_a_tag_selects_a_block(service: Service, tag: str) -> None:
    # The tags of the network; `pending` is the block being built, where the network returns null.
    block = service("eth_getBlockByNumber", tag, False)
    assert quantity(block["number"])
    assert (block["hash"] is None) == (tag == "pending")
    assert (block["number"] == "0x0") == (tag == "earliest")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBlockByNumber", (FUTURE, False)),
        ("eth_getBlockByNumber", ("0x100000000", False)),
        ("eth_getBlockByNumber", ("0xffffffffffffffff", False)),
        ("eth_getBlockByHash", (UNKNOWN, False)),
        ("eth_getBlockTransactionCountByNumber", (FUTURE,)),
        ("eth_getBlockReceipts", (FUTURE,)),
        ("eth_getBlockReceipts", (UNKNOWN,)),
    ],
)
def test_4_1_decided_and_era_02_and_03_a_block_that_does_not_exist_is_null(
    service: Service, method: str, params: tuple[Any, ...]
) -> None:
    assert service(method, *params) is None


# 4.2 zks_estimateGasL1ToL2.


def test_4_2_the_result_is_a_quantity(service: Service) -> None:
    call = {"from": SENDER, "to": RECIPIENT, "data": "0x1234"}
    estimate = service("zks_estimateGasL1ToL2", call)
    assert quantity(estimate)
    assert int(estimate, 16) > 21_000


def test_4_2_decided_from_and_data_may_be_missing_and_to_may_not(service: Service) -> None:
    # "Whether each field is required" is not shown; a request from L1 has a target, so only `to` is.
    assert quantity(service("zks_estimateGasL1ToL2", {"to": RECIPIENT}))
    error = service.call("zks_estimateGasL1ToL2", {"from": SENDER})["error"]
    assert error["code"] == 3
    assert "toAddressIsNull" in error["message"]


def test_4_2_decided_a_call_that_reverts_is_an_error(service: Service, pair: Pair) -> None:
    call = {"from": SENDER, "to": str(pair.base_token.address), "data": "0xdeadbeef"}
    assert service.call("zks_estimateGasL1ToL2", call)["error"]["code"] == 3


@pytest.mark.parametrize("params", [(), ("0x",), ({"to": "0x12"},), ({"data": "0x1"},)], ids=str)
def test_4_2_a_malformed_call_object_is_rejected(service: Service, params: tuple[Any, ...]) -> None:
    assert service.call("zks_estimateGasL1ToL2", *params)["error"]["code"] == -32602


# 4.3 eth_uninstallFilter.


@pytest.mark.parametrize(("creation", "params"), FILTER_CREATIONS)
def test_4_3_and_era_60_a_filter_is_uninstalled_once(
    service: Service, creation: str, params: tuple[Any, ...]
) -> None:
    found = service(creation, *params)
    assert service("eth_uninstallFilter", found) is True
    assert service("eth_uninstallFilter", found) is False


@pytest.mark.parametrize("params", [(), (7,), ("filter",), ("0x" + "a" * 65,)], ids=str)
def test_4_3_what_is_no_hash_is_rejected(service: Service, params: tuple[Any, ...]) -> None:
    assert service.call("eth_uninstallFilter", *params)["error"]["code"] == -32602


# 4.4 zks_getL2ToL1MsgProof.


@pytest.fixture(scope="module")
def proof(service: Service, story: Story) -> Any:
    return service("zks_getL2ToL1MsgProof", *message_params(story))


def test_4_4_decided_the_parameters_are_block_sender_and_hash_of_the_message(
    service: Service, story: Story
) -> None:
    # "Meaning not shown": the L2 block, the caller of sendToL1, and the keccak of the message.
    number, sender, message = message_params(story)
    assert service("zks_getL2ToL1MsgProof", number, sender, message) is not None
    assert service("zks_getL2ToL1MsgProof", number, NOBODY, message) is None
    assert service("zks_getL2ToL1MsgProof", number, sender, UNKNOWN) is None
    assert service("zks_getL2ToL1MsgProof", 10**7, sender, message) is None


def test_4_4_decided_the_result_has_an_id_a_root_and_sixteen_words(proof: Any) -> None:
    # The format of protocol 26 and later: one word of metadata, 14 siblings, the root of other chains.
    assert set(proof) == {"id", "proof", "root", "batchNumber"}
    assert isinstance(proof["id"], int)
    assert isinstance(proof["batchNumber"], int)
    assert hash_of_32_bytes(proof["root"])
    assert len(proof["proof"]) == 16
    assert all(map(hash_of_32_bytes, proof["proof"]))
    assert proof["proof"][0] == "0x010f0001" + "00" * 28


def test_4_4_the_contract_on_l1_accepts_the_proof(pair: Pair, story: Story, proof: Any) -> None:
    root = pair.call_l1(pair.chain, "l2LogsRootHash", proof["batchNumber"])
    assert "0x" + root.hex() == proof["root"]
    assert pair.is_included(proof, story.message, USER, MESSAGE)


def test_4_4_the_contract_on_l1_accepts_nothing_else(pair: Pair, story: Story, proof: Any) -> None:
    assert not pair.is_included(proof, story.message, USER, MESSAGE + b"!")
    assert not pair.is_included(proof, story.message, RECEIVER, MESSAGE)
    assert not pair.is_included({**proof, "id": proof["id"] + 1}, story.message, USER, MESSAGE)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_4_4_all_three_parameters_are_required(
    service: Service, story: Story, missing: int
) -> None:
    error = service.call("zks_getL2ToL1MsgProof", *message_params(story)[:missing])["error"]
    assert error["code"] == -32602
    assert f"params[{missing}]" in error["message"]


# 4.5 zks_getBytecodeByHash.


def versioned_hash(code: bytes) -> str:
    """Return the hash under which code is published, as the network makes it."""
    words = (len(code) // 32).to_bytes(2)
    return "0x" + (b"\x01\x00" + words + hashlib.sha256(code).digest()[4:]).hex()


def test_4_5_published_code_is_an_array(service: Service) -> None:
    assert service("zks_getBytecodeByHash", versioned_hash(PUBLISHED)) == list(PUBLISHED)


def test_4_5_decided_a_contract_is_found_by_the_hash_of_its_code(
    service: Service, story: Story
) -> None:
    # None of the network's nodes accepts this hash, which is the one that users have.
    named = message_hash(story.code)
    assert service("zks_getBytecodeByHash", named) == list(story.code)
    assert service("eth_getCode", story.contract, "latest") == "0x" + story.code.hex()


def test_4_5_decided_nothing_is_null(service: Service) -> None:
    assert service("zks_getBytecodeByHash", UNKNOWN) is None
