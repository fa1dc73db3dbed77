"""Settings of state files."""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from entresol.node.config.setting import AnvilGroup


class DevConfig(Struct, frozen=True, kw_only=True):
    """State files: the chain of each layer as JSON, as anvil writes and reads it."""

    anvil: ClassVar = AnvilGroup(
        "state_files", "State files: the chain as JSON, as anvil writes and reads it."
    )

    state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Load the chain, of two layers the L2, from this file if there is one, and dump it there.",
            extra={"short": "load the state from here, and write it at the end"},
        ),
    ] = None
    load_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Load the chain from this file, as --state; one that a node with an L1 wrote restores the L1, too.",
            extra={"short": "start from a state that was written there"},
        ),
    ] = None
    dump_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Dump the chain to this file, or to state.json in this directory, at the end and at intervals.",
            extra={"short": "write the state there at the end"},
        ),
    ] = None
    state_interval: Annotated[
        float,
        Meta(gt=0, description="Seconds between dumps of the state.", extra={"aliases": ("-s",)}),
    ] = 60.0
    preserve_historical_states: Annotated[
        bool,
        Meta(
            description="Dump the states after all blocks, which anvil needs to read earlier ones."
        ),
    ] = False
    l1_state: Annotated[
        str | None,
        Meta(
            title="FILE", description="As --state, for the development L1.", extra={"anvil": None}
        ),
    ] = None
    l1_load_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="As --load-state, for the development L1.",
            extra={"anvil": None},
        ),
    ] = None
    l1_dump_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="As --dump-state, for the development L1.",
            extra={"anvil": None},
        ),
    ] = None
    load_state_limit_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum memory that a state file may take which anvil_loadState sends: its bytes, unpacked, and "
            "128 for each of its values. --load-state takes larger ones.",
            extra={"anvil": None},
        ),
    ] = 128 << 20
