"""Profiles as values: what `profileTracer` counts of one execution, decoded."""

from __future__ import annotations

from typing import Final

import msgspec

PROFILE: Final = b'{"ownTracer":"profileTracer"}'
"""The options of the tracer whose traces `decode_profile` reads; no client can name it."""


class CodeProfile(msgspec.Struct, rename="camel"):
    """A code, and what ran of it; steps of frames that reverted are counted, too."""

    hash: str
    code: str
    """Its bytes as hex digits; of a creation those of the init code with its arguments."""
    is_creation: bool
    addresses: list[str]
    """The first eight accounts that had it, or that it has created."""
    steps: list[tuple[int, int, int]]
    """The offsets of instructions, how often each ran, and its gas without that of the frames it has opened."""
    calls: list[tuple[int, int]]
    """The offsets of calls and creations, and the gas of the frames they have opened."""
    taken: list[tuple[int, int]]
    """The offsets of conditional jumps, and how often each has jumped."""


class FrameProfile(msgspec.Struct, rename="camel"):
    """Call frames of the same code, kind and selector."""

    code: int
    """The index of the code that ran."""
    kind: str
    """`CALL`, `STATICCALL`, `DELEGATECALL`, `CALLCODE`, `CREATE` or `CREATE2`."""
    selector: str
    """`0x` if the call data is shorter than one, and of creations."""
    via: int | None
    """The index of the code that has called, if the frame runs in its account."""
    is_outermost: bool
    failed: bool
    size: int
    """The size of the largest code that they have deployed."""
    gas: list[tuple[int, int]]
    """Amounts of gas, and how many frames have used each."""


class Profile(msgspec.Struct):
    """The counts of one execution.

    The gas of a frame is the sum of what its instructions have used, and of what the frames have that it opened. One that
    halts loses the rest at its last instruction.
    """

    codes: list[CodeProfile]
    frames: list[FrameProfile]


decode_profile: Final = msgspec.json.Decoder(Profile).decode
