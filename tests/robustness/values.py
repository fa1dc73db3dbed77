"""Unexpected JSON values, and values that nearly match a schema."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]

SCALARS: Final[tuple[object, ...]] = (
    None, True, False, 0, -0.0, 1, -1, 7, 255, 2**31, 2**53 + 1, 2**63, 2**64 - 1, 2**64, 2**256, -(2**256),
    0.5, 1e308, "", " ", "0", "0x", "0x0", "0X1", "1e3",
    "latest", "pending", "earliest", "safe", "finalized", "committed", "l1_committed", "Latest", "null", "true",
    "é", "٣", "\U0001d7d8x\U0001d7d9", "\x00", "\u202e", "x" * 5_000, "0x" + "f" * 5_000, "__class__", "../etc",
)  # fmt: skip

NOT_JSON: Final = (
    float("inf"),
    float("-inf"),
    float("nan"),
    10**400,
    "\ud800",
    "a\udfffb",
    {"\udc00": 1},
)
"""What a lax writer makes: no number, a number without end, half a character."""

KEYS: Final = (
    "", "id", "from", "to", "data", "input", "address", "topics", "fromBlock", "toBlock", "blockHash",
    "blockNumber", "requireCanonical", "timestamp", "blocks", "constructor", "é", "0x" + "00" * 20,
)  # fmt: skip

QUANTITIES: Final = (
    0, 1, 2, 3, 21_000, 100_000, 10**9, 10**18, 2**31, 2**53, 2**63 - 1, 2**64 - 1, 2**128, 2**255, 2**256 - 1,
)  # fmt: skip

EXTREMES: Final = (
    0, 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**255, 2**256 - 1,
)  # fmt: skip

TAGS: Final = ("latest", "pending", "earliest", "safe", "finalized", "committed", "l1_committed")

# Programs of a few bytes: they loop, write, log, call, create, revert, destroy themselves, return a lot.
PROGRAMS: Final = (
    "", "00", "fe", "5b5f56", "60015f55", "365f5f37365fa0", "5f5ffd", "62ffffff5ff3", "5f5f5f5f5f305af1", "5f5f5ff0",
    "33ff", "3d3d3d3e", "ef0001", "60ff5f5260205ff3", "5f35545f526020" + "5ff3", "5f5f5f5f7301" + "00" * 19 + "5af4",
)  # fmt: skip


class Values:
    """Makes values. Addresses and hashes that the node spoke of come back to it."""

    def __init__(self, randomness: random.Random, components: Json) -> None:
        self.random = randomness
        self.addresses = ["0x" + byte * 20 for byte in ("00", "11", "ff")]
        self.addresses += [f"0x{number:040x}" for number in (1, 2, 4, 9, 0x8001, 0x8008, 0x800A)]
        self.hashes = ["0x" + "00" * 32, "0x" + "ab" * 32]
        self.transactions = ["0x", "0xc0", "0x02c0", "0x71c0"]
        self._components = components
        self._makers: dict[str, Callable[[], object]] = {
            "Address": lambda: self._pick(self.addresses),
            "Hash32": lambda: self._pick(self.hashes),
            "Data": self._data,
            "Quantity": self._quantity,
            "Quantity64": self._quantity64,
            "Number": self._number,
            "BlockNumber": self._block_number,
            "BlockRef": self._block,
            "CallObject": lambda: self._call("CallObject"),
            "TransactionObject": lambda: self._call("TransactionObject"),
            "ByteArray": lambda: list(self.random.randbytes(self.random.randrange(40))),
            "FilterObject": self._log_filter,
            "MineRequest": self._mine_request,
            "TypedDataObject": self._typed_data,
        }

    def learn(self, text: str) -> None:
        """Record an address or a hash from a response; of too many, some are replaced."""
        kept = {42: self.addresses, 66: self.hashes}.get(len(text))
        if kept is None or not text.startswith("0x"):
            return
        if len(kept) < 200:
            kept.append(text)
        else:
            kept[self.random.randrange(10, 200)] = text

    def anything(self, depth: int = 4) -> Any:
        """Return any JSON value at all."""
        chance = self.random.random()
        if chance < 0.01:
            return self._pick(NOT_JSON)
        if depth == 0 or chance < 0.6:
            return self._pick(SCALARS) if chance < 0.4 else self._leaf()
        size = self.random.randrange(5)
        if chance < 0.8:
            return [self.anything(depth - 1) for _ in range(size)]
        return {self._pick(KEYS): self.anything(depth - 1) for _ in range(size)}

    def named(self, name: str, schema: Json) -> Any:
        """Return a value for the parameter `name`, of which that may say more than its schema."""
        chance = self.random.random()
        if name == "txBytes" and chance < 0.8:
            raw = self._pick(self.transactions)
            return self._spoilt(raw) if chance < 0.2 else raw
        if name == "kind" and chance < 0.8:
            return self._pick(("newHeads", "logs", "newPendingTransactions", "syncing"))
        if name == "idx" and chance < 0.5:
            return self._pick(self.hashes)
        return self.near(schema)

    def extreme(self, name: str) -> Json:
        """Return a sound object of the kind `name` with at most one member at the end of its range."""
        made: Json = {}
        if name in {"CallObject", "TransactionObject"}:
            made = {"from": self._pick(self.addresses[-12:]), "to": self._pick(self.addresses)}
        if self.random.random() < 0.5:
            key, schema = self._pick(list(self._components[name]["properties"].items()))
            made[key] = self._right(schema, 4)
            if "Quantity" in str(schema):
                made[key] = hex(self._pick(EXTREMES))
        return made

    def near(self, schema: Json, depth: int = 6) -> Any:
        """Return a value that `schema` describes, or one that is a little off."""
        chance = self.random.random()
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
            return self._right(self._pick(schema["anyOf"]), depth)
        match schema.get("type"):
            case "array":
                return [self.near(schema.get("items", {}), depth - 1) for _ in range(self._size())]
            case "object":
                return self._object(schema, depth)
            case "boolean":
                return self.random.random() < 0.5
            case "integer" | "number":
                return self._pick((0, 1, 7, 50, 99.9, 255, -1, 2**64))
            case "null":
                return None
            case "string":
                return self._pick(
                    (self._block_number(), self._pick(self.hashes), "newHeads", "logs")
                )
        return self.anything(3)

    def _object(self, schema: Json, depth: int) -> Json:
        required = (*schema.get("required", ()), "blockStateCalls", "calls")
        made = {
            name: self.near(inner, depth - 1)
            for name, inner in schema.get("properties", {}).items()
            if self.random.random() < (0.95 if name in required else 0.25)
        }
        further = schema.get("additionalProperties")
        if isinstance(further, dict):
            keys = (*self.addresses, *self.hashes, "", "0x1", "1")
            made |= {self._pick(keys): self.near(further, depth - 1) for _ in range(self._size())}
        return made

    def _spoilt(self, value: Any) -> Any:
        """Return nearly the same value."""
        if isinstance(value, str):
            at = self.random.randrange(len(value) + 1)
            odd = self._pick(("g", " ", "_", "-", "\x00", "é", "٣"))
            cut = value[:at], value[2:], value + "0", value.upper(), value[:at] + odd + value[at:]
            return self._pick((*cut, [value], {value: value}, "-" + value, value * 50))
        if isinstance(value, list):
            return self._pick((value * 20, value[:1] * 5, {"0": value}, [value], [*value, None]))
        if isinstance(value, dict):
            return value | {self._pick(KEYS): self.anything(2)} if value else [value]
        return self._pick((str(value), [value], -1, 2**70, 1.5))

    def _pick(self, items: Any) -> Any:
        return items[self.random.randrange(len(items))]

    def _size(self) -> int:
        return self.random.choice((0, 1, 1, 2, 3, 5))

    def _leaf(self) -> object:
        return self._pick((self._quantity, self._block_number, self._data, self._number))()

    def _quantity(self) -> str:
        return hex(
            self._pick(QUANTITIES) if self.random.random() < 0.7 else self.random.getrandbits(70)
        )

    def _quantity64(self) -> str:
        return hex(self._pick(QUANTITIES[:12]))

    def _block(self) -> object:
        chance = self.random.random()
        if chance < 0.7:
            return self._block_number()
        if chance < 0.8:
            return self._pick(self.hashes)
        key = self._pick(("blockHash", "blockNumber"))
        value = self._pick(self.hashes) if key == "blockHash" else self._block_number()
        return {key: value, "requireCanonical": chance < 0.9}

    def _call(self, name: str) -> Json:
        """Return a call that mostly runs: what clients rarely send is rare."""
        members = {
            "from": self._pick(self.addresses),
            "to": self._pick(self.addresses),
            "data": "0x" + self._pick(PROGRAMS),
            "gas": hex(self._pick((21_000, 100_000, 1_000_000, 30_000_000, 2**63))),
            "value": hex(self._pick((0, 0, 1, 10**18, 2**256 - 1))),
        }
        kept = {key: value for key, value in members.items() if self.random.random() < 0.6}
        if self.random.random() < 0.4:
            kept |= self._object(self._components[name], 4)
        return kept

    def _number(self) -> object:
        # Numbers of blocks to seal are numbers like any other: mostly few, or absurdly many.
        number = self._pick((0, 1, 1, 2, 3, 5, 60, 2**40, 2**63, 2**64 - 1, 2**64))
        return self._pick((number, str(number), hex(number), float(number)))

    def _block_number(self) -> str:
        if self.random.random() < 0.4:
            return self.random.choice(TAGS)
        return hex(self.random.choice((0, 1, 2, 5, 10, 100, 2**32, 2**64 - 1)))

    def _data(self) -> str:
        chance = self.random.random()
        if chance < 0.3:
            return self.random.choice(self.transactions)
        if chance < 0.8:
            return "0x" + self.random.choice(PROGRAMS)
        return "0x" + self.random.randbytes(self.random.choice((1, 4, 20, 32, 65, 3_000))).hex()

    def _log_filter(self) -> Json:
        topic = {"title": "Hash32"}
        topics = {
            "type": "array",
            "items": {"anyOf": [topic, {"type": "null"}, {"type": "array", "items": topic}]},
        }
        address = {
            "anyOf": [{"title": "Address"}, {"type": "array", "items": {"title": "Address"}}]
        }
        block = {"title": "BlockNumber"}
        properties = {
            "fromBlock": block,
            "toBlock": block,
            "address": address,
            "topics": topics,
            "blockHash": topic,
        }
        return self._object({"properties": properties}, 4)

    def _mine_request(self) -> object:
        number = {"title": "Number"}
        if self.random.random() < 0.5:
            return self._number()
        return self._object({"properties": {"timestamp": number, "blocks": number}}, 2)

    def _typed_data(self) -> Json:
        kinds = (
            "uint256",
            "int8",
            "address",
            "bytes",
            "bytes32",
            "string",
            "bool",
            "Mail",
            "Mail[]",
            "uint7",
            "uint256[2][]",
            "nothing",
        )
        member = {"name": self._pick(("a", "b", "", "a b")), "type": self._pick(kinds)}
        typed = {
            "types": {
                "EIP712Domain": [{"name": "name", "type": "string"}],
                "Mail": [member] * self._size(),
            },
            "primaryType": self._pick(("Mail", "EIP712Domain", "Other")),
            "domain": {"name": self._pick(("x", 1, None))},
            "message": {"a": self.anything(3), "b": self._quantity(), "": "0x"},
        }
        for name in list(typed):
            if self.random.random() < 0.05:
                typed[name] = self.anything(3)
        return typed
