"""What the `debug_` files of ethereum/execution-apis show, on both layers, with transactions of our own.

Their chain cannot be loaded here, so the requests are the same and the contracts are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.support.chain.api_client import REVERT
from tests.support.clients.layers import running_layers
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

CALLS: Final = {"tracer": "callTracer"}
WITH_LOGS: Final = CALLS | {"tracerConfig": {"withLog": True}}
UNKNOWN: Final = "0x" + "00" * 31 + "01"

ECHO, EMITTER, REVERTER, TREE = ("0x" + "c0" * 19 + end for end in ("e0", "e1", "e2", "e3"))
# Returns 0xffee.
ECHO_CODE = "61ffee5f526002601ef3"
# Adds one to slot 0 and two to slot 1, and logs with a topic.
EMITTER_CODE = "5f546001015f55600154600201600155" + "63656d697460205fa1"
# Logs in its constructor, and destroys itself.
CREATED = "5f5fa033ff"
# Every kind of call, a creation, and a log after them.
TREE_CODE = (
    f"5f5f60025f600173{ECHO[2:]}61ea60f150"
    f"5f5f5f5f5f73{REVERTER[2:]}61ea60f150"
    f"5f5f5f5f73{ECHO[2:]}61ea60fa50"
    f"5f5f5f5f73{EMITTER[2:]}61ea60fa50"
    f"5f5f5f5f73{EMITTER[2:]}61ea60f450"
    f"5f5f5f5f5f73{ECHO[2:]}61ea60f250"
    "5f5f60045f5f600461ea60f150"
    f"64{CREATED}5f526005601b5ff050"
    "5f5fa0" + ECHO_CODE
)
# Returns the code that logs without topics.
DEPLOYMENT = "0x625f5fa05f526003601df3"


@dataclass(frozen=True)
class Traced:
    """A layer with a block of a revert, a tree of calls, a log, a creation and a transfer."""

    client: HttpRpcClient
    block: dict[str, Any]

    def __call__(self, method: str, *params: Any) -> Any:
        return self.client(method, *params)

    def frame(self, index: int, options: dict[str, Any]) -> Any:
        """Return the trace of a transaction of the block."""
        return self("debug_traceTransaction", self.block["transactions"][index], options)


REVERTED, NESTED, LOGGED, CREATION, TRANSFER = range(5)


def traced_block(client: HttpRpcClient) -> Traced:
    for address, code in (
        (ECHO, ECHO_CODE), (EMITTER, EMITTER_CODE), (REVERTER, REVERT[2:]), (TREE, TREE_CODE),
    ):  # fmt: skip
        client("anvil_setCode", address, "0x" + code)
    client("anvil_setBalance", TREE, hex(10**18))
    client("evm_mine")
    client("evm_setAutomine", False)
    sender = client("eth_accounts")[0]
    first = int(client("eth_getTransactionCount", sender, "latest"), 16)
    for nonce, call in enumerate(
        (
            {"to": REVERTER, "gas": "0x186a0", "data": "0x01"},
            {"to": TREE, "gas": "0x927c0"},
            {"to": EMITTER, "gas": "0x186a0", "value": "0x2"},
            {"data": DEPLOYMENT, "gas": "0x186a0"},
            {"to": "0x" + "77" * 20, "gas": "0x5208", "value": "0x1"},
        ),
        first,
    ):
        client("eth_sendTransaction", {"from": sender, "nonce": hex(nonce), **call})
    client("evm_mine")
    return Traced(client, client("eth_getBlockByNumber", "latest", False))


@pytest.fixture(scope="module")
def layers() -> Iterator[dict[str, Traced]]:
    with running_layers("embedded", "--l1-delay", "0", "--no-settle") as running:
        clients = {"L1": CheckedRpcClient(running.l1_url), "L2": CheckedRpcClient(running.url)}
        yield {name: traced_block(client) for name, client in clients.items()}
        for client in clients.values():
            client.close()


@pytest.fixture(params=["L1", "L2"])
def layer(layers: dict[str, Traced], request: pytest.FixtureRequest) -> Traced:
    return layers[request.param]


def frames_of(frame: Any) -> Iterator[Any]:
    yield frame
    for inner in frame.get("calls", ()):
        yield from frames_of(inner)


@pytest.mark.parametrize("options", [{}, CALLS, WITH_LOGS], ids=["steps", "calls", "logs"])
def test_a_block_pairs_each_hash_with_its_trace(layer: Traced, options: dict[str, Any]) -> None:
    traced = layer("debug_traceBlockByNumber", layer.block["number"], options)
    assert traced == layer("debug_traceBlockByHash", layer.block["hash"], options)
    assert [entry["txHash"] for entry in traced] == layer.block["transactions"]
    for index, entry in enumerate(traced):
        assert entry.keys() == {"txHash", "result"}
        assert entry["result"] == layer.frame(index, options)


def test_a_transfer_has_a_frame_and_no_steps(layer: Traced) -> None:
    empty = {"gas": 21_000, "failed": False, "returnValue": "0x", "structLogs": []}
    assert layer.frame(TRANSFER, {}) == empty
    frame = layer.frame(TRANSFER, CALLS)
    assert frame.keys() == {"from", "gas", "gasUsed", "to", "input", "value", "type"}
    assert (frame["gas"], frame["gasUsed"], frame["value"]) == ("0x5208", "0x5208", "0x1")


def test_a_tree_has_every_kind_of_call(layer: Traced) -> None:
    frame = layer.frame(NESTED, CALLS)
    assert (frame["gas"], frame["input"], frame["output"]) == ("0x927c0", "0x", "0xffee")
    assert [call["type"] for call in frame["calls"]] == [
        "CALL", "CALL", "STATICCALL", "STATICCALL", "DELEGATECALL", "CALLCODE", "CALL", "CREATE",
    ]  # fmt: skip
    paid, reverted, static, protected, delegated, _, precompile, created = frame["calls"]
    assert (paid["value"], paid["output"], delegated["value"]) == ("0x1", "0xffee", "0x0")
    assert (reverted["error"], reverted["revertReason"]) == ("execution reverted", "no")
    assert "value" not in static
    assert (protected["error"], protected["gasUsed"]) == ("write protection", protected["gas"])
    assert int(precompile["to"], 16) == 4
    (destroyed,) = created["calls"]
    assert (created["input"], "output" in created) == ("0x" + CREATED, False)
    assert (destroyed["type"], destroyed["to"], destroyed["gas"]) == ("SELFDESTRUCT", TREE, "0x0")
    assert not any("logs" in it for it in frames_of(frame))


def test_steps_have_words_of_32_bytes_and_slots_with_their_new_values(layer: Traced) -> None:
    everything = {"enableMemory": True, "enableReturnData": True}
    trace = layer.frame(LOGGED, everything)
    assert trace.keys() == {"gas", "failed", "returnValue", "structLogs"}
    stored = [step for step in trace["structLogs"] if "storage" in step]
    assert [step["op"] for step in stored] == ["SLOAD", "SSTORE"] * 2
    # The tree has run the same code, but on slots of its own.
    slots = {hexed(word(0)): hexed(word(1)), hexed(word(1)): hexed(word(2))}
    assert stored[-1]["storage"] == slots
    assert len(stored[1]["storage"]) == 1
    for step in layer.frame(NESTED, everything)["structLogs"]:
        assert {"pc", "op", "gas", "gasCost", "depth", "stack"} <= step.keys()
        assert all(it == hex(int(it, 16)) for it in step["stack"])
        assert all(len(it) == 66 for it in step.get("memory", ()))
        assert step.get("returnData") != "0x"
        assert step.get("error", "write protection") == "write protection"


@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("traceTransaction", [UNKNOWN], -32000, "transaction not found"),
        ("traceBlockByHash", [UNKNOWN], -32000, f"block {UNKNOWN} not found"),
        ("traceBlockByNumber", ["0x0"], -32000, "genesis is not traceable"),
        ("traceBlockByNumber", ["0x0", CALLS], -32000, "genesis is not traceable"),
        ("traceCall", [{}, "0xfffffffff", CALLS], -32000, "block #68719476735 not found"),
        ("executionWitness", ["0xfffffffff"], -32000, "block #68719476735 not found"),
        ("executionWitness", ["0x0"], -32000, "block 0x0 found, but parent missing"),
        ("executionWitness", ["pending"], -32000, "pending block has no witness"),
        ("traceBlockByHash", ["0x01"], -32602, ""),
        ("getRawTransaction", ["0x10"], -32602, ""),
    ],
)
def test_an_error_has_the_code_and_the_text_of_geth(
    layer: Traced, method: str, params: list[Any], code: int, text: str
) -> None:
    with pytest.raises(RpcError) as rejection:
        layer(f"debug_{method}", *params)
    assert rejection.value.code == code
    assert text in rejection.value.message


def test_an_unknown_transaction_has_no_bytes(layer: Traced) -> None:
    assert layer("debug_getRawTransaction", UNKNOWN) is None
    assert layer("debug_getBadBlocks") == []


def test_a_witness_is_the_same_by_hash_and_sorted(layer: Traced) -> None:
    witness = layer("debug_executionWitness", layer.block["number"])
    assert witness == layer("debug_executionWitness", layer.block["hash"])
    assert witness.keys() == {"state", "codes", "keys", "headers"}
    for part in ("state", "codes", "keys"):
        assert witness[part] == sorted(set(witness[part]))
    parent = layer("eth_getBlockByHash", layer.block["parentHash"], False)
    assert witness["headers"][-1] == layer("debug_getRawHeader", parent["number"])
    assert "0x" + ECHO_CODE in witness["codes"]
