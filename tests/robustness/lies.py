"""The lies of an L1: what a lagging, forked, broken or overloaded node behind its URL responds."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from tests.support.rpc_client import HttpRpcClient

Json = dict[str, Any]

MAX_LAG: Final = 40
LONGEST_DELAY_SECONDS: Final = 0.5

SEND: Final = "eth_sendRawTransaction"
LOGS: Final = "eth_getLogs"
RECEIPT: Final = "eth_getTransactionReceipt"
BLOCK: Final = "eth_getBlockByNumber"
BLOCK_PARAMETERS: Final = {
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_getTransactionCount": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
}
"""Where methods that read a state have the block."""

_UNKNOWN_BLOCK: Final = (-32000, "header not found")
ERRORS: Final = (
    (-32603, "Internal error"),
    _UNKNOWN_BLOCK,
    (-32005, "rate limit exceeded"),
    (-32001, "Resource not found"),
)


class Answer(NamedTuple):
    """What the node gets; nothing but a closed connection, if there is no body."""

    body: bytes | None
    status: int = 200
    delay: float = 0.0


class Fork(Protocol):
    """What a node on the old fork still has, and what every node has."""

    orphans: list[Json]
    oldest: int


class Request:
    """A request of the node, and the L1 that can answer it."""

    def __init__(self, document: Json, upstream: HttpRpcClient, fork: Fork) -> None:
        self.method: str = document["method"]
        self.params: list[Any] = document["params"]
        self.fork = fork
        self._document = document
        self._upstream = upstream
        self._truth: Json | None = None

    def forward(self) -> bytes:
        """Return the true response."""
        return json.dumps(self.truth()).encode()

    def truth(self) -> Json:
        """Return the true response, asked for once."""
        if self._truth is None:
            self._truth = self.ask(self.method, self.params)
        return self._truth

    def ask(self, method: str, params: Sequence[Any]) -> Json:
        """Return the L1's response to another request."""
        document = self._document | {"method": method, "params": params}
        response: Json = self._upstream.post(document)
        return response

    def result(self) -> Any:
        """Return the true result; None if it is an error."""
        return self.truth().get("result")

    def with_result(self, result: Any) -> Answer:
        """Return a response with another result."""
        document = {"jsonrpc": "2.0", "id": self._document["id"], "result": result}
        return Answer(json.dumps(document).encode())

    def with_error(self, code: int, message: str) -> Answer:
        """Return a response with an error."""
        problem = {"code": code, "message": message}
        document = {"jsonrpc": "2.0", "id": self._document["id"], "error": problem}
        return Answer(json.dumps(document).encode())


class Lie(NamedTuple):
    """A kind of lie; `tell` returns None for a request that it would not change."""

    kind: str
    tell: Callable[[Request, random.Random], Answer | None]


def stale(request: Request, choice: random.Random) -> Answer | None:
    """Respond as a node does that is some blocks behind."""
    if request.method == SEND:
        return None
    response = _at(request, _lagging(request, choice))
    if response is None or "result" not in response or response["result"] == request.result():
        return None
    return request.with_result(response["result"])


def _lagging(request: Request, choice: random.Random) -> int:
    """Return the last block of a node that is behind."""
    head = int(request.ask("eth_blockNumber", [])["result"], 16)
    return max(head - choice.randint(1, MAX_LAG), request.fork.oldest)


def _is_unknown(request: Request, block: Any, head: int) -> bool:
    """Say whether a block is above `head`."""
    if isinstance(block, dict):
        found = request.ask("eth_getBlockByHash", [block["blockHash"], False])["result"]
        return found is not None and int(found["number"], 16) > head
    return block.startswith("0x") and int(block, 16) > head


def unknown_block(request: Request, choice: random.Random) -> Answer | None:
    """Reject a block that a node does not have which is some blocks behind."""
    index = BLOCK_PARAMETERS.get(request.method)
    if index is None or len(request.params) <= index:
        return None
    if not _is_unknown(request, request.params[index], _lagging(request, choice)):
        return None
    return request.with_error(*_UNKNOWN_BLOCK)


def _at(request: Request, head: int) -> Json | None:
    """Return the response of a node whose last block is `head`."""
    method, params = request.method, copy.deepcopy(request.params)
    if method == "eth_blockNumber":
        return {"result": hex(head)}
    if method == BLOCK:
        if params[0] in {"latest", "safe", "finalized"}:
            params[0] = hex(head)
        return {"result": None} if int(params[0], 16) > head else request.ask(method, params)
    if method == LOGS:
        found = request.result()
        return {"result": [it for it in found or () if int(it["blockNumber"], 16) <= head]}
    if method == RECEIPT:
        receipt = request.result()
        is_known = receipt is not None and int(receipt["blockNumber"], 16) <= head
        return {"result": receipt if is_known else None}
    index = BLOCK_PARAMETERS.get(method)
    if index is None or params[index : index + 1] not in ([], ["latest"]):
        return None
    return request.ask(method, [*params[:index], hex(head)])


def empty(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Leave out logs, a receipt or a block."""
    if request.method == LOGS and request.result():
        return request.with_result([])
    if request.method in {RECEIPT, BLOCK} and request.result() is not None:
        return request.with_result(None)
    return None


def wrong_hash(request: Request, choice: random.Random) -> Answer | None:
    """Give logs, a receipt or a block the hash of a block that does not exist."""
    if request.method not in {LOGS, RECEIPT, BLOCK} or not request.result():
        return None
    result, wrong = copy.deepcopy(request.result()), "0x" + choice.randbytes(32).hex()
    for found in result if isinstance(result, list) else [result]:
        found["hash" if request.method == BLOCK else "blockHash"] = wrong
    return request.with_result(result)


def forked(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Return logs of blocks that a reorg has removed, in place of those of the blocks now."""
    if request.method != LOGS or request.result() is None:
        return None
    query = request.params[0]
    first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
    orphans = [
        orphan
        for orphan in request.fork.orphans
        if first <= int(orphan["blockNumber"], 16) <= last
        and orphan["topics"][: len(query["topics"])] == query["topics"]
    ]
    replaced = {orphan["blockNumber"] for orphan in orphans}
    others = [it for it in request.result() if it["blockNumber"] not in replaced]
    found = sorted([*others, *orphans], key=lambda it: int(it["blockNumber"], 16))
    return request.with_result(found) if found != request.result() else None


def error(request: Request, choice: random.Random) -> Answer | None:
    """Respond with an error of the node's own."""
    return request.with_error(*choice.choice(ERRORS))


def cut_off(request: Request, choice: random.Random) -> Answer | None:
    """Respond with the beginning of the JSON."""
    whole = request.forward()
    return Answer(whole[: choice.randrange(1, len(whole))])


def bad_gateway(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Respond as a gateway does whose node is away."""
    return Answer(b"<html>Bad Gateway</html>", 502)


def hang_up(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Do not pass the request on, and hang up."""
    return Answer(None)


def lost_response(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Pass a transaction on, and hang up."""
    if request.method != SEND:
        return None
    request.truth()
    return Answer(None)


def slow(request: Request, choice: random.Random) -> Answer | None:
    """Respond late."""
    return Answer(request.forward(), delay=choice.uniform(0.1, LONGEST_DELAY_SECONDS))


def doubled(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Pass a transaction on twice, and respond to the second time."""
    if request.method != SEND:
        return None
    request.ask(SEND, request.params)
    return Answer(request.forward())


def swallowed(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Respond to a transaction, and drop it."""
    if request.method != SEND:
        return None
    digest = request.ask("web3_sha3", request.params)["result"]
    return request.with_result(digest)


LIES: Final = (
    Lie("stale", stale),
    Lie("unknown block", unknown_block),
    Lie("empty", empty),
    Lie("wrong block hash", wrong_hash),
    Lie("logs of the old fork", forked),
    Lie("response lost", lost_response),
    Lie("sent twice", doubled),
    Lie("dropped", swallowed),
)
"""Each fits few requests."""

FAILURES: Final = (
    Lie("error", error),
    Lie("cut off", cut_off),
    Lie("bad gateway", bad_gateway),
    Lie("hung up", hang_up),
    Lie("slow", slow),
)
"""Each fits every request."""
