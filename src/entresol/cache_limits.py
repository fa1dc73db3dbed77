"""How much each cache holds: all of them are named here, and the crate is given what is its own."""

from __future__ import annotations

from typing import Final

import msgspec


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of caches. Each drops what is oldest, or all of it, once it is full."""

    responses: int = 16 << 20
    """Bytes of responses by the bytes of their requests (`NativeDispatcher`)."""
    cached_params: int = 256
    """Bytes of parameters that are cached there, or beside what they were decoded to."""
    cached_result: int = 64 << 10
    """Bytes of a result that is cached there."""
    read_params: int = 16 << 10
    """Bytes of parameters that the crate reads; Python may decode longer ones on a thread."""
    decoded_params: int = 256
    """Lists of parameters that a method keeps decoded (`ParamsReader`)."""

    calls: int = 1 << 20
    """Bytes of the outputs of calls in the block of the head (`StateReads`)."""
    call_gas: int = 40_000
    """Gas from which on the output of a call is cached there: running it again takes longer than finding it."""
    fee_history: int = 8 << 20
    """Bytes of the fees of blocks (`FeeHistory`)."""

    rendered: int = 64 << 20
    """Bytes of rendered blocks, transactions and receipts (`RenderedCache`)."""
    logs: int = 32 << 20
    """Bytes of logs of blocks, with what is rendered of them (`LogCache`)."""
    bytecodes: int = 4 << 20
    """Bytes of rendered code (`zks_getBytecodeByHash`)."""
    details: int = 4_096
    """Details of settled blocks, batches and transactions, each (`zks_get…Details`): half a kilobyte apiece."""

    records: int = 4_096
    """Decoded records of blocks (`ReadCache`)."""
    record_bytes: int = 64 << 20
    """Bytes that those may take."""
    block_numbers: int = 16_384
    """Numbers of blocks by hash (`ReadCache`)."""

    batches: int = 1_024
    """Batches (`BatchTable`)."""
    settlements: int = 4_096
    """Settlements of batches (`BatchStatus`), about two kilobytes each."""
    message_trees: int = 16 << 20
    """Bytes of the logs and trees of batches (`LogProver`): six full batches, or thousands of small ones."""
    message_positions: int = 4_096
    """Places of blocks and logs in batches (`LogProver`), each."""

    remote_values: int = 500_000
    """Accounts, slots and hashes of the block that a fork stands on (`RemoteTable`), about a hundred bytes apiece."""
    past_values: int = 50_000
    """Reads as of an earlier block of the remote."""
    past_tables: int = 16
    """How many earlier blocks have such a table (`RemoteChain`)."""
    past_blocks: int = 16 << 20
    """Bytes of blocks of the remote (`PastBlocks`)."""
    past_fetches: int = 64
    """Blocks of the remote of which it is known how their state is read (`BlockReads`)."""


CACHES: Final = CacheLimits()
