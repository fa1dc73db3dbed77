"""Calls of `console.log`: their data, programs that make them, and what they print."""

from __future__ import annotations

from typing import Final, NamedTuple

from entresol.primitives import abi
from tests.support.evm.assembler import assemble

CONSOLE: Final = bytes.fromhex("000000000000000000636f6e736f6c652e6c6f67")
ALICE: Final = bytes.fromhex("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
ALICE_TEXT: Final = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
HALF_OF_THREE: Final = 15 * 10**17


class Printed(NamedTuple):
    """A call, and the text that anvil prints for it."""

    signature: str
    values: tuple[object, ...]
    text: str

    @property
    def data(self) -> bytes:
        return console_call(self.signature, *self.values)


PRINTED: Final = [
    Printed("log()", (), ""),
    Printed("log(string)", ("hello",), "hello"),
    Printed("log(string)", ("100%% %s %d",), "100% %s %d"),
    Printed("log(string)", ("end%",), "end%"),
    Printed("log(string,string)", ("", "x"), "x"),
    Printed("log(string,uint256)", ("a%%b %s", 5), "a%b 5"),
    Printed("log(string,uint256)", ("%d|%i|%x|%o|%e", 12), "12|%i|%x|%o|%e"),
    Printed("log(string,uint256)", ("%x", 255), "0xff"),
    Printed("log(string,uint256)", ("%o", 255), "255"),
    Printed("log(string,uint256)", ("%i", 255), "255"),
    Printed("log(string,uint256)", ("%e", HALF_OF_THREE), "1.5e18"),
    Printed("log(string,uint256)", ("%18e", HALF_OF_THREE), "1.5"),
    Printed("log(string,uint256)", ("%20e", HALF_OF_THREE), "0.015"),
    Printed("log(string,uint256)", ("%3e|", 10**20), "100000000000000000|"),
    Printed("log(string,uint256)", ("%0e|", 5), "5|"),
    Printed("log(string,uint256)", ("%e", 0), "0e0"),
    Printed("log(string,uint256)", ("%5d x", 3), "%5d x 3"),
    Printed("log(string,uint256)", ("%", 9), "% 9"),
    Printed("log(string,uint256)", ("%%s", 9), "%s 9"),
    Printed("log(string,uint256)", ("%%%s", 9), "%9"),
    Printed("log(string,uint256)", ("%18", 9), "%18 9"),
    Printed("log(string,uint256)", ("%1.2e", 9), "%1.2e 9"),
    Printed("log(string,int256)", ("%d", -5), "-5"),
    Printed("log(string,int256)", ("%x", -5), "0x" + "f" * 63 + "b"),
    Printed("log(string,int256)", ("%18e", -HALF_OF_THREE), "-1.5"),
    Printed("log(string,int256)", ("%e", -1500), "-1.5e3"),
    Printed("log(string,string)", ("%s %d", "x"), "x %d"),
    Printed("log(string,string)", ("%d", "x"), "NaN"),
    Printed("log(string,string)", ("%i", "x"), "NaN"),
    Printed("log(string,string)", ("%x", "x"), "NaN"),
    Printed("log(string,string)", ("%o", "x"), "'x'"),
    Printed("log(string,bool)", ("%s", True), "true"),
    Printed("log(string,bool)", ("%d", True), "1"),
    Printed("log(string,bool)", ("%i", True), "NaN"),
    Printed("log(string,bool)", ("%x", True), "NaN"),
    Printed("log(string,bool)", ("%e", True), "NaN"),
    Printed("log(string,bool)", ("%o", True), "'true'"),
    Printed("log(string,address)", ("%s", ALICE), ALICE_TEXT),
    Printed("log(string,address)", ("%x", ALICE), ALICE_TEXT),
    Printed("log(string,address)", ("%o", ALICE), f"'{ALICE_TEXT}'"),
    Printed("log(string,address)", ("%d", ALICE), "NaN"),
    Printed("log(string,string,uint256)", ("%s %z", "y", 9), "y %z 9"),
    Printed("log(uint256,string)", (5, "%s"), "5 %s"),
    Printed("log(address)", (ALICE,), ALICE_TEXT),
    Printed("log(bool)", (False,), "false"),
    Printed("log(int256)", (-7,), "-7"),
    Printed("log(bytes)", (b"\x01\x02",), "0x0102"),
    Printed("log(bytes4)", (b"abcd",), "0x61626364"),
    Printed("log(string)", ("one\ntwo",), "one\ntwo"),
    Printed("log(bool,address,string,uint256)", (True, ALICE, "s", 1), f"true {ALICE_TEXT} s 1"),
]


def console_call(signature: str, *values: object) -> bytes:
    """Return the data of a call; the selector is that of the signature as it is written."""
    types = (
        signature[signature.index("(") :].replace("uint)", "uint256)").replace("uint,", "uint256,")
    )
    return abi.selector(signature) + abi.encode(types, values)


def logging(*calls: bytes, then: str = "stop") -> str:
    return " ".join([*map(_logging, calls), then])


def logging_code(*calls: bytes, then: str = "stop") -> bytes:
    return assemble(logging(*calls, then=then))


def _logging(data: bytes) -> str:
    words = [data[start : start + 32].ljust(32, b"\0") for start in range(0, len(data), 32)]
    stores = " ".join(f"0x{word.hex()} {32 * number} mstore" for number, word in enumerate(words))
    return f"{stores} 0 0 {len(data)} 0 0x{CONSOLE.hex()} gas staticcall pop"
