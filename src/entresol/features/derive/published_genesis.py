"""The genesis of a chain that is derived: on L1, or in a file, and in both cases what L1 has registered."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.bounded_file import read_file
from entresol.errors import (
    GenesisNotPublished,
    InvalidConfig,
    InvalidGenesis,
    LayerOneMismatch,
    UnreadableData,
)
from entresol.features.derive.opening import open_derived
from entresol.l1.availability.genesis_parts import read_genesis
from entresol.primitives.published.compression import VERSION as COMPRESSED
from entresol.primitives.published.compression import decompress
from entresol.primitives.published.genesis import PublishedGenesis
from entresol.primitives.published.limits import MAX_GENESIS_BYTES
from entresol.rollup.batches import genesis_batch_hash

if TYPE_CHECKING:
    from pathlib import Path

    from entresol.l1.availability.chain_finder import FoundChain
    from entresol.l1.contracts import ZkChain
    from entresol.primitives.values import Hash32

MAX_FILE_BYTES: Final = 1 << 30
_FRAME: Final = bytes((COMPRESSED,)) + bytes.fromhex("28b52ffd")
"""How a genesis begins that is compressed, as it is on L1; one that is too large for that is not."""


class RegisteredGenesis(NamedTuple):
    """A genesis that is the one that L1 has registered, and the bytes that L1 has of it; None if that is only a hash."""

    genesis: PublishedGenesis
    data: bytes | None


class GenesisCheck:
    """Judges whether bytes are the genesis that a chain was registered with.

    Remembers: what it accepted last, and why it rejected what it rejected last. Fails: never, as a predicate.
    """

    def __init__(self, registered: Hash32) -> None:
        """Compare with the hash of batch 0, which covers the state and all that is published of the genesis."""
        self._registered = registered
        self.accepted: PublishedGenesis | None = None
        self.problem: UnreadableData | InvalidGenesis | None = None

    def is_right(self, published: bytes) -> bool:
        """Judge the bytes that L1 has."""
        try:
            encoded = decompress(published, max_bytes=MAX_GENESIS_BYTES)
            return self.is_right_encoding(encoded)
        except (UnreadableData, InvalidGenesis) as error:
            self.problem = error
            return False

    def is_right_encoding(self, encoded: bytes) -> bool:
        """Judge a genesis that is not compressed; raise what cannot be read."""
        found = PublishedGenesis.decode(encoded)
        with closing(open_derived(None, found)) as chain:
            if genesis_batch_hash(chain) != self._registered:
                return False
        self.accepted = found
        return True


async def find_genesis(
    chain: FoundChain, contract: ZkChain, file: Path | None
) -> RegisteredGenesis:
    """Return the genesis of a chain, from a file if there is one, else from L1; raise if it is not the registered one."""
    check = GenesisCheck(await contract.stored_batch_hash(0))
    if file is None:
        data: bytes | None = await _on_l1(contract, check)
    else:
        data = _in_file(file, check, contract.l1.name)
    found = check.accepted
    assert found is not None
    rules, settings = found.rules, chain.settings
    for name, published, on_l1 in (
        ("chain id", rules.chain_id, chain.chain_id),
        ("isDevelopment", rules.is_development, settings.is_development),
    ):
        if published != on_l1:
            raise LayerOneMismatch(
                f"the {name} of the chain is {on_l1} on {contract.l1.name}, and {published} in its genesis"
            )
    return RegisteredGenesis(found, data)


async def _on_l1(contract: ZkChain, check: GenesisCheck) -> bytes:
    l1 = contract.l1
    last = await l1.block_number()
    try:
        return await read_genesis(l1, contract.address, contract.first_block, last, check.is_right)
    except GenesisNotPublished as error:
        if not error.parts and not (await contract.totals()).committed:
            raise LayerOneMismatch(
                f"there is nothing to derive yet: the chain with the contract {contract.address.checksummed()} "
                f"has no batch on {l1.name}, and its operator "
                "publishes the genesis before the first one. Derive it once there is a batch"
            ) from error
        if check.problem is None:
            raise
        raise LayerOneMismatch(f"{error} by --genesis. The last one: {check.problem}") from error


def _in_file(file: Path, check: GenesisCheck, l1: str) -> bytes | None:
    """Return what L1 would have of the genesis in a file, if it would have it."""
    try:
        found = read_file(file, MAX_FILE_BYTES)
    except OSError as error:
        raise InvalidConfig("--genesis", f"{file}: {error.strerror}") from error
    is_published = found.startswith(_FRAME)
    try:
        is_right = check.is_right(found) if is_published else check.is_right_encoding(found)
    except (UnreadableData, InvalidGenesis) as error:
        raise InvalidConfig("--genesis", f"{file} has no published genesis: {error}") from error
    if not is_right:
        problem = check.problem or f"it is not the genesis that {l1} has registered"
        raise InvalidConfig("--genesis", f"{file}: {problem}")
    return found if is_published else None
