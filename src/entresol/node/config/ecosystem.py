"""The setting of several L2s on one L1, and which settings each of them may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from entresol.node.config.setting import Setting

_SECTIONS: Final = frozenset({"chain", "evm", "fork", "settlement", "relay"})
"""The sections whose settings each chain may have, but those of the L1 and of all chains."""
_KEYS: Final = frozenset({"server.port", "server.ipc"} | {
    f"l1.{step}_key{suffix}" for step in ("operator", "prove", "execute") for suffix in ("", "_file")
})  # fmt: skip
_SHARED: Final = frozenset({"data_dir", "timestamp", "l1_development"})


class EcosystemConfig(Struct, frozen=True, kw_only=True):
    """Several L2s on one L1."""

    chains: Annotated[
        tuple[str, ...] | None,
        Meta(
            title="N|ID:PORT,…",
            description="L2s on the L1: how many, or the id and the port of each. Those that are not given count up from "
            "--chain-id and --port. The configuration file may have a table [[chains]] for each instead, with any "
            "setting of a chain.",
        ),
    ] = None


def is_of_a_chain(setting: Setting) -> bool:
    """Return whether each chain may have a setting of its own."""
    if setting.name in _SHARED or setting.name.startswith("l1_"):
        return False
    return setting.section in _SECTIONS or setting.key in _KEYS
