"""State and block overrides of a call, as geth defines them, and the precompiles that they move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

import msgspec

from entresol._native import Overlay, Rules
from entresol.errors import (
    DuplicatePrecompileMove,
    InvalidOverride,
    NotPossible,
    PrecompileMovedToSelf,
)
from entresol.execution.evm_env import BlockEnv, EvmEnv, overlay_on
from entresol.primitives.values import Address, Hash32


class StateOverride(msgspec.Struct, frozen=True, kw_only=True):
    """Overrides of one account: `state` replaces its whole storage, `state_diff` some slots."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    state: Mapping[Hash32, Hash32] | None = None
    state_diff: Mapping[Hash32, Hash32] | None = None
    move_precompile_to: Address | None = None


class BlockOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """Overrides of the block environment; the names are those that clients use."""

    number: int | None = None
    time: int | None = None
    gas_limit: int | None = None
    fee_recipient: Address | None = None
    prev_randao: Hash32 | None = None
    base_fee_per_gas: int | None = None
    blob_base_fee: int | None = None
    block_hash: Mapping[int, Hash32] | None = None
    difficulty: int | None = None


def override(
    evm_env: EvmEnv,
    accounts: Mapping[Address, StateOverride] | None = None,
    block: BlockOverrides | None = None,
) -> EvmEnv:
    """Return `evm_env` with these overrides; `evm_env` and its state are not changed."""
    state, env = evm_env.state, evm_env.block
    if accounts:
        overlay = overlay_on(state)
        moved = moved_precompiles(accounts, evm_env.rules)
        apply(overlay, accounts)
        state = overlay
        if moved:
            moved = {**(env.precompiles or {}), **moved}
            env = msgspec.structs.replace(env, precompiles=moved)
    if block is not None:
        env = override_block(env, block)
    try:
        _ = env.native
    except (OverflowError, ValueError) as error:
        raise InvalidOverride("a number of the block is too large") from error
    return EvmEnv(state, evm_env.rules, env)


def apply(overlay: Overlay, overrides: Mapping[Address, StateOverride]) -> None:
    """Apply account overrides to `overlay`; if one is invalid, apply none.

    Moved precompiles are not part of the state: see `moved_precompiles`.
    """
    check(overrides)
    for address, requested in overrides.items():
        _apply_one(overlay, address, requested)


def check(overrides: Mapping[Address, StateOverride]) -> None:
    """Reject overrides of which one is invalid."""
    for address, requested in overrides.items():
        _check(address, requested)


def override_block(block: BlockEnv, overrides: BlockOverrides) -> BlockEnv:
    """Return `block` with these overrides; block hashes are added to those it has."""
    hashes = {**(block.block_hashes or {}), **(overrides.block_hash or {})}
    requested = {
        "number": overrides.number,
        "timestamp": overrides.time,
        "gas_limit": overrides.gas_limit,
        "beneficiary": overrides.fee_recipient,
        "prevrandao": overrides.prev_randao,
        "base_fee": overrides.base_fee_per_gas,
        "blob_base_fee": overrides.blob_base_fee,
        "difficulty": overrides.difficulty,
        "block_hashes": hashes or None,
    }
    given = {name: value for name, value in requested.items() if value is not None}
    return msgspec.structs.replace(block, **given)


def _check(address: Address, requested: StateOverride) -> None:
    if requested.state is not None and requested.state_diff is not None:
        raise InvalidOverride(f"account {address} has both state and stateDiff")
    if requested.balance is not None and requested.balance.bit_length() > 256:
        raise InvalidOverride(f"account {address}: a balance is less than 2^256")
    if requested.nonce is not None and requested.nonce.bit_length() > 64:
        raise InvalidOverride(f"account {address}: a nonce is less than 2^64")


def _apply_one(overlay: Overlay, address: Address, requested: StateOverride) -> None:
    if requested.nonce is not None:
        overlay.set_nonce(address, requested.nonce)
    if requested.code is not None:
        overlay.set_code(address, requested.code)
    if requested.balance is not None:
        overlay.set_balance(address, requested.balance)
    if requested.state is not None:
        overlay.replace_storage(address, dict[bytes, bytes](requested.state.items()))
    for slot, value in (requested.state_diff or {}).items():
        overlay.set_slot(address, slot, value)


def moved_precompiles(
    overrides: Mapping[Address, StateOverride], rules: Rules
) -> dict[bytes, bytes | None]:
    """Return by address which precompile runs there now, by its usual address; None for none.

    As in geth, an overridden account is no longer a precompile, so that it can have other code. A precompile that moves
    replaces whatever is at its new address.
    """
    precompiles = _precompiles(rules.fork)
    moves = {at: to for at, requested in overrides.items() if (to := requested.move_precompile_to)}
    _check_moves(moves, overrides, precompiles)
    replaced: dict[bytes, bytes | None] = {at: None for at in overrides if at in precompiles}
    return replaced | {to: at for at, to in moves.items()}


def _check_moves(
    moves: Mapping[Address, Address],
    overridden: Mapping[Address, object],
    precompiles: frozenset[bytes],
) -> None:
    for address, destination in moves.items():
        if address not in precompiles:
            raise NotPossible(f"account 0x{address.hex()} is not a precompile")
        if address == destination:
            raise PrecompileMovedToSelf(address)
    for destination, count in Counter(moves.values()).items():
        if count > 1:
            raise DuplicatePrecompileMove(destination)
        if destination in overridden:
            raise InvalidOverride(f"account {destination} is already overridden")


@cache
def _precompiles(fork: str) -> frozenset[bytes]:
    return frozenset(Rules(1, fork).precompiles)
