"""The OpenRPC document of the methods that a dispatcher serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from entresol.errors import EntresolError
from entresol.offload import Offload
from entresol.primitives.values import Data, FixedBytes, Quantity
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import ByteArray, Choice, JsonModel, says
from entresol.rpc.jsonrpc.params import Parameter
from entresol.rpc.jsonrpc.served_method import Method
from entresol.version import VERSION

Json: TypeAlias = dict[str, Any]

_VERSION: Final = "1.3.2"
_REF: Final = "#/components/schemas/{name}"
_BYTES: Final = (
    msgspec.inspect.BytesType, msgspec.inspect.ByteArrayType, msgspec.inspect.MemoryViewType,
)  # fmt: skip


class OpenRpcDocument(JsonModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document as the OpenRPC specification describes it."""

    openrpc: Annotated[str, says("The version of the specification.")]
    info: Annotated[dict[str, str], says("The title and the version of the node.")]
    methods: Annotated[
        list[dict[str, Any]],
        says("Method objects of the specification: any JSON value is a default."),
    ]
    components: Annotated[
        dict[str, dict[str, dict[str, Any]]],
        says("JSON schemas, to which methods refer: any JSON value may be in one."),
    ]


class Discovery:
    """The method `rpc.discover`, which describes all methods, itself among them.

    Remembers: the document, once it was requested.
    Assumes:   that the methods no longer change by then.
    """

    prefix = "rpc"

    def __init__(self) -> None:
        self.methods: Mapping[str, Method] = {}

    @cached_property
    def document(self) -> Json:
        """Return the document, ready to be encoded."""
        return openrpc(self.methods)

    @cached_property
    def encoded(self) -> Raw:
        """Return the document as JSON."""
        return Raw(msgspec.json.encode(self.document))

    @method(name="rpc.discover", served_by=ServedBy.REPLICA)
    def discover(self) -> Annotated[Raw, OpenRpcDocument] | Offload[Raw]:
        """Return the OpenRPC document of this node."""
        if "encoded" in vars(self):
            return self.encoded
        # Describing all types takes as long as some thousand calls.
        return Offload(lambda: self.encoded)


def openrpc(methods: Mapping[str, Method]) -> Json:
    """Return the document that describes `methods`."""
    served = [methods[name] for name in sorted(methods)]
    _reject_bytes(served)
    hints = [hint for one in served for hint in _hints(one)]
    hints += [kind for kind in map(_notification, served) if kind is not None]
    schemas, components = _schemas(hints)
    choices = _choices(hints, set())
    hints += [shape for choice in choices for shape in choice.shapes.values()]
    _say_presence([one.result for one in served], components)
    _say_tags(hints, components)
    remaining = iter(schemas)
    return {
        "openrpc": _VERSION,
        "info": {"title": "Entresol", "version": VERSION},
        "methods": [_entry(one, [next(remaining) for _ in _hints(one)]) for one in served],
        "components": {"schemas": components},
    }


def _reject_bytes(methods: Iterable[Method]) -> None:
    """Reject plain bytes, which msgspec would encode as base64; here, because looking for them takes long."""
    for declared in methods:
        if any(_has_bytes(hint) for hint in _hints(declared)):
            raise TypeError(f"{declared.name} has bytes in its signature: say Data or ByteArray")


def _has_bytes(hint: Any) -> bool:
    return any(isinstance(kind, _BYTES) for kind in _all_kinds(hint))


@cache
def _all_kinds(hint: Any) -> tuple[Any, ...]:
    return tuple(_kinds(msgspec.inspect.type_info(hint), set()))


def _kinds(value: Any, seen: set[type]) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _kinds(item, seen)
    if not isinstance(value, msgspec.inspect.Type | msgspec.inspect.Field):
        return
    yield value
    if isinstance(value, msgspec.inspect.StructType):
        if value.cls in seen:
            return
        seen.add(value.cls)
    for part in value.__struct_fields__:
        yield from _kinds(getattr(value, part), seen)


def _schemas(hints: list[Any]) -> tuple[list[Json], Json]:
    """Return the schemas of types, and the objects and choices that they refer to."""
    choices = list(_choices(hints, set()))
    shapes = [shape for choice in choices for shape in choice.shapes.values()]
    schemas, components = msgspec.json.schema_components(
        [*hints, *shapes], schema_hook=schema_of, ref_template=_REF
    )
    remaining = iter(schemas[len(hints) :])
    for choice in choices:
        described = [{"description": when, "allOf": [next(remaining)]} for when in choice.shapes]
        doc = (choice.__doc__ or "").partition("\n")[0]
        components[choice.__name__] = {
            "title": choice.__name__, "description": doc, "anyOf": described,
        }  # fmt: skip
    return list(schemas[: len(hints)]), components


def _say_presence(results: Iterable[Any], components: Json) -> None:
    """Say of the members of results whether they are always there: so is one with a default, which is written, too."""
    for kind in _structs(results):
        if kind.__struct_config__.omit_defaults:
            continue
        missing = {
            field.encode_name for field in msgspec.structs.fields(kind) if field.default is UNSET
        }
        schema = components[kind.__name__]
        schema["required"] = [name for name in schema["properties"] if name not in missing]
        for member in schema["properties"].values():
            member.pop("default", None)


def _say_tags(hints: Iterable[Any], components: Json) -> None:
    """Say of the members that tell classes of a union apart what they are."""
    for kind in _structs(hints):
        tag = kind.__struct_config__.tag_field
        if tag is not None and issubclass(kind, JsonModel):
            components[kind.__name__]["properties"][tag]["description"] = kind.tag_meaning


def _structs(hints: Iterable[Any]) -> set[type[msgspec.Struct]]:
    kinds = (kind for hint in hints for kind in _all_kinds(hint))
    return {kind.cls for kind in kinds if isinstance(kind, msgspec.inspect.StructType)}


def _choices(hints: Iterable[Any], seen: set[type]) -> Iterator[type[Choice]]:
    for hint in hints:
        for kind in _all_kinds(hint):
            if isinstance(kind, msgspec.inspect.CustomType) and kind.cls not in seen:
                seen.add(kind.cls)
                if issubclass(kind.cls, Choice):
                    yield kind.cls
                    yield from _choices(kind.cls.shapes.values(), seen)


def schema_of(kind: type) -> Json:
    """Return the JSON schema of a domain value: of its text, unless its class has a `json_schema`."""
    if kind is object:
        raise TypeError("a signature has `object`: say Any, or better a model")
    if issubclass(kind, Choice):
        return {"$ref": _REF.format(name=kind.__name__)}
    schema: Json = {"type": "string"}
    if hasattr(kind, "json_schema"):
        schema = kind.json_schema
    elif issubclass(kind, FixedBytes):
        schema = {"type": "string", "pattern": f"^0x[0-9a-fA-F]{{{2 * kind.size}}}$"}
    elif issubclass(kind, Quantity):
        schema = {"type": "string", "pattern": f"^0x[0-9a-fA-F]{{1,{kind.bits // 4}}}$"}
    elif issubclass(kind, Data):
        schema = {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$"}
    elif issubclass(kind, ByteArray):
        item = {"type": "integer", "minimum": 0, "maximum": 255}
        schema = {"type": "array", "items": item}
    return {"title": kind.__name__, **schema}


def _hints(served: Method) -> list[Any]:
    return [*(parameter.hint for parameter in served.parameters), served.result]


def _notification(served: Method) -> type[Choice] | None:
    """Return what clients of a method are sent later, under the id that it returns."""
    return getattr(served.result, "notification", None)


def _entry(served: Method, schemas: list[Json]) -> Json:
    *params, result = schemas
    pairs = zip(served.parameters, params, strict=True)
    entry: Json = {
        "name": served.name,
        "summary": served.summary,
        "params": [_content(parameter, schema) for parameter, schema in pairs],
        "result": {"name": "result", "schema": result},
        "paramStructure": "either",
    }
    description = served.doc.partition("\n")[2].strip()
    if description:
        entry["description"] = description
    if served.past is not None:
        # What a fork does with the chain below it; an extension, too.
        entry["x-past"] = str(served.past)
    if notification := _notification(served):
        # OpenRPC has no notifications of servers; a member of this form is an extension.
        entry["x-notification"] = {"name": "result", "schema": schema_of(notification)}
    if served.errors:
        entry["errors"] = _errors(served.errors)
    return entry


def _content(parameter: Parameter, schema: Json) -> Json:
    """Describe a parameter; a default goes beside a reference, never into its target."""
    if not parameter.required and parameter.default is not None:
        default = msgspec.json.decode(encode(parameter.default))
        schema = {"allOf": [schema], "default": default} if "$ref" in schema else {**schema, "default": default}  # fmt: skip
    return {"name": parameter.wire_name, "required": parameter.required, "schema": schema}


def _errors(kinds: Iterable[type[EntresolError]]) -> list[Json]:
    """Describe errors; those with the same code share an entry, because a code may appear once."""
    texts: dict[int, list[str]] = {}
    for kind in kinds:
        summary = (kind.__doc__ or kind.__name__).partition("\n")[0].rstrip(".")
        texts.setdefault(kind.rpc_code, []).append(kind.rpc_text or summary)
    return [{"code": code, "message": "; ".join(text)} for code, text in sorted(texts.items())]
