"""The calls that a fork makes at the beginning of each block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import TxEnv, call
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import Overlay, Rules
    from entresol.execution.evm_env import BlockEnv

SYSTEM_ADDRESS: Final = Address.parse("0xfffffffffffffffffffffffffffffffffffffffe")
BEACON_ROOTS: Final = Address.parse("0x000f3df6d732807ef1319fb7b8bb8522d0beac02")
HISTORY_STORAGE: Final = Address.parse("0x0000f90827f1c53a10cb7a02335b175320002935")

SYSTEM_CALL_GAS: Final = 30_000_000


def make_system_calls(overlay: Overlay, rules: Rules, env: BlockEnv, parent: Hash32) -> None:
    """Call the system contracts that the block's fork has."""
    fields = env.fork_fields
    if fields.parent_beacon_block_root is not None:
        _call(overlay, rules, env, BEACON_ROOTS, fields.parent_beacon_block_root)
    if fields.requests_hash is not None:
        _call(overlay, rules, env, HISTORY_STORAGE, parent)


def _call(overlay: Overlay, rules: Rules, env: BlockEnv, contract: Address, word: Hash32) -> None:
    account = overlay.account(contract)
    if account is None or account.code_hash == EMPTY_CODE_HASH:
        return
    tx_env = TxEnv(
        sender=SYSTEM_ADDRESS,
        gas_limit=SYSTEM_CALL_GAS,
        to=contract,
        data=word,
        keeps_nonce=True,
    )
    overlay.apply(call(overlay, rules, env.native, tx_env))
