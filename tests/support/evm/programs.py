"""Contracts put together from steps, and those that blocks write to, as their EIPs specify them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

# A step is a function from the position of its code to that code.
Step: TypeAlias = Callable[[int], bytes]

GAS = "5a"


def program(steps: Sequence[Step]) -> str:
    code = b""
    for step in steps:
        code += step(len(code))
    return code.hex()


def work(rounds: int) -> Step:
    return lambda at: bytes.fromhex(f"61{rounds:04x} 5b 6001 90 03 80 61{at + 3:04x} 57 50")


def store(slot: int, value: int) -> Step:
    """Write a slot; zero where there was something earns a refund."""
    return lambda _: bytes.fromhex(f"60{value:02x} 60{slot:02x} 55")


def demand_gas(gas: int) -> Step:
    return lambda at: bytes.fromhex(f"63{gas:08x} 5a 11") + _or_revert(at + 7)


def store_if_gas(gas: int, slot: int) -> Step:
    return lambda at: bytes.fromhex(
        f"63{gas:08x} 5a 11 15 61{at + 17:04x} 57 6001 60{slot:02x} 55 5b"
    )


def call_to(target: bytes, *, value: int = 0, gas: int | None = None, checked: bool = True) -> Step:
    """Call `target` with all gas or with some, and revert if that fails, or do not care."""
    sent = GAS if gas is None else f"63{gas:08x}"
    code = bytes.fromhex(f"5f 5f 5f 5f 60{value:02x} 73{target.hex()} {sent} f1")
    return lambda at: code + (_or_revert(at + len(code)) if checked else b"\x50")


def create(size: int) -> Step:
    # The init code is `PUSH2 size PUSH0 RETURN`, stored as the last bytes of a word.
    code = bytes.fromhex(f"64 61{size:04x} 5f f3 5f 52 6005 601b 5f f0")
    return lambda at: code + _or_revert(at + len(code))


def _or_revert(at: int) -> bytes:
    return bytes.fromhex(f"61{at + 7:04x} 57 5f 5f fd 5b")


HISTORY_CODE = bytes.fromhex(
    "3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257"
    "611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500"
)
BEACON_CODE = bytes.fromhex(
    "3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f358015604957"
    "62001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f35"
    "9062001fff015500"
)
