"""The remote block that a fork stands on: named by number, hash or transaction, or the newest of a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from entresol.errors import MalformedValue, RemoteFailed
from entresol.features.fork import remote_values
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.errors import AnchorMismatch, AnchorNotFound, RemoteRejected
from entresol.features.fork.hardforks import Marks, marks_of_json
from entresol.features.fork.remote_values import DescribedBlock
from entresol.features.fork.transport.client import ForkClient, Outcome, result_of
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.transport.rejections import is_no_archive, is_unknown_block
from entresol.primitives.values import Hash32

BY_NUMBER: Final = "eth_getBlockByNumber"
BY_HASH: Final = "eth_getBlockByHash"
BY_TRANSACTION: Final = "eth_getTransactionByHash"

_HASHES_ONLY: Final = False
_LATEST: Final = Call(BY_NUMBER, ("latest", _HASHES_ONLY))
_STEPS: Final = 15
"""How many blocks one round of a search by time looks at."""
_MAX_ROUNDS: Final = 32


class RemoteStart(msgspec.Struct, frozen=True):
    """The remote's first responses: who it is, on which block the fork stands, and what is final."""

    chain_id: int
    anchor: DescribedBlock
    finalized: int | None
    """The number of the finalized block; None if the remote has none."""
    config: bytes | None
    """The response to `eth_config`, if it is served."""
    head: Marks
    """The marks in the header of the remote's latest block; those of the anchor, if there is none."""
    block_above: Hash32 | None = None
    """The block of the transaction that the anchor was found by."""


async def find_start(client: ForkClient, settings: ForkSettings) -> RemoteStart:
    """Return what the remote says first: one batch, and a second one if the block has to be computed from it."""
    first = [
        Call("eth_chainId", ()),
        Call(BY_NUMBER, ("finalized", _HASHES_ONLY)),
        Call("eth_config", ()),
        wanted := _first_block(settings),
        *(() if wanted == _LATEST else (_LATEST,)),
    ]
    chain_id, finalized, config, found, *others = await client.ask(first)
    latest = others[0] if others else found
    anchor = await _anchor(client, settings, wanted, result_of(found))
    is_by_transaction = wanted.method == BY_TRANSACTION
    return RemoteStart(
        settings.chain_id
        if settings.chain_id is not None
        else remote_values.decoded(
            client.host, "eth_chainId", result_of(chain_id), remote_values.chain_id
        ),
        anchor,
        _finalized(client, finalized),
        None if isinstance(config, RemoteFailed) else bytes(config),
        marks_of_json(anchor.json) if isinstance(latest, RemoteFailed) else marks_of_json(latest),
        _block_of(client, result_of(found)) if is_by_transaction else None,
    )


def _first_block(settings: ForkSettings) -> Call:
    """Return the call that finds the anchor, or what it is counted from."""
    if settings.block_hash is not None:
        return Call(BY_HASH, (str(settings.block_hash), _HASHES_ONLY))
    if settings.transaction_hash is not None:
        return Call(BY_TRANSACTION, (str(settings.transaction_hash),))
    number = settings.block_number
    if number is None or number < 0:
        return _LATEST
    return Call(BY_NUMBER, (hex(number), _HASHES_ONLY))


async def _anchor(
    client: ForkClient, settings: ForkSettings, call: Call, raw: bytes
) -> DescribedBlock:
    if settings.transaction_hash is not None and settings.block_hash is None:
        return await _parent_of(client, settings.transaction_hash, raw)
    number = settings.block_number
    expected = number if number is not None and number >= 0 else None
    block = remote_values.described_block(
        client.host,
        call.method,
        raw,
        number_is=None if settings.block_hash is not None else expected,
    )
    if block is None:
        raise AnchorNotFound(client.host, _name(settings))
    if settings.block_hash is not None:
        _check_pinned(client.host, settings, block)
        return block
    if number is not None and number < 0:
        return await block_at(client, max(block.number + number, 0))
    if number is None and settings.not_after is not None:
        return await newest_not_after(client, settings.not_after, block)
    return block


async def block_at(client: ForkClient, number: int) -> DescribedBlock:
    """Return a block by its number."""
    raw = await client.request(BY_NUMBER, hex(number), _HASHES_ONLY)
    block = remote_values.described_block(client.host, BY_NUMBER, raw, number_is=number)
    if block is None:
        raise AnchorNotFound(client.host, f"block {number}")
    return block


def is_missing(outcome: Outcome) -> bool:
    """Say whether the remote does not have a block that was asked for by its number."""
    if isinstance(outcome, RemoteRejected):
        return is_unknown_block(outcome.message) or is_no_archive(outcome.message)
    return not isinstance(outcome, RemoteFailed) and bytes(outcome) == b"null"


async def newest_not_after(
    client: ForkClient, timestamp: int, latest: DescribedBlock
) -> DescribedBlock:
    """Return the newest block that is not later than a time: each round of requests parts what is left by sixteen.

    Not every remote has its chain's first blocks: those that it does not have come before those that it has.
    """
    wanted = f"block that is not later than {timestamp}"
    if latest.header.timestamp <= timestamp:
        return latest
    low, high = -1, latest
    newest: DescribedBlock | None = None
    for _ in range(_MAX_ROUNDS):
        if high.number - low <= 1:
            break
        numbers = _between(low, high.number)
        for number, block in zip(numbers, await _blocks(client, numbers), strict=True):
            if block is None and newest is not None:
                raise AnchorNotFound(client.host, f"block {number}")
            if block is not None and block.header.timestamp > timestamp:
                high = block
                break
            low, newest = number, block
    else:
        raise AnchorNotFound(client.host, f"{wanted}: its times are not in order")
    if newest is None:
        raise AnchorNotFound(client.host, f"{wanted} (its first is block {high.number})")
    return newest


def _between(low: int, high: int) -> list[int]:
    steps = min(_STEPS, high - low - 1)
    return [low + (high - low) * (n + 1) // (steps + 1) for n in range(steps)]


async def _blocks(client: ForkClient, numbers: Sequence[int]) -> list[DescribedBlock | None]:
    """Return blocks by their numbers, None for those that the remote does not have."""
    outcomes = await client.ask(
        [Call(BY_NUMBER, (hex(number), _HASHES_ONLY)) for number in numbers]
    )
    return [
        None
        if is_missing(outcome)
        else remote_values.described_block(
            client.host, BY_NUMBER, result_of(outcome), number_is=number
        )
        for number, outcome in zip(numbers, outcomes, strict=True)
    ]


def _block_of(client: ForkClient, raw: bytes) -> Hash32:

    def decode(result: Any) -> Hash32:
        return remote_values.member(remote_values.mapping(result), "blockHash", Hash32.parse)

    return remote_values.decoded(client.host, BY_TRANSACTION, raw, decode)


async def _parent_of(client: ForkClient, transaction: Hash32, raw: bytes) -> DescribedBlock:

    def decode(result: Any) -> int | None:
        fields = remote_values.mapping(result) if result is not None else {}
        if fields.get("blockNumber") is None:
            return None
        number = remote_values.member(fields, "blockNumber", remote_values.number)
        if not number:
            raise MalformedValue("the transaction is in the first block, which has no parent")
        return number

    number = remote_values.decoded(client.host, BY_TRANSACTION, raw, decode)
    if number is None:
        raise AnchorNotFound(client.host, f"transaction {transaction} in a block")
    return await block_at(client, number - 1)


def _check_pinned(host: str, settings: ForkSettings, block: DescribedBlock) -> None:
    if block.hash != settings.block_hash:
        raise AnchorMismatch(f"the block that {host} returned", settings.block_hash, block.hash)
    number = settings.block_number
    if number is not None and number >= 0 and number != block.number:
        raise AnchorMismatch(f"the number of block {block.hash}", number, block.number)


def _name(settings: ForkSettings) -> str:
    if settings.block_hash is not None:
        return f"block {settings.block_hash}"
    return "latest block" if settings.block_number is None else f"block {settings.block_number}"


def _finalized(client: ForkClient, outcome: Outcome) -> int | None:
    """Return the number of the finalized block; a chain without finality has an error or none."""
    if isinstance(outcome, RemoteRejected):
        return None
    try:
        block = remote_values.described_block(client.host, BY_NUMBER, result_of(outcome))
    except RemoteFailed:
        return None
    return None if block is None else block.number
