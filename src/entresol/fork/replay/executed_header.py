"""The header of a remote block as its execution needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.fork.hardforks import is_before_london

if TYPE_CHECKING:
    from entresol.primitives.headers import Header


def executed_header(header: Header, hardfork: str) -> Header:
    """Return a header with which what the block had can be executed once more.

    Some chains say no gas limit, or zero; then transactions have any. Before London there was no base fee, where a
    header that blocks are built on has one.
    """
    changed = msgspec.structs.replace(header, gas_limit=header.gas_limit or MAX_GAS_LIMIT)
    return (
        msgspec.structs.replace(changed, base_fee_per_gas=0)
        if is_before_london(hardfork)
        else changed
    )
