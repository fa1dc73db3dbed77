"""`reverted`: assert that some lines of a test revert, and why."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hexbytes import HexBytes
from web3 import Web3
from web3.exceptions import ContractLogicError, Web3RPCError

from entresol._native import ERROR_SELECTOR, PANIC_SELECTOR
from entresol.contracts.abi_registry import AbiEntry, AbiKey, types_of
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.terminal.call_tree import describe_error
from entresol.terminal.formats import MAX_LINE, printable
from entresol.testing.arguments import call_text, check_names, differences
from entresol.testing.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from web3.contract import Contract

EXECUTION_REVERTED: Final = 3
"""The code of the JSON-RPC error."""


class RevertedCall:
    """Why the lines have reverted, once they have."""

    def __init__(self) -> None:
        self.reason = ""
        """The text of `require` or `revert`, or the name of the error: `Panic`, or a custom one."""
        self.args: Mapping[str, Any] = {}
        """The arguments of the error."""
        self.data = b""
        self.text = ""
        """All of it, for people."""


@contextmanager
def reverted(
    on: Contract | type[Contract] | Web3, reason: str | None = None, /, **args: Any
) -> Iterator[RevertedCall]:
    """Fail unless a call or a transaction in the `with` block reverts, with this reason if there is one.

    A reason is the text of `require`, or the name of an error, which may have arguments:
    `with reverted(token, "InsufficientBalance", needed=5):`. `on` is a contract, whose ABI decodes the error, or a
    web3.py client. Transactions that are sent with a gas limit of their own fail in their block; they count, too.
    """
    __tracebackhide__ = True
    client, contract_abi = (on, ()) if isinstance(on, Web3) else (on.w3, on.abi)
    observed, failure = Observation(client, contract_abi), RevertedCall()
    cause: Exception | None = None
    try:
        yield failure
    except ContractLogicError as error:
        cause = error
        _decode(failure, _data_of(error.data), str(error.message), observed)
    except Web3RPCError as error:
        response: Any = (error.rpc_response or {}).get("error", {})
        if response.get("code") != EXECUTION_REVERTED:
            raise
        cause = error
        _decode(failure, _data_of(response.get("data")), response.get("message", ""), observed)
    else:
        _read_failed_transaction(failure, reason, observed)
    problem = _problem(failure, reason, args)
    if problem is not None:
        lines = (printable(problem, MAX_LINE), *observed.printed())
        raise AssertionError("\n".join(lines)) from cause


def _read_failed_transaction(
    failure: RevertedCall, reason: str | None, observed: Observation
) -> None:
    __tracebackhide__ = True
    failed = next(observed.failed_transactions(), None)
    if failed is None:
        expected = "nothing has reverted" + ("" if reason is None else f", expected {reason}")
        raise AssertionError(f"{expected}\n{observed.describe()}")
    request: Any = observed.w3.manager.request_blocking
    frame = request("debug_traceTransaction", [failed, {"tracer": "callTracer"}])
    _decode(failure, bytes(HexBytes(frame.get("output") or "0x")), frame.get("error", ""), observed)


def _data_of(data: Any) -> bytes:
    return bytes(HexBytes(data)) if isinstance(data, str) and data.startswith("0x") else b""


def _decode(failure: RevertedCall, data: bytes, message: str, observed: Observation) -> None:
    failure.data = data
    known = describe_error(observed.abis, data, named=True)
    failure.text = known or message.removeprefix("execution reverted: ")
    failure.reason, selector = failure.text, data[:4]
    entry = observed.abis.find(AbiKey("error", selector))
    if selector == PANIC_SELECTOR:
        failure.reason, failure.args = "Panic", {"code": int.from_bytes(data[4:])}
    elif selector == ERROR_SELECTOR:
        failure.args = {"message": failure.text}
    elif entry is not None:
        failure.reason, failure.args = entry.name, _arguments(entry, data[4:])


def _arguments(entry: AbiEntry, data: bytes) -> dict[str, Any]:
    try:
        values = abi.decode(types_of(entry.inputs), data) if entry.inputs else ()
    except MalformedValue:
        return {}
    names = [parameter.name or f"param{number}" for number, parameter in enumerate(entry.inputs)]
    return dict(zip(names, values, strict=True))


def _problem(failure: RevertedCall, reason: str | None, args: Mapping[str, Any]) -> str | None:
    expected = None if reason is None else call_text(reason, args) if args else reason
    if reason not in (None, failure.reason):
        return f"reverted with {failure.text}, expected {expected}"
    check_names(args, list(failure.args), f"the error {failure.reason}")
    different = differences(args, failure.args)
    return f"reverted with {failure.text}, but {', '.join(different)}" if different else None
