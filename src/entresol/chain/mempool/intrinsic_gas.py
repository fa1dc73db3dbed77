"""Intrinsic gas: what a transaction costs before any code runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.primitives.bytecode import byte_counts
from entresol.primitives.transactions import ZkTransaction

if TYPE_CHECKING:
    from entresol.primitives.transactions import Access, Payload

TRANSACTION_GAS: Final = 21_000
CREATION_GAS: Final = 32_000
ZERO_BYTE_GAS: Final = 4
ACCESSED_ACCOUNT_GAS: Final = 2_400
ACCESSED_SLOT_GAS: Final = 1_900
AUTHORIZATION_GAS: Final = 25_000


class GasSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """The gas costs of a transaction's bytes in a fork.

    A token is a zero byte or a quarter of a nonzero one; `floor_token` is the calldata floor for each
    (EIP-7623).
    """

    nonzero_byte: int = 16
    init_code_word: int = 2
    floor_token: int = 10


_PRAGUE: Final = GasSchedule()
_SHANGHAI: Final = GasSchedule(floor_token=0)
_ISTANBUL: Final = GasSchedule(floor_token=0, init_code_word=0)
_SPURIOUS_DRAGON: Final = GasSchedule(floor_token=0, init_code_word=0, nonzero_byte=68)

SCHEDULES: Final = {
    "spurious_dragon": _SPURIOUS_DRAGON,
    "byzantium": _SPURIOUS_DRAGON,
    "petersburg": _SPURIOUS_DRAGON,
    "istanbul": _ISTANBUL,
    "berlin": _ISTANBUL,
    "london": _ISTANBUL,
    "paris": _ISTANBUL,
    "shanghai": _SHANGHAI,
    "cancun": _SHANGHAI,
    "prague": _PRAGUE,
    "osaka": _PRAGUE,
}
"""The schedules by fork, under the engine's names."""


def intrinsic_gas(
    payload: Payload, schedule: GasSchedule = _PRAGUE, also: Iterable[bytes] = ()
) -> int:
    """Return the minimum gas limit with which a transaction can be included.

    The input of a paymaster costs like data, and so does what is `also` charged: the signature that a contract
    account judges, and factory dependencies on a chain that charges for them.
    """
    zeros, nonzeros = byte_counts((payload.data, *also))
    if isinstance(payload, ZkTransaction) and payload.paymaster_input:
        input_zeros, input_nonzeros = byte_counts((payload.paymaster_input,))
        zeros, nonzeros = zeros + input_zeros, nonzeros + input_nonzeros
    gas = TRANSACTION_GAS + ZERO_BYTE_GAS * zeros + schedule.nonzero_byte * nonzeros
    if payload.to is None:
        gas += CREATION_GAS + schedule.init_code_word * _words(payload.data)
    if payload.access_list:
        gas += _access_gas(payload.access_list)
    gas += AUTHORIZATION_GAS * len(payload.authorizations)
    return max(gas, TRANSACTION_GAS + schedule.floor_token * (zeros + 4 * nonzeros))


def _access_gas(access_list: tuple[Access, ...]) -> int:
    slots = sum(len(access.slots) for access in access_list)
    return ACCESSED_ACCOUNT_GAS * len(access_list) + ACCESSED_SLOT_GAS * slots


def _words(data: bytes) -> int:
    return (len(data) + 31) // 32
