"""Where in the source a transaction or a call of a test failed, if the devnet has sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from entresol.errors import DevnetStopped, MethodFailed
from entresol.inprocess.failures import FailedRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.inprocess.devnet import Devnet
    from entresol.inprocess.failures import FailedTransaction
    from entresol.inprocess.layer import DevnetLayer

EXECUTING: Final = {"eth_call": 2, "eth_estimateGas": 2, "eth_sendTransaction": 1}
"""Methods that execute something, and how many of their parameters say what."""


def stack_trace_of(
    layer: DevnetLayer, failed: str | Mapping[str, Any], *block: str | Mapping[str, Any]
) -> list[str]:
    """Return where a transaction, by its hash, or a call on the state after a block failed, the innermost line last.

    Nothing if it did not fail, or if the devnet has no sources of it: the setting `sources`.
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
