"""The start of a fork: find its anchor, learn what the remote serves, or take both from the cache."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, TypeVar

import msgspec

from entresol.errors import (
    AnchorMismatch,
    ProofsUnavailable,
    RemoteFailed,
    RemoteMalformed,
    RemoteTimeout,
    RemoteUnreachable,
)
from entresol.execution.system_calls import HISTORY_STORAGE
from entresol.fork import results
from entresol.fork.anchoring import BY_HASH, RemoteStart, block_at, find_start
from entresol.fork.block_names import RemoteBlock, Served, probes, served
from entresol.fork.cache.cache import ForkCache
from entresol.fork.cache.places import WantedFork
from entresol.fork.cache.rows import Fork, StartAnswers
from entresol.fork.hardforks import hardfork_of
from entresol.fork.past_blocks import MAX_RECENT, PastBlocks
from entresol.fork.settings import ForkSettings
from entresol.fork.transport.client import ForkClient, Outcome
from entresol.fork.transport.envelopes import Call
from entresol.fork.verify import check_header
from entresol.primitives.anchor import Anchor

T = TypeVar("T")

logger = logging.getLogger(__name__)

_FINALIZED: Final = "finalized"
_CONFIG: Final = "eth_config"
_HISTORY: Final = "history"
_STARTS: Final = 3
"""How often a start is tried if the remote reorganises meanwhile."""


class StateNames:
    """Which names of blocks the remote takes, and whether it proves states: asked once, when it is needed.

    Remembers: what it serves. Fails: with `RemoteFailed`, and asks again the next time.
    """

    def __init__(self, client: ForkClient, block: RemoteBlock, settings: ForkSettings) -> None:
        self._client = client
        self._block = block
        self._by_number = settings.by_number
        self._verify = settings.verify
        self._served: Served | None = None
        self._asking = asyncio.Lock()

    async def served(self) -> Served:
        """Return what the remote serves."""
        async with self._asking:
            if self._served is None:
                self.take(await self._client.ask(probes(self._block)))
            assert self._served is not None
            return self._served

    def forget(self) -> None:
        """Ask again: another remote may serve something else."""
        self._served = None

    def take(self, outcomes: list[Outcome]) -> None:
        """Take the outcomes of `probes`."""
        found = served(self._client, self._block, outcomes, by_number=self._by_number)
        if self._verify and not found.proofs:
            raise ProofsUnavailable(self._client.host, found.proof_problem)
        self._served = found


class OpenedRemote(msgspec.Struct, frozen=True):
    """What a start has found."""

    anchor: Anchor
    block: RemoteBlock
    past: PastBlocks
    hardfork: str
    has_history: bool
    """Whether the contract of EIP-2935 is in the state after the anchor."""
    names: StateNames | None = None
    """None without a remote."""
    verify: bool = False


async def open_remote(
    settings: ForkSettings, cache: ForkCache, client: ForkClient | None
) -> OpenedRemote:
    """Return what a start needs: what an earlier one has cached, if it is the same fork, else what the remote says."""
    number = settings.block_number
    wanted = WantedFork(
        settings.chain_id,
        number if number is not None and number >= 0 else None,
        settings.block_hash,
    )
    known = cache.start(wanted)
    if known is not None:
        opened = _known(settings, cache, client, known)
        if client is not None:
            await _compare(client, opened.anchor)
        return opened
    assert client is not None, "without a remote the cache has it, or has raised"
    for attempt in range(_STARTS):
        start = await find_start(client, settings)
        try:
            return await _fresh(settings, cache, client, start)
        except RemoteMalformed:
            # Blocks that are not linked: the remote has replaced some between two requests, or it lies.
            if attempt == _STARTS - 1:
                raise
    raise AssertionError("unreachable")


async def check_same(client: ForkClient, anchor: Anchor) -> None:
    """Raise `AnchorMismatch` unless the chain behind a client has the anchor."""
    calls = [Call("eth_chainId", ()), Call(BY_HASH, (str(anchor.hash), False))]
    chain_id, found = await client.ask(calls)
    if isinstance(chain_id, RemoteFailed):
        raise chain_id
    actual = results.decoded(client.host, "eth_chainId", chain_id, results.chain_id)
    if actual != anchor.chain_id:
        raise AnchorMismatch(f"the chain id of {client.host}", anchor.chain_id, actual)
    if isinstance(found, RemoteFailed):
        raise found
    block = results.described_block(client.host, BY_HASH, found, hash_is=anchor.hash)
    if block is None:
        other = await block_at(client, anchor.number)
        what = f"block {anchor.number} of {client.host}"
        raise AnchorMismatch(what, anchor.hash, other.hash)


async def _compare(client: ForkClient, anchor: Anchor) -> None:
    """Check that the remote still has the anchor; one that is away does not matter: what was read is served."""
    try:
        await check_same(client, anchor)
    except (RemoteUnreachable, RemoteTimeout) as error:
        logger.warning("%s; what was read of it before is served", error)


async def _fresh(
    settings: ForkSettings, cache: ForkCache, client: ForkClient, start: RemoteStart
) -> OpenedRemote:
    described = start.anchor
    anchor = Anchor.of_json(start.chain_id, described.json)
    block = RemoteBlock(described.number, described.hash, described.header.state_root)
    if settings.verify:
        check_header(client.host, described)
    past = PastBlocks(client, described, start.finalized)
    names = StateNames(client, block, settings)
    history = Call("eth_getCode", (str(HISTORY_STORAGE), hex(block.number)))
    state = [*probes(block), history]
    outcomes = await client.ask([*state, *past.recent_calls()])
    names.take(outcomes[: len(state) - 1])
    past.take_recent(outcomes[len(state) :])
    has_history = _is_code(outcomes[len(state) - 1])
    answers = {
        _FINALIZED: msgspec.json.encode(start.finalized),
        _HISTORY: msgspec.json.encode(has_history),
        _CONFIG: start.config or b"null",
    }
    fork = Fork(start.chain_id, described.number, bytes(described.hash))
    cache.put_start(StartAnswers(fork, described.json, answers))
    cache.put_hashes(dict(past.recent_hashes()))
    hardfork = hardfork_of(start.chain_id, described.header, start.config)
    return OpenedRemote(anchor, block, past, hardfork, has_history, names, settings.verify)


def _known(
    settings: ForkSettings, cache: ForkCache, client: ForkClient | None, known: StartAnswers
) -> OpenedRemote:
    """Return a start from the cache."""
    described = results.described_block("the cache", BY_HASH, known.anchor)
    assert described is not None
    anchor = Anchor.of_json(known.fork.chain_id, known.anchor)
    block = RemoteBlock(described.number, described.hash, described.header.state_root)
    if settings.verify:
        check_header("the cache", described)
    past = PastBlocks(client, described, _answer(known, _FINALIZED, int))
    lowest = max(described.number - MAX_RECENT, 0)
    past.take_hashes(cache.hashes(range(lowest, described.number)))
    names = None if client is None else StateNames(client, block, settings)
    hardfork = hardfork_of(known.fork.chain_id, described.header, known.answers.get(_CONFIG))
    has_history = bool(_answer(known, _HISTORY, bool))
    return OpenedRemote(anchor, block, past, hardfork, has_history, names, settings.verify)


def _answer(known: StartAnswers, name: str, kind: type[T]) -> T | None:
    """Return an answer that was cached, or None."""
    try:
        value = msgspec.json.decode(known.answers.get(name, b"null"))
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, kind) else None


def _is_code(outcome: Outcome) -> bool:
    return not isinstance(outcome, RemoteFailed) and bytes(outcome) != b'"0x"'
