"""A remote whose responses were recorded, one of which may be changed: no network, no process and no clock.

`python -m tests.support.fork.verified.record_anvil` records them anew from a real anvil.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from entresol.errors import RemoteFailed, RemoteRejected
from entresol.fork.block_reads import BlockReads
from entresol.fork.cache.fork_cache import ForkCache
from entresol.fork.past_blocks import PastBlocks
from entresol.fork.settings import ForkSettings
from entresol.fork.starting import OpenedRemote, open_remote
from entresol.fork.state_fetch import FetchedAccount, StateKey
from entresol.fork.transport.client import ForkClient, Guard, Outcome
from entresol.fork.transport.envelopes import Call
from entresol.fork.verify.verified_reads import VerifiedReads
from entresol.primitives.values import Hash32

RECORDED: Final = Path(__file__).with_name("recorded_anvil.json")

Response: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]
"""A method, and its parameters as JSON."""
Path_: TypeAlias = tuple[str | int, ...]


class Query(NamedTuple):
    """Something that is read of a fork: the result of a method, or with `keys`, values of the state after a block."""

    method: str
    params: tuple[Any, ...]
    keys: tuple[StateKey, ...] = ()

    def __str__(self) -> str:
        keys = " ".join(key[1].hex()[:4] for key in self.keys)
        return f"{self.method} {json.dumps(self.params)} {keys}".strip()


class RecordedClient:
    """Stands for a `ForkClient`: responds from a table, and notes what it was asked."""

    host = "http://recorded:8545"
    batch_size = 100

    def __init__(self, respond: Callable[[str, list[Any]], Response]) -> None:
        self._respond = respond
        self.asked: set[Key] = set()

    async def request(
        self, method: str, *params: object, guard: Guard | None = None, max_bytes: int = 0
    ) -> msgspec.Raw:
        """Return a result, or raise the error of the response."""
        (outcome,) = await self.ask([Call(method, params)], guard=guard, max_bytes=max_bytes)
        if isinstance(outcome, RemoteFailed):
            raise outcome
        return outcome

    async def ask(
        self, calls: Sequence[Call], *, guard: Guard | None = None, max_bytes: int = 0
    ) -> list[Outcome]:
        """Return the outcomes of calls; the guard is asked with them."""
        del max_bytes
        if guard is not None:
            guard[1](cast("msgspec.Raw", self._outcome(guard[0])))
        return [self._outcome(call) for call in calls]

    def _outcome(self, call: Call) -> Outcome:
        params = msgspec.json.decode(msgspec.json.encode(call.params))
        self.asked.add(key_of(call.method, params))
        response = self._respond(call.method, params)
        if "error" in response:
            error = response["error"]
            return RemoteRejected(self.host, call.method, error["code"], error["message"])
        return msgspec.Raw(msgspec.json.encode(response["result"]))


class Values:
    """Takes what is read of a state; the first failure is raised in the end."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.failure: RemoteFailed | None = None

    def put_accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        """Take accounts."""
        for address, it in accounts.items():
            self.found[address.hex()] = (it.nonce, it.balance, it.code.hex())

    def put_slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        """Take slots."""
        for (address, slot), value in slots.items():
            self.found[f"{address.hex()} {slot.hex()}"] = value.hex()

    def fail(self, keys: Sequence[StateKey], error: RemoteFailed) -> None:
        """Take a failure."""
        del keys
        self.failure = error


def key_of(method: str, params: Sequence[Any]) -> Key:
    """Return what a response is recorded by."""
    return method, json.dumps(params, sort_keys=True)


class VerifiedFork:
    """Reads of a fork that verifies. `started` is what an earlier start of the same remote has found."""

    def __init__(self, client: RecordedClient, started: OpenedRemote) -> None:
        given, past = cast("ForkClient", client), started.past
        fresh = PastBlocks(given, past.anchor, None, verify=True)
        fresh.first_recent = past.first_recent
        fresh.take_hashes(past.recent_hashes())
        opened = msgspec.structs.replace(started, past=fresh)
        self._reads = BlockReads(given, ForkCache.memory(), opened)
        self._proven = VerifiedReads(given, fresh, self._reads.block_hashes)

    async def read(self, query: Query) -> Any:
        """Return what is proven."""
        if not query.keys:
            raw = await self._reads.read(query.method, query.params, None, self._proven)
            return msgspec.json.decode(raw)
        fetch, values = await self._reads.fetch(query.params[0]), Values()
        assert fetch is not None
        await fetch.read(query.keys, values)
        if values.failure is not None:
            raise values.failure
        return values.found


async def started(client: RecordedClient, anchor: Hash32) -> OpenedRemote:
    """Start a fork that verifies, on a block that the user has pinned."""
    settings = ForkSettings(urls=(client.host,), verify=True, block_hash=anchor)
    return await open_remote(settings, ForkCache.memory(), cast("ForkClient", client))


def changes(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, str, Any]]:
    """Yield each single change of a JSON value: where it is, what it is, and the changed value."""
    if isinstance(value, dict):
        for name, member in value.items():
            without = {k: it for k, it in value.items() if k != name}
            # In turns: both mean that there is none.
            yield (*path, name), "removed", without if len(name) % 2 else without | {name: None}
            for at, what, changed in changes(member, (*path, name)):
                yield at, what, {**value, name: changed}
    elif isinstance(value, list):
        yield path, "longer", [*value, value[-1] if value else "0x1"]
        if value:
            yield path, "shorter", value[:-1]
        for n, member in enumerate(value):
            for at, what, changed in changes(member, (*path, n)):
                yield at, what, [*value[:n], changed, *value[n + 1 :]]
    else:
        yield path, "changed", _other(value)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if value.startswith("0x") and len(value) > 2:
            return value[:-1] + ("1" if value[-1] != "1" else "2")
        case "0x":
            return "0x01"
        case None:
            return "0x" + "77" * 20
        case _:
            return f"{value}1"


class Recorded(NamedTuple):
    """Requests, the responses that it takes, and what the remote itself responds to the queries."""

    anchor: Hash32
    queries: list[Query]
    responses: dict[Key, Response]
    own: dict[str, Any]


def recorded() -> Recorded:
    """Return what was recorded."""
    found = json.loads(RECORDED.read_text(encoding="utf-8"))
    responses = {
        key_of(method, params): response for method, params, response in found["responses"]
    }
    queries = [_query(*query) for query in found["queries"]]
    return Recorded(Hash32.parse(found["anchor"]), queries, responses, found["own"])


def _query(method: str, params: list[Any], keys: list[list[str]]) -> Query:
    parsed = [(kind, *(bytes.fromhex(line) for line in rest)) for kind, *rest in keys]
    return Query(method, tuple(params), cast("tuple[StateKey, ...]", tuple(parsed)))


def respond_from(
    responses: dict[Key, Response], *, has_others: bool = False
) -> Callable[[str, list[Any]], Response]:
    """Return how a table responds; `has_others` lets it have nothing for what was not recorded."""

    def respond(method: str, params: list[Any]) -> Response:
        key = key_of(method, params)
        if key not in responses and not has_others:
            raise AssertionError(
                f"{key} was not recorded: run python -m tests.support.fork.verified.record_anvil"
            )
        return responses.get(key, {"result": None})

    return respond
