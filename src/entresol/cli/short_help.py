"""The short `--help` of a command with many flags: those that people use, on one screen; `--help-all` has all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.features import FEATURES
from entresol.node.declaration import declared_features

if TYPE_CHECKING:
    from entresol.node.config.flags import Argument, Parser

_SENTENCES: Final[Mapping[str, str]] = {
    "run": "start a node",
    "anvil": "start an L1 alone",
    "shell": "open a Python console with both layers",
    "verify": "execute every block of a data directory again",
    "rebuild": "derive the indexes of a data directory again",
    "backup": "copy the data directory of a node",
    "cache": "list, show, clear or export what forks have read",
    "replay": "execute a transaction of another chain again",
    "derive": "build a chain from what L1 has of it",
    "settle": "revert batches on L1",
    "gas-report": "print the gas of contracts by function or line",
    "cluster": "create, show or unwind a cluster",
    "completion": "print a completion script",
}
_OF_FEATURES: Final = ("cache", "replay", "derive", "gas-report", "cluster")
_CARRIED_OUT: Final = {word for feature in declared_features(FEATURES) for word in feature.commands}
COMMANDS: Final = {
    word: sentence
    for word, sentence in _SENTENCES.items()
    if word not in _OF_FEATURES or word in _CARRIED_OUT
}
"""The commands, each with what it does, but for those of features that are not there."""

LABEL_WIDTH: Final = 29
MAX_DEFAULT: Final = 12
_DEFAULT: Final = re.compile(r" \[([^\[\]]+)\]$")

_TEXTS: Final[Mapping[str, str]] = {
    "--accept-from": "take this wrong batch from --snapshot",
    "--block": "execute all transactions of a block",
    "--blocks": "the blocks, such as 10..20; else all",
    "--config": "TOML file with settings",
    "--edits-from": "node that has edits of which L1 has the hash",
    "--json": "print JSON, with the trace",
    "--l1-from-block": "search for the chain from this L1 block on",
    "--l2-url": "a node that runs",
    "--lines": "print this source with the gas of its lines",
    "--no-silent": "show the log of the node",
    "--snapshot": "directory that has the batch of --accept-from",
    "--sort": "by name, calls, avg, max or total",
    "--struct-logs": "print every step as JSON",
    "--to": "block that unwind reverts the chain to",
}
"""The effect of each flag that is not a setting, in a few words; `--help-all` has all that is to say of it."""

_END: Final = """\
Each flag is also an environment variable (--chain-id is ENTRESOL_CHAIN_ID) and
a key of the TOML file of --config."""


class ShortHelp(NamedTuple):
    """The short help of a command."""

    usage: str
    description: str
    groups: Mapping[str, tuple[str, ...]]
    """Flags, below a title."""
    texts: Mapping[str, str] = {}
    """The texts of flags that do something else here."""
    lists_commands: bool = False


_TEXTS_OF_A_NODE: Final = {
    "--accounts": "accounts with ether on all chains [10]",
    "--l1-fork-url": "start the L1 from the state of another chain",
    "--port": "port of the L2; 0 picks a free one",
}
_RUN: Final = ShortHelp(
    "entresol [COMMAND] [FLAGS]",
    "A layer-2 node of the ZK Stack with the L1 that it settles to, for development.",
    {
        "chains": (
            *("--data-dir", "--chain-id", "--chains", "--accounts", "--block-time"),
            *("--base-token", "--no-l1", "--l1-url", "--fork-url"),
        ),
        "server and output": ("--port", "--l1-port", "--host", "--verbosity", "--config"),
    },
    _TEXTS_OF_A_NODE,
    lists_commands=True,
)
_OF_A_DIRECTORY: Final = ("--data-dir", "--config", "--chain-id", "--chains", "--fork-url")

_TEXTS_OF_A_DIRECTORY: Final = {
    "--data-dir": "the directory; no node may use it",
    "--chain-id": "chain id that it was created with",
    "--chains": "the L2s that it was created with",
    "--fork-url": "remote of a fork, for what its cache lacks",
}

SHORT_HELP: Final[Mapping[str, ShortHelp]] = {
    "": _RUN,
    "run": ShortHelp(
        "entresol run [FLAGS]",
        "Start a node: an L2, and the L1 that it settles to, until it is interrupted.",
        {
            "chains": (
                *("--data-dir", "--chain-id", "--chains", "--accounts", "--mnemonic"),
                *("--base-token", "--hardfork", "--gas-limit", "--block-time"),
                *("--no-mining", "--no-l1", "--l1-url", "--state"),
            ),
            "forks": ("--fork-url", "--fork-block-number", "--fork-cache", "--l1-fork-url"),
            "server and output": (
                *("--host", "--port", "--l1-port", "--workers", "--preset"),
                *("--verbosity", "--abi", "--silent", "--config"),
            ),
        },
        _TEXTS_OF_A_NODE,
    ),
    "verify": ShortHelp(
        "entresol verify --data-dir DIR [FLAGS]",
        "Execute every block of a data directory again, of all of its chains, and compare\n"
        "the results with what is stored. The exit code is 1 if one differs.",
        {"flags": _OF_A_DIRECTORY},
        _TEXTS_OF_A_DIRECTORY,
    ),
    "rebuild": ShortHelp(
        "entresol rebuild --data-dir DIR [FLAGS]",
        "Derive the indexes of a data directory again from its blocks, of all chains.",
        {"flags": _OF_A_DIRECTORY[:-1]},
        _TEXTS_OF_A_DIRECTORY,
    ),
    "anvil": ShortHelp(
        "entresol anvil [FLAGS]",
        "Start an L1 alone, on the flags and defaults of anvil 1.7.",
        {
            "chain": (
                *("--chain-id", "--accounts", "--balance", "--mnemonic", "--hardfork"),
                *("--gas-limit", "--block-time", "--no-mining", "--auto-impersonate"),
                *("--state", "--load-state", "--dump-state"),
            ),
            "fork": ("--fork-url", "--fork-block-number", "--fork-cache", "--offline"),
            "server and output": ("--host", "--port", "--print-traces", "-v", "--quiet"),
        },
    ),
    "shell": ShortHelp(
        "entresol shell [FLAGS]",
        "Open a Python console with a new node, its accounts and the bridge, by web3.py;\n"
        "in IPython if it is installed. It needs pip install 'entresol[testing]'.\n"
        "Ports are free ones, and the node logs nothing, unless flags say otherwise.",
        {
            "flags of a node": (
                *("--chain-id", "--chains", "--accounts", "--base-token", "--block-time"),
                *("--data-dir", "--fork-url", "--l1-fork-url", "--no-silent", "--config"),
            )
        },
        _TEXTS_OF_A_NODE,
    ),
    "cluster": ShortHelp(
        "entresol cluster {init | status | unwind --to N} --cluster URL [FLAGS]",
        "init creates the tables and the chain; status prints a table of nodes; unwind\n"
        "reverts the chain.",
        {"flags": ("--cluster", "--to", "--config", "--chain-id")},
    ),
    "replay": ShortHelp(
        "entresol replay {HASH | --block N} --fork-url URL [FLAGS]",
        "Execute a transaction of another chain again on the block before its own, print\n"
        "its call tree, and compare its receipt. The exit code is 1 if it differs.",
        {
            "flags": (
                *("--block", "--fork-url", "--fork-header", "--fork-cache", "--offline"),
                *("--fork-verify", "--abi", "--sources", "--json", "--struct-logs", "--config"),
            )
        },
    ),
    "derive": ShortHelp(
        "entresol derive --l1-url URL --bridgehub ADDRESS --data-dir DIR [FLAGS]",
        "Build a chain from what it has published on L1, and compare it with what L1\n"
        "says of it; it goes on where it was interrupted. The exit code is 3 if a\n"
        "batch is not what L1 says.",
        {
            "flags": (
                *("--l1-url", "--bridgehub", "--chain-id", "--data-dir", "--l1-from-block"),
                *("--genesis", "--edits-from", "--accept-from", "--snapshot", "--config"),
            )
        },
        {
            "--chain-id": "which chain, if the Bridgehub has several",
            "--data-dir": "a new directory, or one that was derived before",
            "--genesis": "the genesis, if it is too large for L1",
            "--l1-url": "the L1",
        },
    ),
    "settle": ShortHelp(
        "entresol settle revert --to BATCH --l1-url URL [FLAGS]",
        "Take back the batches after one, which L1 has committed and not executed, with\n"
        "the key of a validator; a node settles its own again.",
        {
            "flags": (
                *("--to", "--l1-url", "--bridgehub", "--chain-id", "--data-dir"),
                *("--operator-key-file", "--config"),
            )
        },
        {
            "--data-dir": "directory of the chain, which says its Bridgehub",
            "--l1-url": "the L1",
            "--to": "last batch that is left",
        },
    ),
    "gas-report": ShortHelp(
        "entresol gas-report [--l2-url URL | --data-dir DIR] [FLAGS]",
        "Print how much gas the contracts of a chain have used, by function, or beside\n"
        "the lines of a source. The node, or --sources, knows the sources.",
        {
            "flags": (
                *("--l2-url", "--data-dir", "--sources", "--blocks", "--lines", "--sort"),
                *("--json", "--config"),
            )
        },
        {"--data-dir": "read this directory; no node may use it", "--json": "print JSON"},
    ),
}
"""By command; `""` is what `entresol --help` prints. Commands with few flags have none, and print all of them."""


def short_help(command: str, parser: Parser) -> str | None:
    """Return the short help of a command; None if it has few flags."""
    page = SHORT_HELP.get(command)
    if page is None:
        return None
    return "\n".join(
        _lines(
            page,
            {flag: argument for argument in parser.arguments() for flag in argument.flags},
            command,
        )
    )


def _lines(page: ShortHelp, arguments: Mapping[str, Argument], command: str) -> Iterator[str]:
    yield from (f"usage: {page.usage}", "", page.description)
    if page.lists_commands:
        yield from ("", "commands (run is the default):")
        yield from (f"  {name:<{LABEL_WIDTH}}{text}" for name, text in COMMANDS.items())
    for title, flags in page.groups.items():
        yield from ("", f"{title}:")
        texts = {**_TEXTS, **page.texts}
        for flag in flags:
            argument = arguments[flag]
            yield _flag_line(flag, texts.get(flag, argument.short), argument)
    yield ""
    if command != "anvil":
        yield _END
    name = f" {command}" if command else ""
    yield f"All flags: entresol{name} --help-all." + (
        "" if command else " Those of a command: entresol COMMAND --help."
    )


def _flag_line(flag: str, text: str, argument: Argument) -> str:
    label = f"{flag} {argument.metavar}" if argument.takes_value else flag
    if len(label) >= LABEL_WIDTH:
        label = f"{flag} …"
    found = _DEFAULT.search(argument.description)
    is_shown = found is not None and argument.takes_value and len(found[1]) <= MAX_DEFAULT
    default = f" [{found[1]}]" if found is not None and is_shown else ""
    return f"  {label:<{LABEL_WIDTH}}{text}{default}"
