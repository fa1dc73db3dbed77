"""The calls that a fork makes at the beginning and at the end of each block, and the requests that the latter return."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from entresol._native import TxEnv, call
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from entresol._native import Overlay, Rules
    from entresol.execution.evm_env import BlockEnv

SYSTEM_ADDRESS: Final = Address.parse("0xfffffffffffffffffffffffffffffffffffffffe")
BEACON_ROOTS: Final = Address.parse("0x000f3df6d732807ef1319fb7b8bb8522d0beac02")
HISTORY_STORAGE: Final = Address.parse("0x0000f90827f1c53a10cb7a02335b175320002935")
WITHDRAWAL_REQUESTS: Final = Address.parse("0x00000961ef480eb55e80d19ad83579a64c007002")
CONSOLIDATION_REQUESTS: Final = Address.parse("0x0000bbddc7ce488642fb579f8b00f3a590007251")

SYSTEM_CONTRACTS: Final = frozenset(
    {BEACON_ROOTS, HISTORY_STORAGE, WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS}
)
"""Whom a block itself changes, whatever its transactions call."""

BEACON_ROOTS_CODE: Final = Hash32.parse(
    "0xf57acd40259872606d76197ef052f3d35588dadf919ee1f0e3cb9b62d3f4b02c"
)
"""The hash of the code that EIP-4788 defines."""
HISTORY_STORAGE_CODE: Final = Hash32.parse(
    "0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d"
)
"""The hash of the code that EIP-2935 defines."""

RING_SIZE: Final = 8_191
"""How many blocks both contracts remember."""

SYSTEM_CALL_GAS: Final = 30_000_000

_REQUESTED: Final = ((b"\x01", WITHDRAWAL_REQUESTS), (b"\x02", CONSOLIDATION_REQUESTS))
"""By the type of their requests (EIP-7002, EIP-7251), in the order in which they are called."""


def make_system_calls(overlay: Overlay, rules: Rules, env: BlockEnv, parent: Hash32) -> None:
    """Call the system contracts that the block's fork has.

    Those with the code that their EIP defines are not called, but written to as that code does it: it reads nothing,
    and a fork would have to ask its remote for every slot that it overwrites.
    """
    fields = env.fork_fields
    if (root := fields.parent_beacon_block_root) is not None:
        account = overlay.account(BEACON_ROOTS)
        if account is not None and account.code_hash == BEACON_ROOTS_CODE:
            at = env.timestamp % RING_SIZE
            _write(overlay, BEACON_ROOTS, {at: _word(env.timestamp), at + RING_SIZE: root})
        else:
            system_call(overlay, rules, env, BEACON_ROOTS, root)
    if fields.requests_hash is not None:
        account = overlay.account(HISTORY_STORAGE)
        if account is not None and account.code_hash == HISTORY_STORAGE_CODE:
            _write(overlay, HISTORY_STORAGE, {(env.number - 1) % RING_SIZE: parent})
        else:
            system_call(overlay, rules, env, HISTORY_STORAGE, parent)


def collects_requests(overlay: Overlay) -> bool:
    """Return whether a state has a contract that collects requests."""
    accounts = (overlay.account(contract) for _, contract in _REQUESTED)
    return any(account is not None and account.code_hash != EMPTY_CODE_HASH for account in accounts)


def take_requests(overlay: Overlay, rules: Rules, env: BlockEnv) -> tuple[bytes, ...]:
    """Call the contracts that collect requests, where there are any, and return the requests by type."""
    found = []
    for kind, contract in _REQUESTED:
        output = system_call(overlay, rules, env, contract)
        if output:
            found.append(kind + output)
    return tuple(found)


def requests_hash(requests: Sequence[bytes]) -> Hash32:
    """Return the hash of requests in a header (EIP-7685)."""
    return Hash32(sha256(b"".join(sha256(request).digest() for request in requests)).digest())


def _write(overlay: Overlay, contract: Address, slots: Mapping[int, bytes]) -> None:
    for slot, value in slots.items():
        overlay.set_slot(contract, _word(slot), value)


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def system_call(
    overlay: Overlay, rules: Rules, env: BlockEnv, contract: Address, data: bytes = b""
) -> bytes:
    """Call a contract as the system, and return its output; nothing of one that is not there, or that fails."""
    account = overlay.account(contract)
    if account is None or account.code_hash == EMPTY_CODE_HASH:
        return b""
    tx_env = TxEnv(
        sender=SYSTEM_ADDRESS,
        gas_limit=SYSTEM_CALL_GAS,
        to=contract,
        data=data,
        keeps_nonce=True,
    )
    ran = call(overlay, rules, env.native, tx_env)
    overlay.apply(ran)
    return ran.output if ran.status == "success" else b""
