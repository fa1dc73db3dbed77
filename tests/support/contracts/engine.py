"""Contracts on the project's engine: deployed, called, and their results and errors decoded by their ABI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import abi

from entresol import contracts
from entresol._native import (
    BlockEnv,
    Checks,
    ExecutionResult,
    Overlay,
    Rules,
    Snapshot,
    TxEnv,
    execute,
    keccak256,
)
from entresol.contracts import Artifact
from entresol.primitives.values import Address, Hash32, create_address
from tests.support.evm.in_memory_state import InMemoryState

if TYPE_CHECKING:
    from entresol._native import Log

L1_CHAIN_ID = 31337
NOW = 1_800_000_000
GWEI = 10**9
ETHER = 10**18
GAS_LIMIT = 10_000_000

_ARTIFACTS = Path(__file__).parents[2] / "contracts" / "artifacts"
_CHECKS = Checks(base_fee=False, fees=False, nonce=False, sender_code=False)


class Reverted(Exception):  # noqa: N818 - named for what happened
    """A call reverted, with one of the errors that the contracts declare."""

    def __init__(self, error: str, *args: object) -> None:
        super().__init__(error, *args)
        self.error = error

    def __str__(self) -> str:
        return f"{self.error}({', '.join(map(str, self.args[1:]))})"


@contextmanager
def reverted(*args: object) -> Iterator[None]:
    with pytest.raises(Reverted) as raised:
        yield
    assert raised.value.args == args


@dataclass(frozen=True)
class Event:
    """An event, as the interface of its contract reads it."""

    address: Address
    name: str
    fields: dict[str, Any]
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True)
class Done:
    """The output, the logs and the gas of a transaction."""

    output: bytes
    logs: list[Log]
    gas_used: int


@dataclass(frozen=True)
class Contract:
    address: Address
    artifact: Artifact

    def encode(self, function: str, *arguments: object) -> bytes:
        """Return the data of a call; a signature distinguishes functions of one name."""
        entry = self._function(function)
        return selector(entry) + abi.encode(types(entry["inputs"]), arguments)

    def decode(self, function: str, output: bytes) -> Any:
        """Return what a call returned: a value if there is one, else a tuple."""
        values = abi.decode(types(self._function(function)["outputs"]), output)
        return values[0] if len(values) == 1 else values

    def defaults(self, function: str) -> list[Any]:
        return [_default(field) for field in self._function(function)["inputs"]]

    def _function(self, name: str) -> dict[str, Any]:
        found = [
            entry
            for entry in self.artifact.abi
            if entry["type"] == "function" and name in (entry["name"], signature(entry))
        ]
        (entry,) = found
        return entry


def _default(field: dict[str, Any]) -> Any:
    kind = field["type"]
    if kind.endswith("[]"):
        return []
    if kind == "tuple":
        return tuple(_default(inner) for inner in field["components"])
    if kind.endswith("]"):
        return [0] * int(kind.partition("[")[2][:-1])
    if kind.startswith("bytes"):
        return bytes(int(kind.removeprefix("bytes") or 0))
    return {"address": Address.zero(), "bool": False, "string": ""}.get(kind, 0)


class Engine:
    """A chain of one endless block: the changes of each transaction stay."""

    def __init__(self, overlay: Overlay | None = None, *, timestamp: int = NOW) -> None:
        self.overlay = Overlay(Snapshot(InMemoryState())) if overlay is None else overlay
        self.timestamp = timestamp
        self.gas_price = GWEI
        self.gas_limit = GAS_LIMIT
        self.chain_id = L1_CHAIN_ID
        self.last: Done | None = None

    def fork(self) -> Engine:
        forked = Engine(self.overlay.fork(), timestamp=self.timestamp)
        forked.chain_id = self.chain_id
        return forked

    def deploy(self, name: str, *arguments: object, sender: Address) -> Contract:
        artifact = find(name)
        constructor = [entry for entry in artifact.abi if entry["type"] == "constructor"]
        inputs = constructor[0]["inputs"] if constructor else []
        data = artifact.bytecode + abi.encode(types(inputs), arguments)
        nonce = self.nonce(sender)
        self._run(sender, None, data, 0)
        return Contract(create_address(sender, nonce), artifact)

    def send(
        self, sender: Address, contract: Contract, function: str, *arguments: object, value: int = 0
    ) -> Any:
        data = contract.encode(function, *arguments)
        return contract.decode(function, self._run(sender, contract.address, data, value).output)

    def send_data(self, sender: Address, to: Address | None, data: bytes, value: int = 0) -> bytes:
        return self._run(sender, to, data, value).output

    def read(self, contract: Contract, function: str, *arguments: object) -> Any:
        return self.fork().send(Address(b"\xee" * 20), contract, function, *arguments)

    def events(self, *known: Contract) -> list[Event]:
        """Return the events of the last transaction, those of unknown contracts left out."""
        assert self.last is not None
        by_address = {contract.address: contract.artifact for contract in known}
        return [
            event(Address(address), topics, data, by_address[Address(address)])
            for address, topics, data in self.last.logs
            if address in by_address
        ]

    def event(self, contract: Contract, name: str) -> Event:
        (found,) = (event for event in self.events(contract) if event.name == name)
        return found

    def balance(self, address: Address) -> int:
        account = self.overlay.account(address)
        return 0 if account is None else account.balance

    def nonce(self, address: Address) -> int:
        account = self.overlay.account(address)
        return 0 if account is None else account.nonce

    def _run(self, sender: Address, to: Address | None, data: bytes, value: int) -> Done:
        outcome = execute(
            self.overlay,
            Rules(self.chain_id),
            BlockEnv(number=1, timestamp=self.timestamp, gas_limit=max(GAS_LIMIT, self.gas_limit)),
            TxEnv(
                sender=sender,
                to=to,
                data=data,
                value=value,
                gas_limit=self.gas_limit,
                gas_price=self.gas_price,
                nonce=self.nonce(sender),
            ),
            checks=_CHECKS,
        )
        if outcome.status != "success":
            raise _rejection(outcome)
        self.overlay.apply(outcome)
        self.last = Done(outcome.output, outcome.logs, outcome.gas_used)
        return self.last


@cache
def find(name: str) -> Artifact:
    """Return a contract of the package, or one that only tests have."""
    if name in contracts.names():
        return contracts.artifact(name)
    return contracts.decode((_ARTIFACTS / f"{name}.json").read_bytes())


def type_of(field: dict[str, Any]) -> str:
    if not field["type"].startswith("tuple"):
        return str(field["type"])
    inner = ",".join(types(field["components"]))
    return f"({inner}){field['type'].removeprefix('tuple')}"


def types(fields: list[dict[str, Any]]) -> list[str]:
    return [type_of(field) for field in fields]


def signature(entry: dict[str, Any]) -> str:
    return f"{entry['name']}({','.join(types(entry['inputs']))})"


def selector(entry: dict[str, Any]) -> bytes:
    return keccak256(signature(entry).encode())[:4]


def topic(entry: dict[str, Any]) -> bytes:
    return keccak256(signature(entry).encode())


def event(address: Address, topics: tuple[bytes, ...], data: bytes, artifact: Artifact) -> Event:
    (entry,) = [
        entry for entry in artifact.abi if entry["type"] == "event" and topic(entry) == topics[0]
    ]
    plain = [field for field in entry["inputs"] if not field["indexed"]]
    indexed = [field for field in entry["inputs"] if field["indexed"]]
    fields = dict(
        zip((line["name"] for line in plain), abi.decode(types(plain), data), strict=True)
    )
    for field, word in zip(indexed, topics[1:], strict=True):
        fields[field["name"]] = abi.decode([type_of(field)], word)[0]
    return Event(address, entry["name"], fields, topics, data)


def error_of(output: bytes) -> Reverted:
    entry = _errors().get(output[:4])
    if entry is None:
        return Reverted("unknown", output)
    return Reverted(entry["name"], *abi.decode(types(entry["inputs"]), output[4:]))


def _rejection(outcome: ExecutionResult) -> Reverted:
    if outcome.status == "halt":
        return Reverted("halt", outcome.reason)
    return error_of(outcome.output) if outcome.output else Reverted("nothing")


@cache
def _errors() -> dict[bytes, dict[str, Any]]:
    names = [*contracts.names(), *(path.stem for path in _ARTIFACTS.glob("*.json"))]
    declared = (entry for name in names for entry in find(name).abi if entry["type"] == "error")
    return {selector(entry): entry for entry in declared}


ALIAS_OFFSET = 0x1111000000000000000000000000000000001111


def alias(l1_contract: Address) -> Address:
    return Address(((int.from_bytes(l1_contract) + ALIAS_OFFSET) % 2**160).to_bytes(20))


def create2_address(creator: Address, salt: Hash32, init_code: bytes) -> Address:
    return Address(keccak256(b"\xff" + creator + salt + keccak256(init_code))[12:])
