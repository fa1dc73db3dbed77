"""The first local block of `--fork-transaction-hash`: the transactions of the remote's next block, up to the given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from entresol._native import wait_for_remote
from entresol.chain.edits import BlockSettings
from entresol.chain.sealing.block_filler import begin_block
from entresol.errors import EntresolError, InvalidConfig
from entresol.features.fork.replay.remote_transactions import read_transaction
from entresol.primitives.anchor import header_of_block

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.fork.remote_chain import RemoteChain
    from entresol.primitives.headers import Header
    from entresol.primitives.transactions import Transaction


class FirstBlock(NamedTuple):
    """The transactions of the first local block, and the header of the remote block that has them, too."""

    transactions: tuple[Transaction, ...]
    header: Header
    flag: str
    seconds: float
    """How long it may wait for each value that it needs."""


async def read_first_block(remote: RemoteChain) -> FirstBlock | None:
    """Read the transactions up to that of the settings; None if they name none."""
    wanted, flag = remote.settings.transaction_hash, remote.settings.flag("fork-transaction-hash")
    if wanted is None:
        return None
    number = remote.anchor.number + 1
    block: Any = msgspec.json.decode(await _block_above(remote, number))
    items = block.get("transactions") if isinstance(block, dict) else None
    found: list[Transaction] = []
    for item in items if isinstance(items, list) else ():
        try:
            read = read_transaction(item)
        except EntresolError as error:
            raise InvalidConfig(flag, f"the block cannot be executed here: {error}") from error
        if read.transaction is None:
            problem = f"transaction {read.hash} is of {read.note}"
            raise InvalidConfig(flag, f"the block cannot be executed here: {problem}")
        found.append(read.transaction)
        if found[-1].hash == wanted:
            return FirstBlock(tuple(found), header_of_block(block), flag, remote.settings.timeout)
    raise InvalidConfig(flag, f"{wanted} is not in block {number} of {remote.host}")


async def _block_above(remote: RemoteChain, number: int) -> msgspec.Raw:
    """Return the block above the anchor; by its hash it never changes, and is recorded."""
    known = remote.block_above
    if known is None:
        return await remote.read("eth_getBlockByNumber", [hex(number), True])
    named = f'"{known}"'.encode()
    return await remote.read(
        "eth_getBlockByHash", [str(known), True], is_final=lambda it: named in bytes(it)
    )


def seal_first_block(chain: Chain, first: FirstBlock) -> None:
    """Execute the transactions as the remote did, and seal them; nothing happens to a chain that has them already."""
    if chain.number > chain.ledger.first:
        return
    header, before = first.header, chain.settings
    chain.configure(
        BlockSettings(
            gas_limit=header.gas_limit or None,
            beneficiary=header.beneficiary,
            base_fee=header.base_fee_per_gas,
            prevrandao=header.mix_hash,
        )
    )
    try:
        wait_for_remote(first.seconds)
        _seal(chain, first)
    except EntresolError as error:
        raise InvalidConfig(first.flag, f"the block cannot be executed here: {error}") from error
    finally:
        wait_for_remote(None)
        chain.configure(before.after_block())
    chain.clock.set_time(max(header.timestamp, chain.head.timestamp))


def _seal(chain: Chain, first: FirstBlock) -> None:
    executor = chain.filler.create(max(first.header.timestamp, chain.head.timestamp))
    begin_block(executor)
    for transaction in first.transactions:
        executor.run(transaction)
    chain.append(executor.finish(chain.ledger.trie), chain.rules.fees.prices())
