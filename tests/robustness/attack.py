"""An attack on a node: request after request, each response checked, and now and then a valid transaction."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from eth_account import Account
from eth_account.signers.local import LocalAccount

from tests.robustness.fuzzed_websocket import FuzzedWebSocket
from tests.robustness.requests import Case, Requests
from tests.robustness.values import PROGRAMS, Json
from tests.support.http_server import RawConnection

SLOWEST_SECONDS = 600.0
"""Sealing the largest number of blocks of one request takes half a minute of a machine's undivided time."""

LEARNT_FROM = 100_000
CHAIN_ID = 270

PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,'

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HEX = re.compile(rb'"(0x(?:[0-9a-f]{40}|[0-9a-f]{64}))"')


class WrongError(AssertionError):
    """The node did what it should not; the text has the request."""

    def __init__(self, problem: str, case: Case, response: bytes = b"") -> None:
        super().__init__(
            f"{problem}\nrequest: {case.body[:3_000]!r}\nresponse: {response[:1_000]!r}"
        )
        self.problem = problem


class Attack:
    """Sends hostile requests over HTTP, and a share of them over a WebSocket.

    `counts` has the code of each error, and 0 for each result.
    """

    def __init__(self, url: str, seed: int, websocket_share: float = 0.5) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[int] = Counter()
        self.slowest = 0.0
        self._port = urlsplit(url).port or 0
        self._http = RawConnection(self._port)
        self._websocket_share = websocket_share
        self._ws = FuzzedWebSocket(self._port, self.random)
        self._requests = Requests(self.random, self.call("rpc.discover"))
        self._requests.values.addresses += self.call("eth_accounts")
        self.check_that_it_works()

    def call(self, method: str, *params: object) -> Any:
        """Return the result of a call that must work."""
        case = Case(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        )
        response = json.loads(self._http.post(case.body).body)
        if "result" not in response:
            raise WrongError(f"{method} failed", case, json.dumps(response).encode())
        return response["result"]

    def send(self, count: int) -> None:
        """Send `count` requests; raise what is wrong with a response."""
        for _ in range(count):
            self.one(self._requests.next())

    def one(self, case: Case) -> None:
        """Send one request and check its response."""
        started = time.monotonic()
        if self.random.random() < self._websocket_share:
            response = self._over_websocket(case)
        else:
            response = self._over_http(case)
        self.slowest = max(self.slowest, time.monotonic() - started)
        judge(case, response, self.counts)
        for found in _HEX.findall(response[:LEARNT_FROM])[:3]:
            self._requests.values.learn(found.decode())

    def check_that_it_works(self) -> None:
        """Send a transaction from a new account, and see it sealed, whatever was set for blocks."""
        self.call("evm_setBlockGasLimit", 30_000_000)
        self.call("evm_setAutomine", True)
        self.call("evm_mine")
        account = Account.from_key(self.random.randbytes(32))
        self.call("anvil_setBalance", account.address, hex(10**18))
        raw, *others = self._signed(account)
        receipt = self.call("eth_getTransactionReceipt", self.call("eth_sendRawTransaction", raw))
        assert receipt is not None, "a good transaction was not sealed"
        assert receipt["status"] == "0x1", receipt
        kept = self._requests.values.transactions
        kept[4:] = [*kept[-60:], raw, *others]

    def _signed(self, account: LocalAccount) -> list[str]:
        """Return a transaction that works, and others that may come after it."""
        price = int(self.call("eth_gasPrice"), 16)
        fields: dict[str, Any] = {
            "to": self.random.randbytes(20),
            "value": 1,
            "gas": 100_000,
            "gasPrice": price,
            "chainId": CHAIN_ID,
        }
        changes: list[dict[str, Any]] = [
            {"nonce": 0},
            {"nonce": 1, "gas": 21_000, "value": 2**200},
            {"nonce": 1, "to": b"", "data": bytes.fromhex(self.random.choice(PROGRAMS))},
            {"nonce": 3, "gasPrice": price * 2},
            {"nonce": 2**64 - 1},
            {"nonce": 1, "gas": 2**63},
            {"nonce": 1, "gasPrice": 2**255},
            {"nonce": 2, "chainId": 1},
        ]
        signed = [account.sign_transaction(fields | change) for change in changes]
        return ["0x" + bytes(transaction.raw_transaction).hex() for transaction in signed]

    def close(self) -> None:
        """Hang up."""
        self._http.socket.close()
        self._ws.close()

    def _over_http(self, case: Case) -> bytes:
        self._http.socket.settimeout(SLOWEST_SECONDS)
        try:
            status, _, body = self._http.post(case.body)
        except (OSError, EOFError) as error:
            self._http = RawConnection(self._port)
            raise WrongError(f"no response over HTTP: {error!r}", case) from None
        if status not in {200, 400}:
            raise WrongError(f"status {status}", case, body)
        return body

    def _over_websocket(self, case: Case) -> bytes:
        responds = True
        if case.id is None:
            # Whether there is a response at all depends on the request alone, so HTTP says it.
            over_http = self._over_http(case)
            judge(case, over_http, self.counts)
            responds = bool(over_http)
        try:
            response = self._ws.exchange(case.body, SLOWEST_SECONDS, responds=responds)
        except (OSError, EOFError) as error:
            raise WrongError(f"no response over WebSocket: {error!r}", case) from None
        if response and not responds:
            raise WrongError("a response to a notification", case, response)
        return response


def judge(case: Case, response: bytes, counts: Counter[int]) -> None:
    """Check that `response` is a JSON-RPC response to `case`, and no internal error."""
    if not response:
        if case.id is not None:
            raise WrongError("no response to a call", case)
        return
    try:
        decoded = json.loads(response.decode(), parse_constant=_reject)
    except (ValueError, RecursionError) as error:
        raise WrongError(f"not JSON: {error}", case, response) from None
    items = decoded if isinstance(decoded, list) else [decoded]
    if not items:
        raise WrongError("an empty batch of responses", case, response)
    for item in items:
        problem = problem_of(item)
        if problem is not None:
            raise WrongError(problem, case, response)
        counts[item["error"]["code"] if "error" in item else 0] += 1
    if case.id is not None and not is_response_to(case, case.id, response):
        raise WrongError("another id", case, response)


def is_response_to(case: Case, identity: str, response: bytes) -> bool:
    """Return whether a response to a call has its id; what is not JSON has none."""
    if response.startswith(b'{"jsonrpc":"2.0","id":%b,' % identity.encode()):
        return True
    return response.startswith(PARSE_ERROR) and not is_json(case.body)


def is_json(body: bytes) -> bool:
    """Say whether every reader takes `body` for JSON: no NaN, no half of a surrogate pair."""
    try:
        json.loads(body.decode(), parse_constant=_reject)
    except (ValueError, RecursionError):
        return False
    return _SURROGATE.search(body) is None


def problem_of(item: Any) -> str | None:
    """Return what is wrong with one response, or None."""
    if not isinstance(item, dict) or item.get("jsonrpc") != "2.0":
        return "no response of JSON-RPC 2.0"
    if set(item) not in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}):
        return "members of an answer"
    if isinstance(item["id"], dict | list | bool):
        return "kind of id"
    if "error" not in item:
        return None
    error: Json = item["error"]
    if not {"code", "message"} <= set(error) <= {"code", "message", "data"}:
        return "members of an error"
    if type(error["code"]) is not int or not isinstance(error["message"], str):
        return "kinds in an error"
    return "internal error" if error["message"] == "Internal error" else None


def _reject(constant: str) -> None:
    raise ValueError(constant)
