"""Find a chain on L1 by its Bridgehub: its id, its contracts, and since when they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import keccak256
from entresol.errors import ChainNotRegistered, ExecutionFailed, LayerOneMismatch, MalformedValue
from entresol.l1.contracts import failure_reason, read_contract
from entresol.l1.discovery import find_contracts, find_deployment_block
from entresol.l1.layer_one import agreed
from entresol.primitives import abi
from entresol.primitives.batches import DataScheme
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.primitives.values import Address

_SCHEMES: Final = frozenset(DataScheme)

NEW_CHAIN: Final = Hash32(keccak256(b"NewChain(uint256,address,address)"))


class L1ChainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a chain was created."""

    is_development: bool
    """Whether its operator may edit the state and act for accounts without their keys."""
    data_scheme: int

    @property
    def publishes(self) -> bool:
        """Whether the data of its batches is on L1."""
        return self.data_scheme != DataScheme.NONE


async def read_settings(
    l1: LayerOne, chain: Address, block: int | Hash32 | None = None
) -> L1ChainSettings:
    """Return the settings of a chain by the address of its contract, now or as of a block.

    Raises `LayerOneMismatch` for what is not a contract of a chain, and for a scheme that is not known here.
    """
    (is_development,) = await _read(l1, chain, "isDevelopment()", "(bool)", block)
    _, scheme = await _read(l1, chain, "getDAValidatorPair()", "(address,uint8)", block)
    if scheme not in _SCHEMES:
        raise LayerOneMismatch(
            f"the chain's contract {chain.checksummed()} on {l1.name} publishes data by scheme {scheme}, which is not "
            "known here: a newer version may know it"
        )
    return L1ChainSettings(is_development=is_development, data_scheme=scheme)


async def _read(
    l1: LayerOne, chain: Address, signature: str, returns: str, block: int | Hash32 | None
) -> tuple[Any, ...]:
    where = f"{signature} of {chain.checksummed()} on {l1.name}"
    try:
        output = await l1.call(chain, abi.encode_call(signature), block=block)
    except ExecutionFailed as error:
        raise LayerOneMismatch(f"{where} fails: {failure_reason(error)}") from error
    try:
        return abi.decode(returns, output)
    except MalformedValue as error:
        raise LayerOneMismatch(f"{where} is not there: {error}") from error


class FoundChain(msgspec.Struct, frozen=True, kw_only=True):
    """A chain on L1 that publishes what its batches contain."""

    chain_id: int
    contracts: SettlementContracts
    settings: L1ChainSettings
    first_block: int
    """An L1 block before which it did not exist."""


class ChainFinder:
    """Finds the chain of an id at a Bridgehub, or the only one.

    The event of the Bridgehub says since when a chain exists. One that is in the genesis of an L1 has none; it is in
    the state alone. Fails: with `ChainNotRegistered`, `LayerOneMismatch`, and as `LayerOne` does.
    """

    def __init__(self, l1: LayerOne, bridgehub: Address, from_block: int | None = None) -> None:
        """Search from the L1 block `from_block` on, by default all of them."""
        self._l1 = l1
        self._bridgehub = bridgehub
        self._from_block = from_block

    async def find(self, chain_id: int | None = None) -> FoundChain:
        """Return a chain that can be derived."""
        if chain_id is None:
            chain_id = await self._only_chain()
        contracts = await find_contracts(self._l1, self._bridgehub, chain_id)
        settings = await agreed(
            *(self._l1, f"the settings of chain {chain_id}"),
            lambda: read_settings(self._l1, contracts.chain),
        )
        if not settings.publishes:
            raise LayerOneMismatch(
                f"chain {chain_id} publishes nothing on {self._l1.name}: its operator alone has its blocks. "
                "Only a chain that was "
                "created with --data-availability calldata can be derived"
            )
        first = await self._first_block(chain_id, contracts.chain)
        return FoundChain(
            chain_id=chain_id, contracts=contracts, settings=settings, first_block=first
        )

    async def _only_chain(self) -> int:
        """Return the id of the only chain; raise if there is none, or more than one."""
        if not await self._l1.code(self._bridgehub):
            raise LayerOneMismatch(
                f"there is no contract at {self._bridgehub.checksummed()} on {self._l1.name}"
            )
        try:
            ids = await read_contract(
                self._l1, self._bridgehub, "getAllZKChainChainIDs()", "uint256[]"
            )
        except ExecutionFailed as error:
            raise LayerOneMismatch(
                f"the contract at {self._bridgehub.checksummed()} on {self._l1.name} is not a bridgehub: "
                f"{failure_reason(error)}"
            ) from error
        if not ids:
            raise ChainNotRegistered(
                f"no chain is registered at {self._bridgehub.checksummed()} on {self._l1.name}"
            )
        if len(ids) > 1:
            shown = ", ".join(map(str, ids[:20])) + (", …" if len(ids) > 20 else "")
            raise LayerOneMismatch(
                f"{self._l1.name} has the chains {shown}: say which one by --chain-id"
            )
        return int(ids[0])

    async def _first_block(self, chain_id: int, contract: Address) -> int:
        """Return the block of the event that registered a chain, or of its contract if it was there from the genesis."""
        head = await self._l1.block_number()
        first = self._from_block or 0
        topics = [NEW_CHAIN, Hash32(chain_id.to_bytes(32))]
        found = await agreed(
            *(self._l1, f"the registration of chain {chain_id}"),
            lambda: self._l1.logs(self._bridgehub, topics, first, head),
        )
        if found:
            return found[0].block_number
        if self._from_block is not None:
            return self._from_block
        return await find_deployment_block(self._l1, contract)
