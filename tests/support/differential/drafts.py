"""Transactions of all sorts, in blocks."""

from __future__ import annotations

import hashlib

from tests.support.differential import contracts
from tests.support.differential.contracts import FAULTS
from tests.support.differential.transactions import Authorization, Draft
from tests.support.differential.world import (
    AUTHORITY,
    BOMBS,
    FACTORY,
    FAULTY,
    FORWARD,
    LOAD,
    OTHER_AUTHORITY,
    RECURSE,
    SENDER,
    STORE,
    TOKEN,
    TRANSIENT,
)
from tests.support.evm.assembler import assemble, initcode
from tests.support.hex_data import word

CALL, CALLCODE, DELEGATECALL, STATICCALL = range(4)
QUIET, STRICT = 16, 32
CREATE2, CALLED, TWICE = 1, 2, 4
NEWCOMER = b"\xee" * 20
SHA256, IDENTITY = ((number).to_bytes(20, "big") for number in (2, 4))
BOMB = initcode(contracts.BOMB, contracts.BOMB_CONSTRUCTOR)
WORDS = word(1) + word(5) + word(2) + word(7)
MINT, TRANSFER, BALANCE_OF = map(bytes.fromhex, ("40c10f19", "a9059cbb", "70a08231"))
HOLDER = bytes(12) + SENDER.address


def forward(target: bytes, payload: bytes, flags: int = CALL, value: int = 0) -> bytes:
    return word(flags) + word(2**64) + word(int.from_bytes(target, "big")) + word(value) + payload


def through(*flags: int, target: bytes = STORE, payload: bytes = WORDS, value: int = 0) -> Draft:
    for flag in flags:
        target, payload = FORWARD, forward(target, payload, flag, value)
    return Draft(to=FORWARD, data=payload, value=1, gas=800_000)


def created(flags: int, code: bytes, value: int = 0, argument: bytes = NEWCOMER) -> Draft:
    arguments = (flags, value, 3, int.from_bytes(argument, "big"))
    return Draft(to=FACTORY, data=b"".join(map(word, arguments)) + code, gas=1_000_000)


BLOCKS: list[dict[str, Draft]] = [
    {
        "transfer": Draft(to=NEWCOMER, value=5, gas=21_000),
        "transfer of a legacy type": Draft(to=SENDER.address, value=5, type=0),
        "transfer to a precompile": Draft(to=SHA256, value=1, data=b"hello"),
        "access list": Draft(
            to=STORE, data=WORDS, access_list=[(STORE, [word(1)]), (LOAD, [word(9)])]
        ),
        "slots are set and cleared": Draft(to=STORE, data=word(1) + word(0) + word(5) + word(1)),
        "slots are set again": Draft(to=STORE, data=word(5) + word(0) + word(5) + word(1) + WORDS),
        "slots are read": Draft(to=LOAD, data=WORDS),
        "transient storage": Draft(to=TRANSIENT, data=word(7)),
    },
    {
        "tokens are minted": Draft(to=TOKEN, data=MINT + HOLDER + word(9)),
        "tokens are moved": Draft(to=TOKEN, data=TRANSFER + word(77) + word(4)),
        "tokens are overdrawn": Draft(to=TOKEN, data=TRANSFER + word(77) + word(99)),
        "tokens are counted": Draft(to=TOKEN, data=BALANCE_OF + HOLDER),
        "call": through(CALL),
        "call with value": through(CALL, CALL, value=1),
        "call with too much value": through(CALL, CALL | QUIET, value=10**30),
        "callcode": through(CALLCODE, CALL),
        "delegatecall": through(DELEGATECALL, CALL, DELEGATECALL),
    },
    {
        "staticcall of a reader": through(STATICCALL, target=LOAD),
        "staticcall of a writer": through(STATICCALL, STATICCALL | QUIET, CALL),
        "failure inside": through(CALL, target=FAULTY, payload=word(0) + b"reason"),
        "failure passed on": through(CALL | STRICT, CALL | STRICT, target=FAULTY, payload=word(2)),
        "call of a precompile": through(STATICCALL, CALL, target=IDENTITY),
        "call of a precompile with value": through(CALL, target=SHA256, value=1),
        "recursion": Draft(to=RECURSE, data=word(40), gas=8_000_000),
        "recursion without gas": Draft(to=RECURSE, data=word(400), gas=300_000),
    },
    {
        "creation": Draft(to=None, data=initcode(contracts.STORE), value=5, gas=1_000_000),
        "creation with logs": Draft(
            to=None, data=initcode(contracts.BOMB, "7 1 sstore 9 0 mstore 9 32 0 log1")
        ),
        "creation that reverts": Draft(to=None, data=assemble("42 0 mstore 32 0 revert"), value=1),
        "creation without gas": Draft(to=None, data=initcode(bytes(4_000)), gas=190_000),
        "creation of rejected code": Draft(to=None, data=initcode(b"\xef\x01")),
        "creation of too much code": Draft(to=None, data=assemble("24577 0 return"), gas=6_000_000),
        "creation that destroys itself": Draft(
            to=None, data=initcode(b"", "1 1 sstore caller selfdestruct"), value=2
        ),
    },
    {
        "creation inside": created(0, BOMB),
        "creation inside that reverts": created(0, assemble("42 0 mstore 32 0 revert")),
        "creation inside and destruction": created(CALLED, BOMB, 1),
        "creation at a known address": created(CREATE2 | CALLED, BOMB),
        "creation at it again": created(CREATE2 | TWICE, BOMB),
        "destruction": Draft(to=BOMBS[1], data=bytes(12) + NEWCOMER, value=77),
    },
    {
        "delegation": Draft(
            to=AUTHORITY.address, data=WORDS, authorizations=[Authorization(AUTHORITY, STORE, 0)]
        ),
        "delegations": Draft(
            to=AUTHORITY.address,
            data=WORDS,
            authorizations=[
                Authorization(AUTHORITY, LOAD, 1, chain_id=0),
                Authorization(OTHER_AUTHORITY, hashlib.sha256().digest()[:20], 7),
                Authorization(OTHER_AUTHORITY, IDENTITY, 0),
            ],
        ),
        "call of delegated": through(CALL, target=AUTHORITY.address),
        "delegation to delegated": Draft(
            to=OTHER_AUTHORITY.address,
            authorizations=[Authorization(OTHER_AUTHORITY, AUTHORITY.address, 1)],
        ),
    },
    # Each failure but the full stack, which makes huge traces; and destruction in the own favour.
    {
        **{
            f"failure by {name}": Draft(to=FAULTY, data=word(way) + b"reason", gas=40_000)
            for way, name in enumerate(FAULTS)
            if name != "overflow"
        },
        **{
            f"vain destruction of {value} wei": Draft(
                to=BOMBS[0], data=bytes(12) + BOMBS[0], value=value
            )
            for value in (0, 5)
        },
    },
]
