"""The contents of the contracts in a genesis: the base token of an L2, and the L2s that are registered on an L1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.contracts.slots import storage_of, text_in
from entresol.primitives.base_token import (
    ETHER_TOKEN,
    L2_BASE_TOKEN,
    L2_NATIVE_TOKEN_VAULT,
    BaseToken,
)
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.chain.genesis.genesis import Genesis
    from entresol.primitives.records import BlockRecord


def base_token_of(alloc: Mapping[Address, GenesisAccount]) -> BaseToken:
    """Return the token that pays for gas on an L2 with these accounts, without its price; ether without system contracts."""
    vault, token = alloc.get(L2_NATIVE_TOKEN_VAULT), alloc.get(L2_BASE_TOKEN)
    if vault is None or token is None:
        return ETHER_TOKEN
    asset = _word(vault, "L2NativeTokenVault", "BASE_TOKEN_ASSET_ID")
    (slot,) = storage_of(artifact("L2NativeTokenVault"), {"originToken": {asset: 0}})
    address = Address(vault.storage.get(slot, Hash32.zero())[-20:])
    if address in (ETHER_TOKEN.l1_address, Address.zero()):
        return ETHER_TOKEN
    name, symbol = (
        text_in(artifact("L2BaseToken"), variable, token.storage) for variable in ("name", "symbol")
    )
    decimals = int.from_bytes(_word(token, "L2BaseToken", "decimals")) & 0xFF
    return BaseToken(l1_address=address, name=name, symbol=symbol, decimals=decimals)


def base_token_in(record: BlockRecord) -> BaseToken | None:
    """Return the token of an L2 whose first record this is; None if it has no system contracts."""
    contracts = {
        Address(change.address): GenesisAccount(
            storage={Hash32(slot): Hash32(value.rjust(32, b"\0")) for slot, value in change.slots}
        )
        for change in record.changes
        if change.address in (L2_BASE_TOKEN, L2_NATIVE_TOKEN_VAULT)
    }
    return base_token_of(contracts) if L2_NATIVE_TOKEN_VAULT in contracts else None


def _word(account: GenesisAccount, contract: str, variable: str) -> Hash32:
    (slot,) = storage_of(artifact(contract), {variable: 0})
    return account.storage.get(slot, Hash32.zero())


def registered_contract(genesis: Genesis, chain_id: int) -> Address | None:
    """Return the contract that a Bridgehub in a genesis has for an L2; None if none knows it."""
    slot = _slot(chain_id)
    words = (account.storage.get(slot) for account in genesis.alloc.values())
    return next((Address(word[-20:]) for word in words if word), None)


def registered_contract_in(record: BlockRecord, chain_id: int) -> Address | None:
    """Return the same of an L1 whose first record this is."""
    slot = _slot(chain_id)
    words = (word for change in record.changes for key, word in change.slots if key == slot)
    return next((Address(word.rjust(20, b"\0")[-20:]) for word in words), None)


def _slot(chain_id: int) -> Hash32:
    (slot,) = storage_of(artifact("Bridgehub"), {"getZKChain": {chain_id: 0}})
    return slot
