"""Explain failures of a devnet to people: reasons with the ABIs that a test has, and what belongs to them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from web3.contract.base_contract import BaseContract, BaseContractFunction
from web3.datastructures import AttributeDict
from web3.exceptions import ContractLogicError, OffchainLookup, Web3RPCError

from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.errors import DevnetStopped, MethodFailed
from entresol.inprocess.failures import FailedRequest, FailedTransaction
from entresol.terminal.call_tree import describe_error
from entresol.terminal.console_log import console_lines
from entresol.terminal.formats import MAX_LINE, printable
from entresol.testing.tracebacks import add_note, frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from entresol.inprocess.devnet import Devnet
    from entresol.inprocess.layer import DevnetLayer
    from entresol.testing.devnet_start import DevnetStart

    Failure: TypeAlias = FailedRequest | FailedTransaction
    Details: TypeAlias = Callable[[Devnet, Failure], list[str]]

EXECUTING: Final = {"eth_call": 2, "eth_estimateGas": 2, "eth_sendTransaction": 1}
"""Methods that execute something, and how many of their parameters say what."""


def stack_trace_of(
    layer: DevnetLayer, failed: str | Mapping[str, Any], *block: str | Mapping[str, Any]
) -> list[str]:
    """Return where a transaction, by its hash, or a call on the state after a block failed, the innermost line last.

    The list is empty if it did not fail, or if the devnet has no sources of its contracts (the setting `sources`).
    """
    is_hash = isinstance(failed, str)
    method = "entresol_getStackTrace" if is_hash else "entresol_getCallStackTrace"
    try:
        found = layer.request(method, failed, *block)
    except (MethodFailed, DevnetStopped):
        return []
    return [] if found is None else list(found["text"])


def stack_trace_of_failure(net: Devnet, failure: FailedRequest | FailedTransaction) -> list[str]:
    """Return where a request or a transaction that the devnet has recorded failed."""
    layer = next((layer for layer in net.layers if layer.name == failure.layer), None)
    if layer is None:
        return []
    if isinstance(failure, FailedRequest):
        count = EXECUTING.get(failure.method, 0)
        params = failure.params if isinstance(failure.params, list | tuple) else ()
        return stack_trace_of(layer, *params[:count]) if count and params else []
    place = (hex(failure.block), hex(failure.position))
    try:
        sent = layer.request("eth_getTransactionByBlockNumberAndIndex", *place)
    except (MethodFailed, DevnetStopped):
        return []
    return [] if sent is None else stack_trace_of(layer, sent["hash"])


MAX_TRANSACTIONS: Final = 5
"""Failed transactions that a report shows, the last ones."""
UNKNOWN_ERROR: Final = (
    "no contract of the test has this error; the setting abi names files with others"
)


def printed_by(net: Devnet, failure: Failure) -> list[str]:
    """Return what an execution has printed by `console.log`, with a title."""
    if isinstance(failure, FailedRequest):
        lines = [line.partition("] ")[2] for line in net.console.between(failure.console)]
    else:
        lines = [] if failure.console is None else console_lines(failure.console)
    return ["console.log:", *(f"  {line}" for line in lines)] if lines else []


DETAILS: Final[tuple[Details, ...]] = (stack_trace_of_failure, printed_by)
"""The details below the reason of a failure, in this order: each returns lines, or none if it knows nothing."""


class FailureExplainer:
    """Explains an exception of a test, and the transactions that have failed meanwhile.

    Remembers: the ABIs of the contracts that the test had at hand, and which requests it has explained.
    """

    def __init__(
        self,
        start: DevnetStart | None,
        errors: Iterable[BaseException],
        arguments: Mapping[str, Any],
    ) -> None:
        self._start = start
        self._abis = AbiRegistry(project_abis if start is None else lambda: start.devnet.abis)
        for abi in _abis_at_hand(errors, arguments):
            self._abis.add(abi)
        self._shown = range(0)
        """The part of what was printed that is shown already."""

    def explain_error(self, error: BaseException) -> None:
        """Give a revert that web3.py reports its decoded reason, and what is known of the request besides."""
        data, notes = _revert_data(error), list[str]()
        is_known = self._abis.error(data) is not None
        reason = describe_error(self._abis, data, named=True)
        if isinstance(error, ContractLogicError) and not isinstance(error, OffchainLookup):
            # `message` and `data` stay what they are.
            text = reason or f"{error.message} without a reason"
            BaseException.__setattr__(error, "args", (printable(text, MAX_LINE),))
        elif isinstance(error, MethodFailed):
            error.args = (printable(str(error), MAX_LINE),)
        if is_known and not isinstance(error, ContractLogicError):
            notes += [str(reason)]
        if reason is not None and reason.startswith("custom error "):
            notes += [UNKNOWN_ERROR]
        failed = self._request_of(error)
        if self._start is not None and failed is not None:
            net = self._start.devnet
            notes += [line for details in DETAILS for line in details(net, failed)]
            self._shown = failed.console
        add_note(error, "\n".join(_escaped(notes)))

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Yield what else belongs to the report, with titles: failed transactions, and what was printed."""
        if self._start is None:
            return
        net, printed, failed = self._start
        transactions = net.failures.transactions_since(failed)[-MAX_TRANSACTIONS:]
        lines = [
            line for transaction in transactions for line in self._transaction(net, transaction)
        ]
        if lines:
            yield "failed transactions", _escaped(lines)
        if printed < self._shown.start or self._shown.stop < net.console.total:
            lines = net.console.since(printed)
            if lines:
                yield "console.log", _escaped(lines)

    def _transaction(self, net: Devnet, failed: FailedTransaction) -> Iterator[str]:
        reason = describe_error(self._abis, failed.data, named=True) or str(failed.failure)
        yield f"[{failed.layer} block {failed.block}, transaction {failed.position}] {reason}"
        for details in DETAILS:
            # What transactions have printed is a section of its own.
            if details is not printed_by:
                yield from (f"  {line}" for line in details(net, failed))

    def _request_of(self, error: BaseException) -> FailedRequest | None:
        """Return the last request that an error like this one was the response to."""
        wanted = _response_of(error)
        if self._start is None or wanted is None:
            return None
        recorded = self._start.devnet.failures.requests()
        return next(
            (
                failure
                for failure in recorded
                if wanted in (failure.error, failure.error.get("data"))
            ),
            None,
        )


def _escaped(lines: Iterable[str]) -> list[str]:
    """Return lines of which none controls a terminal: contracts have written parts of them."""
    return [printable(line, MAX_LINE) for line in lines]


def _revert_data(error: BaseException) -> bytes:
    found = _response_of(error)
    text = found.get("data") if isinstance(found, dict) else found
    try:
        return bytes.fromhex(text[2:]) if isinstance(text, str) else b""
    except ValueError:
        return b""


def _response_of(error: BaseException) -> Any:
    """Return the error of the response that an exception was raised for, or its data, which is what web3.py keeps."""
    if isinstance(error, ContractLogicError):
        return error.data
    if isinstance(error, Web3RPCError):
        response: Any = error.rpc_response
        return response.get("error") if isinstance(response, dict) else None
    return error.data if isinstance(error, MethodFailed) else None


def _abis_at_hand(
    errors: Iterable[BaseException], arguments: Mapping[str, Any]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the ABIs of the contracts in the frames of exceptions, and among the arguments of a test."""
    for error in errors:
        for frame in frames_of(error):
            yield from _abis_among(frame.f_locals)
    yield from _abis_among(arguments)


def _abis_among(names: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the ABIs of the contracts that have a name; what raises when it is read has none to give."""
    values: list[Any] = []
    with suppress(Exception):
        # The body of a class may have any mapping.
        values += names.values()
    for value in values:
        abi = None
        with suppress(Exception):
            abi = _abi_of(value)
        if isinstance(abi, list | tuple):
            yield [dict(entry) for entry in abi if isinstance(entry, dict | AttributeDict)]


def _abi_of(value: Any) -> Any:
    # Not `isinstance`, which asks a proxy for its class, as some packages have.
    kind = type(value)
    is_contract = issubclass(kind, BaseContract)
    if is_contract or (issubclass(kind, type) and issubclass(value, BaseContract)):
        return value.abi
    return value.contract_abi if issubclass(kind, BaseContractFunction) else None
