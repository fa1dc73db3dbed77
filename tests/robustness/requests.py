"""Requests that break every rule there is, and some that break none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.robustness.values import Json, Values

CORRECT_IDS = (
    "1",
    "0",
    "-7",
    '"a"',
    "null",
    "1.5",
    "1e3",
    "123456789012345678901234567890",
    '"\\u0000"',
    '"é"',
)

DEEP = {
    "eth_call", "eth_callMany", "eth_createAccessList", "eth_estimateGas", "eth_feeHistory", "eth_getLogs",
    "eth_newFilter", "eth_sendRawTransaction", "eth_sendRawTransactionSync", "eth_sendTransaction",
    "eth_signTransaction", "eth_signTypedData_v4", "eth_simulateV1", "eth_subscribe", "zks_estimateFee",
    "zks_estimateGasL1ToL2", "zks_sendRawTransactionWithDetailedOutput", "debug_traceCall",
}  # fmt: skip
"""Methods that do a lot with their parameters, called more often."""


class Case(NamedTuple):
    """A body, and the id that its response must have if it is a call like any other."""

    body: bytes
    id: str | None = None


class Requests:
    """Makes bodies for the methods that an OpenRPC document describes."""

    def __init__(self, randomness: random.Random, document: Json) -> None:
        self.random = randomness
        self.values = Values(randomness, document["components"]["schemas"])
        self._methods = [*document["methods"]]
        self._methods += [it for it in document["methods"] if it["params"]] * 2
        self._methods += [it for it in document["methods"] if it["name"] in DEEP] * 6
        self._templates: dict[str, Callable[[], list[Any]]] = {
            "eth_call": self._question,
            "eth_createAccessList": self._question,
            "eth_estimateGas": self._question,
            "eth_callMany": self._bundles,
            "eth_simulateV1": self._simulation,
            "eth_sendTransaction": lambda: [self.values.extreme("TransactionObject")],
            "eth_signTransaction": lambda: [self.values.extreme("TransactionObject")],
        }

    def next(self) -> Case:
        """Return the next case: mostly calls, for what goes wrong behind the envelope is worth most."""
        chance = self.random.random()
        if chance < 0.70:
            return self.call()
        if chance < 0.78:
            return Case(self._batch())
        if chance < 0.86:
            return Case(self._encode(self._envelope()))
        if chance < 0.91:
            return Case(self._encode(self.values.anything()))
        if chance < 0.97:
            return Case(self._damaged(self.call().body))
        return Case(self._nested())

    def call(self) -> Case:
        """Return a call with proper envelope, whose parameters may be anything."""
        method = self._methods[self.random.randrange(len(self._methods))]
        identity = self.random.choice(CORRECT_IDS)
        params = self._encode(self._params(method))
        text = b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}'
        return Case(text % (identity.encode(), method["name"].encode(), params), identity)

    def _params(self, method: Json) -> Any:
        if method["name"] in self._templates and self.random.random() < 0.6:
            return self._templates[method["name"]]()
        chance = self.random.random()
        if chance < 0.08:
            return self.values.anything()
        if chance < 0.12:
            return [self.values.anything(2) for _ in range(self.random.randrange(4))]
        given = {it["name"]: self.values.named(it["name"], it["schema"]) for it in method["params"]}
        if chance < 0.25:
            return given
        in_order = list(given.values())
        required = sum(1 for it in method["params"] if it.get("required"))
        keep = (
            self.random.randint(required, len(in_order))
            if chance < 0.9
            else self.random.randint(0, len(in_order))
        )
        return in_order[:keep]

    def _question(self) -> list[Any]:
        return [
            self.values.extreme("CallObject"),
            "latest",
            self._accounts(),
            self.values.extreme("BlockOverride"),
        ]

    def _bundles(self) -> list[Any]:
        calls = [self.values.extreme("CallObject") for _ in range(2)]
        bundle = {"transactions": calls, "blockOverride": self.values.extreme("BlockOverride")}
        return [[bundle, bundle], {"blockNumber": "latest"}, self._accounts()]

    def _simulation(self) -> list[Any]:
        blocks = [
            {
                "calls": [self.values.extreme("CallObject")],
                "blockOverrides": self.values.extreme("BlockOverride"),
                "stateOverrides": self._accounts(),
            }
            for _ in range(2)
        ]
        flags = ("validation", "traceTransfers", "returnFullTransactions")
        return [{"blockStateCalls": blocks} | {flag: self.random.random() < 0.5 for flag in flags}]

    def _accounts(self) -> Json:
        return {self.random.choice(self.values.addresses): self.values.extreme("AccountOverride")}

    def _envelope(self) -> Json:
        """Return a call of which any member may be anything, or missing."""
        method = self._methods[self.random.randrange(len(self._methods))]
        members = {"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": []}
        for name in list(members):
            chance = self.random.random()
            if chance < 0.25:
                members[name] = self.values.anything(3)
            elif chance < 0.35:
                del members[name]
        return members

    def _batch(self) -> bytes:
        size = self.random.choice((0, 1, 2, 3, 8, 30))
        items = [
            self.call().body if self.random.random() < 0.7 else self._encode(self._envelope())
            for _ in range(size)
        ]
        return b"[" + b",".join(items) + b"]"

    def _damaged(self, body: bytes) -> bytes:
        """Replace, repeat or cut some bytes."""
        damaged = bytearray(body)
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(damaged) + 1)
            length = self.random.randrange(4)
            damaged[at : at + length] = self.random.choice(
                (
                    b"",
                    b'"',
                    b"{",
                    b"]",
                    b",",
                    b"\xff",
                    b"\xed\xa0\x80",
                    b"1e999",
                    b'"id":2,',
                    b"\\u",
                    b"\\ud800",
                    bytes(damaged[at : at + 20]),
                )
            )
        return bytes(damaged)

    def _nested(self) -> bytes:
        """Return a call with parameters, an id or a member of its own nested deep."""
        depth = self.random.choice((10, 100, 900, 1_100, 5_000, 50_000))
        opened, closed = self.random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"to":', b"}]")))
        value = opened * depth + self.random.choice((b"1", b"")) + closed * depth
        method = self._methods[self.random.randrange(len(self._methods))]["name"].encode()
        text = self.random.choice(
            (
                b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}',
                b'{"jsonrpc":"2.0","id":1,"method":"%b","params":[%b]}',
                b'{"jsonrpc":"2.0","method":"%b","id":%b}',
                b'{"jsonrpc":"2.0","id":1,"method":"%b","other":%b}',
                b'[{"jsonrpc":"2.0","id":1,"method":"%b","params":[]},%b]',
            )
        )
        return text % (method, value)

    def _encode(self, value: Any) -> bytes:
        text = json.dumps(value, ensure_ascii=self.random.random() < 0.7)
        return text.encode(errors="surrogatepass")
