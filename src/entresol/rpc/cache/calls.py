"""Cache of `eth_call` results for the current head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from msgspec import Raw

    from entresol.execution.evm_env import EvmEnv
    from entresol.rpc.types.call_request import CallObject

MAX_CALLS: Final = 256
MAX_BYTES: Final = 8 * 1024 * 1024


class CallCache:
    """The results of calls in one EVM environment.

    An environment is a state and a block, so the same call gives the same result there. Clients poll with the
    same parameters, which are decoded once (`ParamsReader`), so that equal calls are one object and are found
    by identity. Remembers: the environment used last, and some results in it.
    """

    def __init__(self) -> None:
        self._evm_env: EvmEnv | None = None
        self._results: BoundedMap[int, tuple[CallObject, Raw]] = BoundedMap(
            MAX_CALLS, max_weight=MAX_BYTES
        )

    @property
    def size(self) -> int:
        """How many bytes the results take."""
        return self._results.weight

    def get(self, evm_env: EvmEnv, call: CallObject) -> Raw | None:
        """Return the result of `call`, if it is cached for this very environment."""
        if evm_env is not self._evm_env:
            return None
        # An entry holds its call, so that no other call can have the same identity.
        cached = self._results.get(id(call))
        return None if cached is None else cached[1]

    def put(self, evm_env: EvmEnv, call: CallObject, result: Raw) -> None:
        """Cache a result; those in another environment are of no use any more."""
        if evm_env is not self._evm_env:
            self._evm_env = evm_env
            self._results.clear()
        self._results.put(id(call), (call, result), memoryview(result).nbytes)
