"""The start of a fork: find its anchor, learn what the remote serves, or take both from the cache."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from entresol.errors import RemoteFailed, RemoteTimeout
from entresol.execution.block_executor import HISTORY_STORAGE
from entresol.features.fork import remote_values
from entresol.features.fork.anchoring import BY_HASH, RemoteStart, block_at, find_start
from entresol.features.fork.cache.cache_files import WantedFork
from entresol.features.fork.cache.fork_cache import ForkCache
from entresol.features.fork.cache.fork_database import Fork, StartAnswers
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.errors import (
    AnchorMismatch,
    ForkCacheUnusable,
    RemoteMalformed,
    RemoteUnreachable,
)
from entresol.features.fork.hardforks import Hardforks, marks_of_json
from entresol.features.fork.past_blocks import MAX_RECENT, PastBlocks
from entresol.features.fork.state_fetch import (
    CollectedState,
    FetchedAccount,
    Naming,
    RemoteBlock,
    Served,
    StateFetch,
    probes,
    served,
)
from entresol.features.fork.transport.client import ForkClient, Outcome, result_of
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.verify.proven_chain import proven_anchor
from entresol.features.fork.verify.proven_header import check_header
from entresol.primitives.anchor import Anchor
from entresol.primitives.values import Hash32

T = TypeVar("T")

logger = logging.getLogger(__name__)

_FINALIZED: Final = "finalized"
_CONFIG: Final = "eth_config"
_HISTORY: Final = "history"
_HEAD: Final = "head"
_VERIFIED: Final = "verified"
_STARTS: Final = 3


class StateNames:
    """The names of blocks that the remote takes, and whether it proves states: asked once, when it is needed.

    Fails: with `RemoteFailed`, and asks again the next time.
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
            raise RemoteFailed(
                f"--fork-verify cannot check the remote {self._client.host}: {found.proof_problem}"
            )
        self._served = found


class OpenedRemote(msgspec.Struct, frozen=True):
    """The remote as a start has found it."""

    anchor: Anchor
    block: RemoteBlock
    past: PastBlocks
    hardforks: Hardforks
    has_history: bool
    """Whether the contract of EIP-2935 is in the state after the anchor."""
    names: StateNames | None = None
    """None without a remote."""
    verify: bool = False
    block_above: Hash32 | None = None
    """The block of the transaction that the settings name, if a start has found the anchor by it."""
    accounts: Mapping[bytes, FetchedAccount] = {}


async def open_remote(
    settings: ForkSettings,
    cache: ForkCache,
    client: ForkClient | None,
    ahead: Sequence[bytes] = (),
) -> OpenedRemote:
    """Return what a start needs: what an earlier one has cached, if it is the same fork, else what the remote says.

    The accounts `ahead` are read as soon as the anchor is known, beside what else the remote is asked then.
    """
    number = settings.block_number
    wanted = WantedFork(
        settings.chain_id,
        number if number is not None and number >= 0 else None,
        settings.block_hash,
        _above(settings),
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
            return await _fresh(settings, cache, client, start, ahead)
        except RemoteMalformed:
            # Blocks that are not linked: the remote has replaced some between two requests, or it lies.
            if attempt == _STARTS - 1:
                raise
    raise AssertionError("unreachable")


async def check_same(client: ForkClient, anchor: Anchor) -> None:
    """Raise `AnchorMismatch` unless the chain behind a client has the anchor."""
    calls = [Call("eth_chainId", ()), Call(BY_HASH, (str(anchor.hash), False))]
    chain_id, found = await client.ask(calls)
    actual = remote_values.decoded(
        client.host, "eth_chainId", result_of(chain_id), remote_values.chain_id
    )
    if actual != anchor.chain_id:
        raise AnchorMismatch(f"the chain id of {client.host}", anchor.chain_id, actual)
    block = remote_values.described_block(
        client.host, BY_HASH, result_of(found), hash_is=anchor.hash
    )
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
    settings: ForkSettings,
    cache: ForkCache,
    client: ForkClient,
    start: RemoteStart,
    ahead: Sequence[bytes],
) -> OpenedRemote:
    described = start.anchor
    if settings.verify:
        described = await proven_anchor(client, described)
    anchor = Anchor.of_json(start.chain_id, described.json)
    block = RemoteBlock(described.number, described.hash, described.header.state_root)
    past = PastBlocks(client, described, start.finalized, verify=settings.verify)
    names = StateNames(client, block, settings)
    history = Call("eth_getCode", (str(HISTORY_STORAGE), hex(block.number)))
    state = [*probes(block), history]
    reading = asyncio.create_task(_read_ahead(settings, client, block, ahead))
    try:
        outcomes = await client.ask([*state, *past.recent_calls()])
        accounts = await reading
    finally:
        reading.cancel()
    names.take(outcomes[: len(state) - 1])
    past.take_recent(outcomes[len(state) :])
    has_history = _is_code(outcomes[len(state) - 1])
    answers = {
        _FINALIZED: msgspec.json.encode(start.finalized),
        _HISTORY: msgspec.json.encode(has_history),
        _CONFIG: start.config or b"null",
        _HEAD: msgspec.json.encode(sorted(start.head)),
        _VERIFIED: msgspec.json.encode(settings.verify),
    }
    above = _above(settings)
    if above is not None and start.block_above is not None:
        answers[above] = msgspec.json.encode(str(start.block_above))
    fork = Fork(start.chain_id, described.number, bytes(described.hash))
    cache.put_start(StartAnswers(fork, described.json, answers))
    cache.put_hashes(dict(past.recent_hashes()))
    hardforks = Hardforks(start.chain_id, start.config, start.head)
    return OpenedRemote(
        anchor,
        block,
        past,
        hardforks,
        has_history,
        names,
        settings.verify,
        start.block_above,
        accounts,
    )


async def _read_ahead(
    settings: ForkSettings, client: ForkClient, block: RemoteBlock, addresses: Sequence[bytes]
) -> dict[bytes, FetchedAccount]:
    """Read accounts before it is known which names of blocks the remote takes: by one that most do.

    Those that the remote rejects are left out: whoever needs them reads them by another name, or has the error. One
    that does not respond fails the start, which would only wait for it again.
    """
    found = CollectedState()
    if addresses and not settings.verify:
        naming = Naming.NUMBER if settings.by_number else Naming.OBJECT
        fetch = StateFetch(client, block, naming=naming, proofs=False)
        await fetch.read([("account", address) for address in addresses], found)
    for failure in found.failures:
        if isinstance(failure, RemoteTimeout | RemoteUnreachable):
            raise failure
    return found.accounts


def _known(
    settings: ForkSettings, cache: ForkCache, client: ForkClient | None, known: StartAnswers
) -> OpenedRemote:
    _check_same_trust(settings, cache, known, can_add=client is not None)
    described = remote_values.described_block("the cache", BY_HASH, known.anchor)
    assert described is not None
    anchor = Anchor.of_json(known.fork.chain_id, known.anchor)
    block = RemoteBlock(described.number, described.hash, described.header.state_root)
    if settings.verify:
        check_header("the cache", described)
    finalized = _answer(known, _FINALIZED, int)
    past = PastBlocks(client, described, finalized, verify=settings.verify)
    lowest = max(described.number - MAX_RECENT, 0)
    past.take_hashes(cache.hashes(range(lowest, described.number)))
    names = None if client is None else StateNames(client, block, settings)
    head = _answer(known, _HEAD, list)
    hardforks = Hardforks(
        known.fork.chain_id,
        known.answers.get(_CONFIG),
        marks_of_json(known.anchor) if head is None else frozenset(map(str, head)),
    )
    has_history = bool(_answer(known, _HISTORY, bool))
    block_above = _answer(known, _above(settings) or "", str)
    return OpenedRemote(
        anchor,
        block,
        past,
        hardforks,
        has_history,
        names,
        settings.verify,
        None if block_above is None else Hash32.parse(block_above),
    )


def _above(settings: ForkSettings) -> str | None:
    """Return the name of the answer that says in which block a transaction above the anchor is."""
    wanted = settings.transaction_hash
    return None if wanted is None else f"block of {wanted}"


def _check_same_trust(
    settings: ForkSettings, cache: ForkCache, known: StartAnswers, *, can_add: bool
) -> None:
    """Reject a cache of what was not proven for a fork that verifies, and one of what was proven for one that adds to it."""
    was_verified = bool(_answer(known, _VERIFIED, bool))
    if settings.verify and not was_verified:
        problem = "it has what was read without --fork-verify"
        raise ForkCacheUnusable(Path(str(cache.place)), problem)
    if was_verified and not settings.verify and can_add:
        problem = "it has what was proven, and without --fork-verify nothing may be added to it"
        raise ForkCacheUnusable(Path(str(cache.place)), problem)


def _answer(known: StartAnswers, name: str, kind: type[T]) -> T | None:
    try:
        value = msgspec.json.decode(known.answers.get(name, b"null"))
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, kind) else None


def _is_code(outcome: Outcome) -> bool:
    return not isinstance(outcome, RemoteFailed) and bytes(outcome) != b'"0x"'
