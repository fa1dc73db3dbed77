"""Requests that break every rule there is, and some that break none, by the OpenRPC document of a node."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from eth_account import Account
from websockets.frames import Frame, Opcode

from entresol.server.websocket import WebSocketConnection
from tests.support.http_server import RawConnection

Json = dict[str, Any]

SLOWEST_SECONDS: Final = 600.0
"""Sealing the largest number of blocks of one request takes half a minute of a machine's undivided time."""
LEARNT_FROM: Final = 100_000
PARSE_ERROR: Final = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,'

IDS: Final = ("1", "0", "-7", '"a"', "null", "1.5", "1e3", "9" * 30, '"\\u0000"', '"é"')
TAGS: Final = ("latest", "pending", "earliest", "safe", "finalized", "committed", "l1_committed")
SCALARS: Final[tuple[object, ...]] = (
    None, True, False, 0, -0.0, 1, -1, 255, 2**31, 2**53 + 1, 2**64 - 1, 2**64, -(2**256), 0.5, 1e308,
    "", " ", "0", "0x", "0x0", "0X1", "1e3", *TAGS, "Latest", "null", "é", "٣", "\U0001d7d8x", "\x00", "\u202e",
    "x" * 5_000, "0x" + "f" * 5_000, "__class__",
)  # fmt: skip
NOT_JSON: Final = (float("inf"), float("nan"), 10**400, "\ud800", {"\udc00": 1})
"""What a lax writer makes: no number, a number without end, half a character."""
KEYS: Final = (
    "", "id", "from", "to", "data", "address", "topics", "fromBlock", "blockHash", "blockNumber", "blocks", "é",
    "0x" + "00" * 20,
)  # fmt: skip
QUANTITIES: Final = (
    0, 1, 2, 21_000, 100_000, 10**9, 10**18, 2**31, 2**53, 2**63 - 1, 2**64 - 1, 2**128, 2**255, 2**256 - 1,
)  # fmt: skip
# Programs of a few bytes: they loop, write, log, call, create, revert, destroy themselves, return a lot.
PROGRAMS: Final = (
    "", "00", "fe", "5b5f56", "60015f55", "365f5f37365fa0", "5f5ffd", "62ffffff5ff3", "5f5f5f5f5f305af1", "5f5f5ff0",
    "33ff", "3d3d3d3e", "ef0001", "60ff5f5260205ff3", "5f5f5f5f7301" + "00" * 19 + "5af4",
)  # fmt: skip
DAMAGES: Final = (
    b"", b'"', b"{", b"]", b",", b"\xff", b"\xed\xa0\x80", b"1e999", b'"id":2,', b"\\u", b"\\ud800",
)  # fmt: skip

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_HEX: Final = re.compile(rb'"(0x(?:[0-9a-f]{40}|[0-9a-f]{64}))"')


class Case(NamedTuple):
    """A body, and the id that its response must have if it is a call like any other."""

    body: bytes
    id: str | None = None


class Values:
    """Makes values that match a schema, or nearly; addresses and hashes that the node spoke of come back to it."""

    def __init__(self, choice: random.Random, components: Json) -> None:
        self.choice = choice
        self.addresses = ["0x" + byte * 20 for byte in ("00", "11", "ff")]
        self.addresses += [f"0x{number:040x}" for number in (1, 2, 4, 9, 0x8001, 0x8008, 0x800A)]
        self.hashes = ["0x" + "00" * 32, "0x" + "ab" * 32]
        self.transactions = ["0x", "0xc0", "0x02c0", "0x71c0"]
        self._components = components
        pick = choice.choice
        self._makers: dict[str, Callable[[], object]] = {
            "Address": lambda: pick(self.addresses),
            "Hash32": lambda: pick(self.hashes),
            "Data": lambda: pick((pick(self.transactions), "0x" + pick(PROGRAMS))),
            "Quantity": lambda: hex(pick(QUANTITIES)),
            "Quantity64": lambda: hex(pick(QUANTITIES[:11])),
            "Number": self._number,
            "BlockNumber": self._block_number,
            "BlockRef": lambda: pick((self._block_number(), pick(self.hashes))),
            "CallObject": lambda: self._call("CallObject"),
            "TransactionObject": lambda: self._call("TransactionObject"),
            "ByteArray": lambda: list(choice.randbytes(choice.randrange(40))),
        }

    def learn(self, text: str) -> None:
        """Record an address or a hash from a response; of too many, some are replaced."""
        kept = self.addresses if len(text) == 42 else self.hashes
        if len(kept) < 200:
            kept.append(text)
        else:
            kept[self.choice.randrange(10, 200)] = text

    def anything(self, depth: int = 4) -> Any:
        """Return any JSON value at all."""
        chance = self.choice.random()
        if chance < 0.01:
            return self.choice.choice(NOT_JSON)
        if depth == 0 or chance < 0.6:
            return self.choice.choice(SCALARS)
        size = self.choice.randrange(5)
        if chance < 0.8:
            return [self.anything(depth - 1) for _ in range(size)]
        return {self.choice.choice(KEYS): self.anything(depth - 1) for _ in range(size)}

    def named(self, name: str, schema: Json) -> Any:
        """Return a value for a parameter, whose name may say more than its schema."""
        chance = self.choice.random()
        if name == "txBytes" and chance < 0.8:
            raw = self.choice.choice(self.transactions)
            return self._spoilt(raw) if chance < 0.2 else raw
        if name == "kind" and chance < 0.8:
            return self.choice.choice(("newHeads", "logs", "newPendingTransactions", "syncing"))
        return self.near(schema)

    def near(self, schema: Json, depth: int = 6) -> Any:
        """Return a value that `schema` describes, or one that is a little off."""
        chance = self.choice.random()
        if chance < 0.02 or depth == 0:
            return self.anything(2)
        if chance < 0.03:
            return None
        value = self._right(schema, depth)
        return self._spoilt(value) if chance < 0.07 else value

    def _right(self, schema: Json, depth: int) -> Any:
        if "$ref" in schema:
            return self._right(self._components[schema["$ref"].rpartition("/")[2]], depth)
        maker = self._makers.get(schema.get("title", ""))
        if maker is not None:
            return maker()
        if "anyOf" in schema:
            return self._right(self.choice.choice(schema["anyOf"]), depth)
        match schema.get("type"):
            case "array":
                return [self.near(schema.get("items", {}), depth - 1) for _ in range(self._size())]
            case "object":
                return self._object(schema, depth)
            case "boolean":
                return self.choice.random() < 0.5
            case "integer" | "number":
                return self.choice.choice((0, 1, 7, 50, 99.9, 255, -1, 2**64))
            case "null":
                return None
            case "string":
                return self.choice.choice((self._block_number(), "newHeads", "logs"))
        return self.anything(3)

    def _object(self, schema: Json, depth: int) -> Json:
        required = (*schema.get("required", ()), "blockStateCalls", "calls")
        made = {
            name: self.near(inner, depth - 1)
            for name, inner in schema.get("properties", {}).items()
            if self.choice.random() < (0.95 if name in required else 0.25)
        }
        further = schema.get("additionalProperties")
        if isinstance(further, dict):
            keys = (*self.addresses, *self.hashes, "", "0x1")
            for _ in range(self._size()):
                made[self.choice.choice(keys)] = self.near(further, depth - 1)
        return made

    def _call(self, name: str) -> Json:
        """Return a call that mostly runs: what clients rarely send is rare."""
        pick = self.choice.choice
        members = {
            "from": pick(self.addresses),
            "to": pick(self.addresses),
            "data": "0x" + pick(PROGRAMS),
            "gas": hex(pick((21_000, 100_000, 1_000_000, 30_000_000, 2**63))),
            "value": hex(pick((0, 0, 1, 10**18, 2**256 - 1))),
        }
        kept = {key: value for key, value in members.items() if self.choice.random() < 0.6}
        if self.choice.random() < 0.4:
            kept |= self._object(self._components[name], 4)
        return kept

    def _spoilt(self, value: Any) -> Any:
        """Return nearly the same value."""
        pick = self.choice.choice
        if isinstance(value, str):
            at = self.choice.randrange(len(value) + 1)
            odd = pick(("g", " ", "-", "\x00", "é", "٣"))
            cut = value[:at], value[2:], value + "0", value.upper(), value[:at] + odd + value[at:]
            return pick((*cut, [value], {value: value}, "-" + value, value * 50))
        if isinstance(value, list):
            return pick((value * 20, value[:1] * 5, {"0": value}, [value], [*value, None]))
        if isinstance(value, dict):
            return value | {pick(KEYS): self.anything(2)} if value else [value]
        return pick((str(value), [value], -1, 2**70, 1.5))

    def _size(self) -> int:
        return self.choice.choice((0, 1, 1, 2, 3, 5))

    def _number(self) -> object:
        # Numbers of blocks to seal are numbers like any other: mostly few, or absurdly many.
        number = self.choice.choice((0, 1, 1, 2, 3, 5, 60, 2**40, 2**63, 2**64 - 1, 2**64))
        return self.choice.choice((number, str(number), hex(number), float(number)))

    def _block_number(self) -> str:
        numbers = (0, 1, 2, 5, 10, 100, 2**32, 2**64 - 1)
        return self.choice.choice((self.choice.choice(TAGS), hex(self.choice.choice(numbers))))


class Requests:
    """Makes bodies for the methods that an OpenRPC document describes."""

    def __init__(self, choice: random.Random, document: Json) -> None:
        self.choice = choice
        self.values = Values(choice, document["components"]["schemas"])
        self._methods = [*document["methods"]]
        self._methods += [method for method in document["methods"] if method["params"]] * 2

    def next(self) -> Case:
        """Return the next case: mostly calls, for what goes wrong behind the envelope is worth most."""
        chance = self.choice.random()
        if chance < 0.70:
            return self._call()
        if chance < 0.78:
            return Case(self._batch())
        if chance < 0.86:
            return Case(self._encode(self._envelope()))
        if chance < 0.91:
            return Case(self._encode(self.values.anything()))
        return Case(self._damaged(self._call().body))

    def _call(self) -> Case:
        """Return a call with proper envelope, whose parameters may be anything."""
        method, identity = self.choice.choice(self._methods), self.choice.choice(IDS)
        params = self._encode(self._params(method))
        text = b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}'
        return Case(text % (identity.encode(), method["name"].encode(), params), identity)

    def _params(self, method: Json) -> Any:
        chance = self.choice.random()
        if chance < 0.08:
            return self.values.anything()
        given = {
            param["name"]: self.values.named(param["name"], param["schema"])
            for param in method["params"]
        }
        if chance < 0.2:
            return given
        required = sum(1 for param in method["params"] if param.get("required"))
        keep = self.choice.randint(required if chance < 0.9 else 0, len(given))
        return list(given.values())[:keep]

    def _envelope(self) -> Json:
        """Return a call of which any member may be anything, or missing."""
        name = self.choice.choice(self._methods)["name"]
        members = {"jsonrpc": "2.0", "id": 1, "method": name, "params": []}
        for key in list(members):
            chance = self.choice.random()
            if chance < 0.25:
                members[key] = self.values.anything(3)
            elif chance < 0.35:
                del members[key]
        return members

    def _batch(self) -> bytes:
        items = [
            self._call().body if self.choice.random() < 0.7 else self._encode(self._envelope())
            for _ in range(self.choice.choice((0, 1, 2, 3, 8, 30)))
        ]
        return b"[" + b",".join(items) + b"]"

    def _damaged(self, body: bytes) -> bytes:
        """Replace, repeat or cut some bytes."""
        damaged = bytearray(body)
        for _ in range(self.choice.randint(1, 3)):
            at = self.choice.randrange(len(damaged) + 1)
            repeated = bytes(damaged[at : at + 20])
            damage = self.choice.choice((*DAMAGES, repeated))
            damaged[at : at + self.choice.randrange(4)] = damage
        return bytes(damaged)

    def _encode(self, value: Any) -> bytes:
        text = json.dumps(value, ensure_ascii=self.choice.random() < 0.7)
        return text.encode(errors="surrogatepass")


class Attack:
    """Sends hostile requests over HTTP, or over a WebSocket in any frames, and checks each response.

    `counts` has the code of each error, and 0 for each result.
    """

    def __init__(self, port: int, seed: int, *, over_websocket: bool) -> None:
        self.counts: Counter[int] = Counter()
        self._choice = random.Random(seed)
        self._http = RawConnection(port)
        self._http.socket.settimeout(SLOWEST_SECONDS)
        self._websocket: RawConnection | None = None
        if over_websocket:
            self._websocket = RawConnection(port)
            self._websocket.socket.settimeout(SLOWEST_SECONDS)
            assert self._websocket.open_websocket().status == 101
        self._requests = Requests(self._choice, self._call("rpc.discover"))
        self._requests.values.addresses += self._call("eth_accounts")
        self.check_that_it_works()

    def send(self, count: int) -> None:
        """Send so many requests; what is wrong with a response is raised with its request."""
        for _ in range(count):
            case = self._requests.next()
            status, _, response = self._http.post(case.body)
            if self._websocket is not None and case.id is not None:
                response = self._over_websocket(self._websocket, case.body)
            problem = "status" if status not in {200, 400} else self._problem(case, response)
            assert problem is None, f"{problem}: {case.body[:3_000]!r}\n{response[:1_000]!r}"
            for found in _HEX.findall(response[:LEARNT_FROM])[:3]:
                self._requests.values.learn(found.decode())

    def check_that_it_works(self) -> None:
        """Send a transaction from a new account, and see it sealed, whatever was set for blocks."""
        self._call("evm_setBlockGasLimit", 30_000_000)
        self._call("evm_setAutomine", True)
        self._call("evm_mine")
        account = Account.from_key(self._choice.randbytes(32))
        self._call("anvil_setBalance", account.address, hex(10**18))
        price = int(self._call("eth_gasPrice"), 16)
        fields = {"to": b"\x12" * 20, "value": 1, "gas": 100_000, "gasPrice": price, "chainId": 270}
        raw, *others = (
            "0x" + bytes(account.sign_transaction(fields | changed).raw_transaction).hex()
            for changed in ({"nonce": 0}, {"nonce": 1, "value": 2**200}, {"nonce": 3})
        )
        sent = self._call("eth_sendRawTransaction", raw)
        assert self._call("eth_getTransactionReceipt", sent)["status"] == "0x1"
        self._requests.values.transactions += [raw, *others]

    def close(self) -> None:
        """Hang up."""
        self._http.socket.close()
        if self._websocket is not None:
            self._websocket.socket.close()

    def _call(self, method: str, *params: object) -> Any:
        """Return the result of a call that must work."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(self._http.post(json.dumps(body).encode()).body)["result"]

    def _over_websocket(self, client: RawConnection, body: bytes) -> bytes:
        """Send a call whole or in fragments, with pings in between, and return its response."""
        cuts = sorted(self._choice.randint(0, len(body)) for _ in range(self._choice.randrange(4)))
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
        frames, opcode = b"", Opcode.BINARY
        for number, piece in enumerate(pieces, 1):
            frames += Frame(opcode, piece, fin=number == len(pieces)).serialize(mask=True)
            frames += Frame(Opcode.PING, b"").serialize(mask=True)
            opcode = Opcode.CONT
        # The rate of small frames is not what is tested: below it, nothing happens.
        time.sleep(2 * len(pieces) / WebSocketConnection.small_frames_per_second)
        client.send(frames)
        while True:
            opcode, data = client.frame()
            assert opcode is not Opcode.CLOSE, (data, body[:3_000])
            if opcode is Opcode.BINARY:
                return data

    def _problem(self, case: Case, response: bytes) -> str | None:
        """Return what is wrong with the response to a case, or None."""
        if not response:
            return None if case.id is None else "no response to a call"
        decoded = json.loads(response.decode(), parse_constant=_reject)
        for item in decoded if isinstance(decoded, list) else [decoded]:
            problem = problem_of(item)
            if problem is not None:
                return problem
            self.counts[item["error"]["code"] if "error" in item else 0] += 1
        if case.id is None or response.startswith(b'{"jsonrpc":"2.0","id":%b,' % case.id.encode()):
            return None
        is_rejected = response.startswith(PARSE_ERROR) and not is_json(case.body)
        return None if is_rejected else "another id"


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
        return "not a response of JSON-RPC 2.0"
    if set(item) not in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}):
        return "members of a response"
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
