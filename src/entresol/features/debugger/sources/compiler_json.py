"""The standard JSON of solc and Vyper, as far as it matters here; what is not declared is skipped, not read."""

from typing import Annotated

import msgspec
from msgspec import Meta


def nothing() -> msgspec.Raw:
    """Return a member that is missing, among those that are decoded once they are needed."""
    return msgspec.Raw(b"null")


class Reference(msgspec.Struct, frozen=True):
    """Where an immutable or the address of a library is."""

    start: Annotated[int, Meta(description="The first byte.")]
    length: Annotated[int, Meta(description="How many bytes.")]


class Bytecode(msgspec.Struct, frozen=True, rename="camel"):
    """A code, as solc, Vyper and Foundry return it."""

    object: Annotated[str, Meta(description="The code, in hex digits.")] = ""
    source_map: Annotated[
        msgspec.Raw,
        Meta(
            description="Which part of which source each instruction belongs to: text of solc, an object of Vyper."
        ),
    ] = msgspec.field(default_factory=nothing)
    link_references: Annotated[
        dict[str, dict[str, list[Reference]]],
        Meta(description="Where addresses of libraries are, by source and name."),
    ] = {}
    immutable_references: Annotated[
        dict[str, list[Reference]] | None, Meta(description="Where immutables are, by number.")
    ] = None


class ContractCodes(msgspec.Struct, frozen=True, rename="camel"):
    """The codes of a contract."""

    bytecode: Annotated[
        Bytecode | None, Meta(description="The code that creates the contract.")
    ] = None
    deployed_bytecode: Annotated[Bytecode | None, Meta(description="The code of the contract.")] = (
        None
    )


class StoredVariable(msgspec.Struct, frozen=True):
    """A state variable, or a member of a struct."""

    label: Annotated[str, Meta(description="Its name.")] = ""
    slot: Annotated[str, Meta(description="The slot, in a struct counted from its first one.")] = (
        "0"
    )
    offset: Annotated[int, Meta(description="The bytes of the slot below it.")] = 0
    type: Annotated[str, Meta(description="Its type, as one of the layout's types.")] = ""


class StoredType(msgspec.Struct, frozen=True, rename="camel"):
    """A type of state variables."""

    label: Annotated[str, Meta(description="The type as in the source.")] = ""
    encoding: Annotated[
        str, Meta(description="`inplace`, `mapping`, `dynamic_array` or `bytes`.")
    ] = ""
    number_of_bytes: Annotated[str, Meta(description="How many bytes it takes in place.")] = "0"
    key: Annotated[str | None, Meta(description="The type of a mapping's keys.")] = None
    value: Annotated[str | None, Meta(description="The type of a mapping's values.")] = None
    base: Annotated[str | None, Meta(description="The type of an array's items.")] = None
    members: Annotated[list[StoredVariable], Meta(description="Those of a struct.")] = []


class StorageLayout(msgspec.Struct, frozen=True):
    """Where the state variables of a contract are."""

    storage: Annotated[list[StoredVariable], Meta(description="The state variables.")] = []
    types: Annotated[dict[str, StoredType] | None, Meta(description="Their types.")] = None


class Contract(msgspec.Struct, frozen=True, rename="camel"):
    """A contract of a compilation."""

    abi: Annotated[
        msgspec.Raw, Meta(description="Its functions, errors and events, an array of objects.")
    ] = msgspec.field(default_factory=nothing)
    evm: Annotated[ContractCodes, Meta(description="Its codes.")] = msgspec.field(
        default_factory=ContractCodes
    )
    storage_layout: Annotated[
        msgspec.Raw, Meta(description="Where its state variables are, an object of solc.")
    ] = msgspec.field(default_factory=nothing)


class SourceNumber(msgspec.Struct, frozen=True):
    """The number of a source in the maps."""

    id: Annotated[
        int | None, Meta(description="The number; by default the place among the sources.")
    ] = None


class CompilerOutput(msgspec.Struct, frozen=True):
    """The standard JSON output of a compiler, as far as it matters here."""

    contracts: Annotated[
        dict[str, dict[str, Contract]], Meta(description="The contracts, by source and name.")
    ] = {}
    sources: Annotated[dict[str, SourceNumber], Meta(description="The sources, by name.")] = {}


class SourceText(msgspec.Struct, frozen=True):
    """A source of the input; one that has only URLs is read elsewhere."""

    content: Annotated[str | None, Meta(description="The text.")] = None


class OptimizerSettings(msgspec.Struct, frozen=True):
    """The optimizer of solc."""

    enabled: Annotated[bool, Meta(description="Whether it runs.")] = False


class CompilerSettings(msgspec.Struct, frozen=True, rename={"via_ir": "viaIR"}):
    """The settings of a compilation, as far as they matter here."""

    optimizer: Annotated[OptimizerSettings, Meta(description="The optimizer of solc.")] = (
        OptimizerSettings()
    )
    via_ir: Annotated[bool | None, Meta(description="Whether code is made by way of Yul.")] = None

    @property
    def is_optimized(self) -> bool:
        """Whether instructions may have moved away from their lines."""
        return self.optimizer.enabled or bool(self.via_ir)


class CompilerInput(msgspec.Struct, frozen=True):
    """The standard JSON input of a compiler, as far as it matters here."""

    sources: Annotated[dict[str, SourceText], Meta(description="The sources, by name.")] = {}
    settings: Annotated[CompilerSettings | None, Meta(description="The settings.")] = None
