"""What calls gave, for whoever asks the same again before anything has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from msgspec import Raw

    from entresol.execution.evm_env import EvmEnv
    from entresol.rpc.types.call_request import CallObject

REMEMBERED: Final = 256


class CallCache:
    """The answers to calls on one scene.

    A scene is a state in a block, so the same call gives the same there. Clients poll with the same
    parameters, which are read once (`ParamsReader`), so that equal calls are one object and need not be
    compared. Remembers: the scene it was last asked about, and some answers on it.
    """

    def __init__(self) -> None:
        self._evm_env: EvmEnv | None = None
        self._known: dict[int, tuple[CallObject, Raw]] = {}

    def get(self, evm_env: EvmEnv, call: CallObject) -> Raw | None:
        """Return the answer to `call`, if it was given on this very scene."""
        if evm_env is not self._evm_env:
            return None
        known = self._known.get(id(call))
        return None if known is None or known[0] is not call else known[1]

    def put(self, evm_env: EvmEnv, call: CallObject, answer: Raw) -> None:
        """Keep an answer; those on another scene are of no use any more."""
        if evm_env is not self._evm_env or len(self._known) >= REMEMBERED:
            self._evm_env = evm_env
            self._known.clear()
        self._known[id(call)] = call, answer
