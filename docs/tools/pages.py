"""The reference pages: methods, settings and errors; and the index of the decisions."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import astuple

from docs.tools.rpc_markdown import rpc_lines, rpc_markdown
from entresol import errors
from entresol.errors import INTERNAL, EntresolError
from entresol.node.config.anvil import ANVIL_SETTINGS
from entresol.node.config.flags import ANVIL_IGNORED, ANVIL_REJECTED, format_value, metavar_of
from entresol.node.config.schema import SETTINGS
from entresol.node.config.setting import Mirror
from entresol.primitives.base_token import L2_ASSET_ROUTER, L2_NATIVE_TOKEN_VAULT
from entresol.primitives.interop_bundles import BASE_TOKEN_HOLDER, INTEROP_CENTER, INTEROP_HANDLER
from entresol.primitives.interop_roots import MESSAGE_VERIFICATION, ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.rollup.system_contracts import BASE_TOKEN
from entresol.rpc.jsonrpc import errors as rpc_errors

if TYPE_CHECKING:
    from pathlib import Path

    from docs.tools.recording import Exchange
    from entresol.node.config.setting import Setting

GENERATED: Final = (
    "<!-- Written by docs/tools/generate.py: change the code, then run `make docs`. -->"
)

_METHODS: Final = """\
For who calls a node: each method in a line, as it is declared. Parameters are passed by position or by name; those with
a default may be omitted or null. A running node serves types, members, errors and examples as an OpenRPC document, at
`/openrpc.json` and by `rpc.discover`, and the documentation site shows them on this page.

`anvil_`, `evm_` and `tenderly_` follow anvil 1.7.1, and `hardhat_` follows Hardhat, on both layers
([decision 0107](decisions/0107-developer-methods-of-anvil-and-hardhat.md)). They take numbers (`Number`) as JSON integers,
as hex with `0x`, or as decimal digits in a string; so does every block number.

*Past* is what a fork does if a parameter names a block, a transaction or a range at or below its anchor:"""

_EXAMPLES: Final = """\
Every method that a node serves, with its parameters, its result and the errors worth knowing. Parameters are passed by
position or by name; those with a default may be omitted or null. [errors.md](errors.md) lists all errors. A running
node serves the same as an OpenRPC document, at `/openrpc.json` and by `rpc.discover`.

The examples are recorded from a fresh node on which Alice (`0xf39f…`) paid Bob (`0x7099…`) in block 1, deployed a counter
in block 2, incremented it in block 3 and sent a message to L1 in block 4. `…` marks omissions; ids of filters and
subscriptions differ each time."""

_SETTINGS: Final = """\
For who operates a node: its settings, by flag, by environment variable, or in the TOML file of `--config FILE`. A flag overrides a
variable, and a variable overrides the file. A switch is a flag without a value; its variable is `true` or `false`.
Lists are separated by commas, except in the file, where they are arrays; it has at most 128 KiB.

```toml
[chain]
data_dir = "chain"
block_time = 1.0

[server]
port = 4000
```"""

_SYSTEM_CONTRACTS: Final = (
    "// The system contracts that the pages read or call; `make docs` writes this module."
)
_READ_BY_THE_EXPLORER: Final = {
    "BASE_TOKEN": BASE_TOKEN,
    "BASE_TOKEN_HOLDER": BASE_TOKEN_HOLDER,
    "INTEROP_CENTER": INTEROP_CENTER,
    "INTEROP_HANDLER": INTEROP_HANDLER,
    "L1_MESSENGER": L1_MESSENGER,
    "L2_ASSET_ROUTER": L2_ASSET_ROUTER,
    "L2_NATIVE_TOKEN_VAULT": L2_NATIVE_TOKEN_VAULT,
    "MESSAGE_VERIFICATION": MESSAGE_VERIFICATION,
    "ROOT_STORAGE": ROOT_STORAGE,
}

_SETTINGS_TYPE: Final = '''\
"""The settings of a devnet by name, for type checkers; `make docs` writes this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SettingValue: TypeAlias = (
    "str | float | bool | Path | Sequence[str | int] | Sequence[Mapping[str, SettingValue]] | None"
)
"""The value of a setting, as the configuration has it; text is converted as from a flag. `chains` may have the settings
of each chain, as tables `[[chains]]` of a file do."""


class DevnetSettings(TypedDict, total=False):
    """The settings of the configuration (docs/config.md)."""
'''

_ANVIL: Final = """\
`entresol anvil` starts an L1 alone on the flags and defaults of anvil 1.7, so that scripts that start anvil can start
this: the same accounts, the same `Listening on 127.0.0.1:8545` on standard output, the same keys in `--config-out`. It
reads no variable but `ANVIL_IP_ADDR`, and no file. As anvil it serves the development methods and signs wherever it
listens. The chain is temporary; `--state` keeps it in a file."""

_ERRORS: Final = """\
For who handles errors of a node. Failures that are part of normal operation form one tree, in `entresol.errors` and
`entresol.rpc.jsonrpc.errors`; each has its code and its text on its class. Any other exception is a bug of the node: it
is logged with its traceback, and the client receives -32603 with the id of the log entry. The documentation site has
the whole tree on this page."""

_DECISIONS: Final = """\
For who changes the code: what still rules, with its reason, half a screen each (context, decision, measurement if there
is one, consequence), by [package](../architecture.md#the-packages). A new one takes the next free number; one that the
code has overtaken is rewritten, or removed: the history keeps it."""

PACKAGES: Final = {
    "all": "All packages",
    "primitives": "Values and their codecs",
    "storage": "One chain on disk",
    "state": "Accounts, tries and snapshots",
    "execution": "Blocks, calls and traces",
    "native": "The Rust crates",
    "chain": "One chain of either layer, and its pool",
    "dev": "What only users of anvil and Hardhat need",
    "sequencer": "What is sent, and when blocks are sealed",
    "fork": "A remote chain below a local one",
    "l1": "The layer 1",
    "rollup": "Between the layers",
    "server": "HTTP, WebSocket and IPC",
    "rpc": "JSON-RPC",
    "replication": "Workers and clusters",
    "explorer": "The explorer",
    "node": "Assembly, configuration, log and command line",
    "testing": "Both layers in a Python program, and in tests",
    "project": "Build, packages and pages",
}
"""The packages that decisions belong to, from below."""

DECISION: Final = re.compile(r"\A# (?P<title>.+)\n\nPackage: (?P<package>\w+)\.\n")
"""How a decision begins."""

_MEANINGS: Final = {
    3: "The call reverted; `data` is the revert data.",
    -32000: "Rejected, with geth's wording.",
    -32600: "The body is JSON, but not a request.",
    -32602: "Parameters are invalid, or name something unknown.",
    INTERNAL: "A bug of the node; `data` is the id of the log entry.",
}


def methods_page(document: Mapping[str, Any]) -> str:
    """Return the page of all methods, one line each."""
    title, _, rest = rpc_lines(document).partition("\n")
    return f"{title}\n\n{GENERATED}\n\n{_METHODS}\n{rest.rstrip()}\n"


def methods_reference(document: Mapping[str, Any], exchanges: Mapping[str, Exchange]) -> str:
    """Return the page of all methods for the site, each with its members, errors and example."""
    shown = {name: (it.request, it.response) for name, it in exchanges.items()}
    title, _, rest = rpc_markdown(document, shown).partition("\n")
    return f"{title}\n\n{_EXAMPLES}\n{rest.rstrip()}\n"


def settings_type() -> str:
    """Return the module with the names of all settings, so that type checkers and editors know them."""
    names = "\n".join(f"    {setting.name}: SettingValue" for setting in SETTINGS.all)
    return f"{_SETTINGS_TYPE}\n{names}\n"


def system_contracts_module() -> str:
    """Return the module of the explorer with the addresses of system contracts that it reads or calls."""
    lines = (
        f'export const {name} = "{address}";' for name, address in _READ_BY_THE_EXPLORER.items()
    )
    return "\n".join((_SYSTEM_CONTRACTS, "", *lines, ""))


def settings_page() -> str:
    """Return the page of all settings."""
    lines = ["# Configuration", "", GENERATED, "", _SETTINGS, ""]
    for section, title in SETTINGS.titles().items():
        lines += [f"## {section}", "", title, ""]
        if (mirror := SETTINGS.sections[section].mirror) is not None:
            lines += [*_mirror_lines(section, mirror), ""]
            continue
        lines += [
            "| flag | variable | key | value | default | description |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_setting_row(setting) for setting in SETTINGS.all if setting.section == section]
        lines += [""]
    lines += ["## entresol anvil", "", _ANVIL, "", "| flag | value | default | description |"]
    lines += ["|---|---|---|---|"]
    lines += [_setting_row(setting, has_variable=False) for setting in ANVIL_SETTINGS.all]
    lines += ["", "Accepted without effect:", "", "| flags | reason |", "|---|---|"]
    for ignored in ANVIL_IGNORED:
        names = ", ".join(f"`{name}`" for name in ignored.names)
        lines += [f"| {names} | {ignored.reason} |"]
    lines += ["", "Rejected by name:", "", "| flags | reason |", "|---|---|"]
    reasons = dict.fromkeys(ANVIL_REJECTED.values())
    for reason in reasons:
        flags = ", ".join(f"`{flag}`" for flag, why in ANVIL_REJECTED.items() if why == reason)
        lines += [f"| {flags} | {reason} |"]
    return "\n".join((*lines, ""))


def _mirror_lines(section: str, mirror: Mirror) -> list[str]:
    """Return what stands in place of the rows of a section that takes what another one takes."""
    first = next(setting for setting in SETTINGS.all if setting.section == section)
    inherited = ", ".join(f"`{name}`" for name in mirror.inherited)
    names = ", ".join(f"`{name}`" for name in (first.flag, first.variable, first.key))
    mirrored = section.removeprefix(mirror.prefix)
    return [
        f"It takes what `{mirrored}` takes, each name with `{mirror.prefix}` before it:",
        f"{names}, and so on, with their aliases.",
        f"As in `{mirrored}` unless they are given: {inherited}.",
    ]


def errors_page() -> str:
    """Return the page of the codes of errors."""
    lines = ["# Errors", "", GENERATED, "", _ERRORS, "", "## Codes", ""]
    lines += ["| code | meaning |", "|---|---|"]
    dir(errors)  # Those of features are defined now.
    tree = list(_tree(EntresolError))
    codes = {kind.rpc_code: _meaning(kind.rpc_code, tree) for _, kind in tree}
    codes = {**_simulation_codes(tree), **_server_codes(), **codes}
    lines += [f"| {code} | {codes[code]} |" for code in sorted(codes)]
    return "\n".join((*lines, ""))


def errors_reference() -> str:
    """Return the page of all errors and their codes for the site."""
    lines = [errors_page(), "## The tree", "", "| error | code | meaning |", "|---|---|---|"]
    lines += [
        f"| {'&emsp;' * depth}`{kind.__name__}` | {kind.rpc_code} | {_sentence(kind)} |"
        for depth, kind in _tree(EntresolError)
    ]
    return "\n".join((*lines, ""))


def decisions_page(folder: Path) -> str:
    """Return the index of the decisions in a folder, by package."""
    rows: dict[str, list[str]] = {package: [] for package in PACKAGES}
    for path in sorted(folder.glob("[0-9]*.md")):
        found = DECISION.match(path.read_text(encoding="utf-8"))
        if found is None or found["package"] not in PACKAGES:
            raise SystemExit(
                f"{path.name}: below its title a decision has a line such as "
                f"`Package: chain.`, with one of {', '.join(PACKAGES)}"
            )
        number = f"[{path.stem[:4]}]({path.name})"
        rows[found["package"]] += [f"- {number}: {found['title']}"]
    lines = ["# Decisions", "", GENERATED, "", _DECISIONS]
    for package, title in PACKAGES.items():
        if rows[package]:
            heading = title if package == "all" else f"{title}: `{package}`"
            lines += ["", f"## {heading}", "", *rows[package]]
    return "\n".join((*lines, ""))


def _meaning(code: int, tree: Iterable[tuple[int, type[EntresolError]]]) -> str:
    """Describe a code: by a text of its own if many errors share it, else by their docstrings."""
    if code in _MEANINGS:
        return _MEANINGS[code]
    return " ".join(_sentence(kind) for _, kind in tree if vars(kind).get("rpc_code") == code)


def _simulation_codes(tree: Iterable[tuple[int, type[EntresolError]]]) -> dict[int, str]:
    """Return the codes of calls that `eth_simulateV1` rejects, with what they mean."""
    sentences: dict[int, list[str]] = {}
    for _, kind in tree:
        if code := vars(kind).get("simulation_code"):
            sentences.setdefault(code, []).append(_sentence(kind))
    for name, code in errors.TransactionRuleBroken.SIMULATION_CODES.items():
        sentences.setdefault(code, []).append(f"{name.capitalize()}.")
    return {code: f"In `eth_simulateV1`: {' '.join(texts)}" for code, texts in sentences.items()}


def _server_codes() -> dict[int, str]:
    """Return the codes of what the server rejects before a request is decoded, with their texts."""
    bodies = (value for value in astuple(rpc_errors.JSON_RPC) if isinstance(value, bytes))
    rejections = (json.loads(body)["error"] for body in bodies)
    return {rejection["code"]: f"{rejection['message']}." for rejection in rejections}


def _setting_row(setting: Setting, *, has_variable: bool = True) -> str:
    flag = "`, `".join((setting.flag, *setting.aliases))
    no_flag = f"--no-{flag.removeprefix('--')}"
    if setting.is_switch and setting.default is None:
        flag = f"{flag}`, `{no_flag}"
    elif setting.is_switch and setting.default:
        flag = no_flag
    takes = "a switch" if setting.is_switch else " or ".join(
        f"`{choice}`" for choice in setting.choices or (metavar_of(setting),)
    )  # fmt: skip
    default = format_value(setting.default)
    shown = f"`{default}`" if default else "none"
    names = (f"`{setting.variable}`", f"`{setting.key}`") if has_variable else ()
    cells = (f"`{flag}`", *names, takes, shown, setting.description)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sentence(kind: type[EntresolError]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _tree(kind: type[EntresolError], depth: int = 0) -> Iterator[tuple[int, type[EntresolError]]]:
    """Yield the errors below `kind` with their depth."""
    for child in kind.__subclasses__():
        if child.__module__.startswith("entresol."):
            yield depth, child
            yield from _tree(child, depth + 1)
