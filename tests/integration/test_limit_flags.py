"""Every limit of `entresol --help`, set by its flag, enforced by a real node, and reported in its own words."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from entresol.features.debugger.settings import DebuggerConfig
from entresol.features.dev.settings import DevConfig
from entresol.features.explorer.settings import ExplorerConfig
from entresol.features.workers.settings import WorkersConfig
from entresol.node.config.api import ApiConfig, LimitsConfig
from entresol.server.config import ServerConfig
from tests.support.clients.accounts import signed_transfer
from tests.support.http_server import (
    RawConnection,
    Response,
    post_request,
    raw_response,
    upgrade_request,
)
from tests.support.inprocess_node import InprocessNode, inprocess_node

FLAGS = {
    "--body-limit-bytes": "20000",
    "--connection-limit": "20",
    "--requests-per-second": "50",
    "--allowed-hosts": "localhost,node.example",
    "--cors-origins": "http://page.example",
    "--batch-limit": "3",
    "--answer-limit-bytes": "100000",
    "--trace-limit-bytes": "200000",
    "--call-gas-cap": "1000000",
    "--log-limit": "4",
    "--log-block-limit": "10",
    "--filter-limit-bytes": "6500",
    "--load-state-limit-bytes": "2000",
}
# Of another node: a client that must not time out needs a node without these limits.
TIMES = {
    "--header-seconds": "0.3",
    "--body-seconds": "0.3",
    "--idle-seconds": "0.3",
    "--receipt-seconds": "0.1",
    "--call-seconds": "0.05",
}
ELSEWHERE = {
    # Where it listens and which accounts sign: test_cli.py, test_accounts.py.
    "--ipc", "--host", "--port", "--dev-methods", "--expose-unlocked-accounts",
    # How failures are reported: unit/rpc/namespaces/eth/test_accounts.py.
    "--hardhat-errors", "--hardhat-call-failures",
    # What tools recognise the node by: unit/node/config/test_api.py.
    "--preset", "--client-version",
    # Which senders need no signature: test_anvil_command.py.
    "--auto-impersonate",
    # Where sources are read from: tests/features/debugger/sources/test_folders.py.
    "--sources",
    # Whether browsers get pages: test_explorer.py.
    "--explorer",
    # How many processes serve, and which are replaced: test_workers.py, test_workers_lifetime.py.
    "--workers", "--worker-silence-seconds",
    # The end: test_server.py, test_workers_lifetime.py.
    "--stop-seconds",
    # Many clients that do not read: test_server_memory.py.
    "--unsent-limit-bytes",
    # Many long requests: test_server_memory.py.
    "--request-limit-bytes",
}  # fmt: skip
CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
CONTRACT = "0x" + "c1" * 20
# Loops for ever; logs six times.
ENDLESS, LOGGING = "0x5b5f56", "0x" + "5f5fa0" * 6


def words(flags: dict[str, str]) -> list[str]:
    """Return flags as a command line has them."""
    return [
        "--no-mining",
        "--log-level",
        "warning",
        *(entry for flag in flags.items() for entry in flag),
    ]


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    with inprocess_node(*words(FLAGS)) as running:
        yield running


@pytest.fixture(scope="module")
def hurried() -> Iterator[InprocessNode]:
    with inprocess_node(*words(TIMES), "--call-gas-cap", str(2**62)) as running:
        yield running


@pytest.fixture
def client(node: InprocessNode) -> Iterator[RawConnection]:
    with RawConnection(node.port) as client:
        yield client


def call(client: RawConnection, method: str, *params: object) -> Any:
    """Return the result, or the error."""
    return outcome(client.post(request(method, *params)).body)


def request(method: str, *params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def outcome(body: bytes) -> Any:
    response = json.loads(body)
    return response["error"] if "error" in response else response["result"]


def last_outcome(node: InprocessNode, body: bytes) -> Any:
    """Return the result or the error of a request that is the only one of its connection."""
    return outcome(raw_response(node.port, post_request(body)).partition(b"\r\n\r\n")[2])


def test_every_limit_is_tested() -> None:
    sections = (
        ServerConfig,
        LimitsConfig,
        ApiConfig,
        DebuggerConfig,
        ExplorerConfig,
        WorkersConfig,
    )
    fields = [field for section in sections for field in section.__struct_fields__]
    fields += [field for field in DevConfig.__struct_fields__ if "limit" in field]
    tested = FLAGS.keys() | TIMES.keys() | ELSEWHERE
    assert {"--" + field.replace("_", "-") for field in fields} == tested, (
        "test it here, by FLAGS or TIMES, or say in ELSEWHERE where it is tested"
    )


# What a request may be


def test_a_body_has_a_limit(client: RawConnection) -> None:
    assert client.post(CHAIN_ID + b" " * 19_900).status == 200
    status, _, body = client.post(CHAIN_ID + b" " * 20_000)
    assert (status, outcome(body)["code"]) == (413, -32007)
    assert outcome(body)["data"] == "Exceeded max limit of 20000"


def test_a_connection_has_a_limit_of_requests_per_second(client: RawConnection) -> None:
    # Many more than a second's, since answering them takes some time, too.
    client.send(post_request(CHAIN_ID) * 1_000)
    responses = [client.response() for _ in range(1_000)]
    rejected = [response for response in responses if response.status == 429]
    assert 40 <= len(responses) - len(rejected) < 1_000
    assert outcome(rejected[0].body) == {"code": 429, "message": "Too many requests"}
    assert rejected[0].headers["retry-after"] == "1"


def test_connections_have_a_limit(node: InprocessNode) -> None:
    with ExitStack() as crowd:
        clients = [crowd.enter_context(RawConnection(node.port)) for _ in range(21)]
        statuses = [client.status for client in map(_answer_or_rejection, clients)]
    assert statuses.count(503) >= 1
    assert statuses.count(200) >= 15


def _answer_or_rejection(client: RawConnection) -> Response:
    client.send(post_request(CHAIN_ID))
    return client.response()


def test_hosts_that_are_not_allowed_are_rejected(client: RawConnection) -> None:
    assert client.post(CHAIN_ID, "Host: node.example:3050").status == 200
    status, _, body = client.post(CHAIN_ID, "Host: other.example")
    assert status == 403
    assert b"other.example" in body


def test_origins_that_are_not_allowed_cannot_read(client: RawConnection) -> None:
    allowed = client.post(CHAIN_ID, "Origin: http://page.example").headers
    assert allowed["access-control-allow-origin"] == "http://page.example"
    others = client.post(CHAIN_ID, "Origin: http://other.example").headers
    assert "access-control-allow-origin" not in others
    client.send(upgrade_request("Origin: http://other.example"))
    assert client.response().status == 403


# Time


@pytest.mark.parametrize("half", [b"POST / HTTP/1.1\r\n", post_request(CHAIN_ID)[:-1]])
def test_headers_and_bodies_have_a_time_limit(hurried: InprocessNode, half: bytes) -> None:
    assert raw_response(hurried.port, half).startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_is_closed(hurried: InprocessNode) -> None:
    assert raw_response(hurried.port, post_request(CHAIN_ID)).startswith(b"HTTP/1.1 200 ")


def test_a_receipt_is_awaited_up_to_its_limit(hurried: InprocessNode) -> None:
    error = last_outcome(hurried, request("eth_sendRawTransactionSync", signed_transfer(0)))
    assert error["code"] == 4
    assert "no block included it in 0.1 s" in error["message"]


# Limits of one request


def test_a_batch_has_a_limit(client: RawConnection) -> None:
    assert len(json.loads(client.post(b"[" + b",".join([CHAIN_ID] * 3) + b"]").body)) == 3
    error = outcome(client.post(b"[" + b",".join([CHAIN_ID] * 4) + b"]").body)
    assert (error["code"], error["data"]) == (-32010, "Exceeded max limit of 3")


def test_a_response_has_a_limit_and_so_have_the_responses_of_a_batch(client: RawConnection) -> None:
    def returning(size: int) -> tuple[object, ...]:
        code = "0x62" + size.to_bytes(3).hex() + "5ff3"
        return {"to": CONTRACT, "gas": "0xf4240"}, "latest", {CONTRACT: {"code": code}}

    assert len(call(client, "eth_call", *returning(30_000))) == 60_002
    error = call(client, "eth_call", *returning(60_000))
    assert (error["code"], error["data"]) == (-32008, "Exceeded max limit of 100000")
    batch = b"[" + b",".join([request("eth_call", *returning(30_000))] * 2) + b"]"
    error = outcome(client.post(batch).body)
    assert (error["code"], error["data"]) == (-32011, "Exceeded max limit of 100000")


def test_a_call_has_a_limit_of_gas(client: RawConnection) -> None:
    error = call(client, "eth_call", {"to": CONTRACT}, "latest", {CONTRACT: {"code": ENDLESS}})
    assert (error["code"], error["message"]) == (-32000, "out of gas: a call may use 1000000 gas")


def test_traces_have_a_limit_of_their_own(client: RawConnection) -> None:
    code = {"stateOverrides": {CONTRACT: {"code": ENDLESS}}}
    fitting = {"to": CONTRACT, "gas": hex(27_000)}
    assert len(json.dumps(call(client, "debug_traceCall", fitting, "latest", code))) > 100_000
    error = call(client, "debug_traceCall", {"to": CONTRACT}, "latest", code)
    text = "the trace needs more than 200000 bytes: --trace-limit-bytes sets the limit"
    assert (error["code"], error["message"]) == (-32000, text)


def test_a_range_of_logs_has_a_limit_of_blocks_and_results(client: RawConnection) -> None:
    call(client, "anvil_setCode", CONTRACT, LOGGING)
    call(client, "eth_sendTransaction", {"from": ALICE, "to": CONTRACT, "gasPrice": "0x5f5e100"})
    call(client, "anvil_mine", 20)
    error = call(client, "eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})
    assert (error["code"], error["message"].split(".")[0]) == (
        -32602,
        "Query covers more than 10 blocks",
    )
    error = call(client, "eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x5"})
    assert error["message"].startswith("Query returned more than 4 results")
    assert re.search(r"range \[0x0, 0x\d\]", error["message"])


def test_filters_have_a_limit_of_memory(client: RawConnection) -> None:
    # Three addresses and three topics at each of four positions take more than 3,000 bytes.
    values = [f"0x{number:064x}" for number in range(3)]
    long = {"address": [CONTRACT, ALICE, "0x" + "00" * 20], "topics": [values] * 4}
    first = call(client, "eth_newFilter", long)
    error = call(client, "eth_newFilter", long)
    assert error["code"] == -32006
    assert "--filter-limit-bytes" in error["message"]
    assert call(client, "eth_uninstallFilter", first) is True


def test_a_state_file_of_a_client_has_a_limit(client: RawConnection) -> None:
    packed = gzip.compress(json.dumps({"accounts": {}, "padding": " " * 2_000}).encode())
    error = call(client, "anvil_loadState", f"0x{packed.hex()}")
    assert error["code"] == -32602
    assert "raise --load-state-limit-bytes" in str(error)


def test_a_call_has_a_time_limit(hurried: InprocessNode) -> None:
    overrides = {CONTRACT: {"code": ENDLESS}}
    error = last_outcome(hurried, request("eth_call", {"to": CONTRACT}, "latest", overrides))
    assert (error["code"], error["message"]) == (
        -32000,
        "execution aborted (timeout = 0.05s)",
    )
