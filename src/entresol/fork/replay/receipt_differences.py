"""Where a receipt of the remote differs from what the same transaction did here."""

from __future__ import annotations

from typing import Any, NamedTuple

from entresol.errors import MalformedValue
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Address, Data, Hash32, Quantity


class ReceiptDifference(NamedTuple):
    """A member of a receipt that is another one."""

    member: str
    here: str
    remote: str

    def __str__(self) -> str:
        return f"{self.member} is {self.here} here, and {self.remote} at the remote"


def differences(result: TransactionResult, receipt: dict[str, Any]) -> list[ReceiptDifference]:
    """Compare a result with the remote's receipt: status, gas, contract and logs.

    Members that a remote does not have are not compared: a receipt before Byzantium has no status.
    """
    found = []
    if receipt.get("status") is not None:
        found += _unless_equal("status", int(result.succeeded), _number(receipt, "status"))
    found += _unless_equal("gasUsed", result.gas_used, _number(receipt, "gasUsed"))
    if result.succeeded:
        created = None if result.created is None else Address(result.created)
        given = receipt.get("contractAddress")
        theirs = None if given is None else Address.parse(given)
        # Some nodes name the contract that was called.
        if created is not None or receipt.get("to") is None:
            found += _unless_equal("contractAddress", created, theirs)
    return found + _log_differences(result, receipt)


def _log_differences(result: TransactionResult, receipt: dict[str, Any]) -> list[ReceiptDifference]:
    theirs = receipt.get("logs") or []
    if not isinstance(theirs, list):
        raise MalformedValue("logs: an array is expected")
    if len(theirs) != len(result.logs):
        return _unless_equal("number of logs", len(result.logs), len(theirs))
    found = []
    for index, ((address, topics, data), log) in enumerate(zip(result.logs, theirs, strict=True)):
        here = (bytes(address), tuple(map(bytes, topics)), bytes(data))
        if here != (remote := _log(log)):
            found += _unless_equal(f"log {index}", _log_text(*here), _log_text(*remote))
    return found


def _log(log: object) -> tuple[bytes, tuple[bytes, ...], bytes]:
    if not isinstance(log, dict):
        raise MalformedValue("a log is an object")
    given = log.get("topics") or []
    if not isinstance(given, list):
        raise MalformedValue("topics: an array is expected")
    topics = tuple(bytes(Hash32.parse(it)) for it in given)
    return (
        bytes(Address.parse(log.get("address"))),
        topics,
        bytes(Data.parse(log.get("data", "0x"))),
    )


def _log_text(address: bytes, topics: tuple[bytes, ...], data: bytes) -> str:
    words = [
        f"0x{address.hex()}",
        *(f"0x{topic.hex()}" for topic in topics),
        f"0x{data[:64].hex()}",
    ]
    return " ".join(words) + ("…" if len(data) > 64 else "")


def _unless_equal(member: str, here: object, remote: object) -> list[ReceiptDifference]:
    return [] if here == remote else [ReceiptDifference(member, _text(here), _text(remote))]


def _text(value: object) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _number(receipt: dict[str, Any], name: str) -> int:
    try:
        return int(Quantity.parse(receipt.get(name)))
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error
