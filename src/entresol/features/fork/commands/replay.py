"""The command `replay`: a transaction or a block of a remote chain, executed again here."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import Rules, wait_for_remote
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.call_frames import CALL_FRAMES
from entresol.features.fork.cache.fork_cache import CacheSettings, Recording, open_cache
from entresol.features.fork.commands.replay_report import ReplayText, counts
from entresol.features.fork.config.resolving import PlannedFork, planned_forks
from entresol.features.fork.errors import AnchorMismatch, RemoteMalformed
from entresol.features.fork.remote_chain import RemoteChain
from entresol.features.fork.replay.block_replay import (
    BlockToReplay,
    TransactionReplay,
    find_transaction,
    keys_of,
    read_block,
    replay_block,
)
from entresol.features.fork.table_feed import remote_snapshot
from entresol.primitives.values import Hash32
from entresol.terminal.exit_codes import FAILED, SUCCEEDED
from entresol.terminal.log_details import abis_of

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig

STRUCT_LOGS: Final = b"{}"
"""The options of the tracer that records every step."""


def run_replay(flags: Mapping[str, Any], config: NodeConfig) -> int:
    """Replay what the flags name, print it, and return the exit code: 1 if a receipt differs."""
    wanted = _wanted(flags)
    planned = planned_forks(config).l2
    if planned is None:
        raise InvalidConfig("--fork-url", "replay needs the URL of the chain")
    text = _text(config)
    with closing(_opened(planned, wanted)) as remote:
        wait_for_remote(planned.settings.timeout)
        try:
            if isinstance(wanted, Hash32):
                return _transaction(remote, wanted, text, flags)
            return _block(remote, wanted, text, is_json=flags["json"])
        finally:
            wait_for_remote(None)


def _text(config: NodeConfig) -> ReplayText:
    abis = abis_of(config.log)
    if "sources" not in config.given:
        return ReplayText(abis)
    # Nothing else here needs the debugger.
    from entresol.features.debugger.explainer import SourceExplainer  # noqa: PLC0415
    from entresol.features.debugger.settings import DebuggerConfig  # noqa: PLC0415
    from entresol.features.debugger.sources.registry import SourceRegistry  # noqa: PLC0415

    sources = SourceRegistry.of_paths(config.of(DebuggerConfig).sources)
    return ReplayText(sources.abis().over(abis), SourceExplainer(sources))


def _wanted(flags: Mapping[str, Any]) -> Hash32 | int:
    given, number = flags["hash"], flags["block"]
    if (given is None) == (number is None):
        raise InvalidConfig("replay", "give the hash of a transaction, or --block N")
    if number is not None:
        if number < 1:
            raise InvalidConfig("--block", "a block from 1 on: it is executed on the one before it")
        return int(number)
    try:
        return Hash32.parse(given)
    except MalformedValue as error:
        raise InvalidConfig("replay", f"{error}") from error


def _opened(planned: PlannedFork, wanted: Hash32 | int) -> RemoteChain:
    is_hash = isinstance(wanted, Hash32)
    settings = msgspec.structs.replace(
        planned.settings,
        transaction_hash=wanted if isinstance(wanted, Hash32) else None,
        block_number=wanted - 1 if isinstance(wanted, int) else None,
        block_hash=None,
    )
    cache = CacheSettings(
        place=planned.cache.path,
        max_bytes=planned.cache.max_bytes,
        is_stored=planned.cache.is_on_disk,
        is_offline=settings.is_offline,
        is_verified=settings.verify,
        recording=Recording(f"entresol replay {wanted if is_hash else f'--block {wanted}'}"),
    )
    return RemoteChain.open(settings, open_cache(cache, os.environ, _warn))


def _transaction(
    remote: RemoteChain, wanted: Hash32, text: ReplayText, flags: Mapping[str, Any]
) -> int:
    block, index = asyncio.run(_found(remote, wanted))
    options = STRUCT_LOGS if flags["struct_logs"] else CALL_FRAMES
    *_, replayed = _replayed(remote, block, index, options)
    if flags["json"]:
        _print_json(text.json(block, replayed))
    elif flags["struct_logs"]:
        if replayed.trace is not None:
            print(replayed.trace.decode())
        _print(text.transaction(block, msgspec.structs.replace(replayed, trace=None)), sys.stderr)
    else:
        _print(text.transaction(block, replayed), sys.stdout)
    return SUCCEEDED if replayed.is_same else FAILED


def _block(remote: RemoteChain, number: int, text: ReplayText, *, is_json: bool) -> int:
    block = asyncio.run(read_block(remote, number))
    replayed = list(_replayed(remote, block, None, STRUCT_LOGS))
    if is_json:
        found = {"number": number, "hash": str(block.hash), **counts(replayed)}
        _print_json(found | {"replayed": [text.json(block, replay) for replay in replayed]})
    else:
        _print(text.block(block, replayed), sys.stdout)
    return SUCCEEDED if all(replay.is_same for replay in replayed) else FAILED


async def _found(remote: RemoteChain, wanted: Hash32) -> tuple[BlockToReplay, int]:
    block_hash, index = await find_transaction(remote, wanted)
    return await read_block(remote, block_hash), index


def _replayed(
    remote: RemoteChain, block: BlockToReplay, traced: int | None, options: bytes
) -> Iterator[TransactionReplay]:
    if block.header.parent_hash != remote.anchor.hash:
        # A file of another fork, or a remote that has replaced the block meanwhile.
        what = f"the parent of block {block.header.number}"
        raise AnchorMismatch(what, remote.anchor.hash, block.header.parent_hash)
    remote.table.want(keys_of(block))
    # Not that of the anchor: a hardfork begins with the block.
    hardfork = remote.hardforks.of(block.header.timestamp, block.marks)
    is_foreign = remote.anchor.may_have_foreign_code
    rules = Rules(remote.anchor.chain_id, hardfork, rejects_foreign_code=is_foreign)
    snapshot = remote_snapshot(remote.table)
    try:
        yield from replay_block(block, rules, snapshot, traced=traced, options=options)
    except MalformedValue as error:
        raise RemoteMalformed(remote.host, "eth_getTransactionReceipt", str(error)) from error


def _print(lines: Iterator[str], output: Any) -> None:
    for line in lines:
        print(line, file=output)


def _print_json(value: object) -> None:
    print(msgspec.json.encode(value).decode())


def _warn(problem: str) -> None:
    print(f"warning: {problem}", file=sys.stderr)
