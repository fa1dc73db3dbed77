"""Settings of state files."""

from typing import Annotated

from msgspec import Meta, Struct


class ChainStateFiles(Struct, frozen=True, kw_only=True):
    """State files: the chain as JSON, as anvil writes and reads it."""

    state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Load the chain, of two layers the L2, from this file if there is one, and dump it there.",
        ),
    ] = None
    load_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Load the chain from this file, as --state; one that a node with an L1 wrote restores the L1, too.",
        ),
    ] = None
    dump_state: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="Dump the chain to this file, or to state.json in this directory, at the end and at intervals.",
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


class StateFilesConfig(ChainStateFiles, frozen=True, kw_only=True):
    """State files: the chain of each layer as JSON, as anvil writes and reads it."""

    l1_state: Annotated[
        str | None, Meta(title="FILE", description="As --state, for the development L1.")
    ] = None
    l1_load_state: Annotated[
        str | None, Meta(title="FILE", description="As --load-state, for the development L1.")
    ] = None
    l1_dump_state: Annotated[
        str | None, Meta(title="FILE", description="As --dump-state, for the development L1.")
    ] = None
