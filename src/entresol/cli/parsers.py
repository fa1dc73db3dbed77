"""The parser of each command: its usage, its arguments and its flags."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import entresol
from entresol.cli.short_help import short_help
from entresol.node.config.flags import (
    ANVIL_IGNORED,
    ANVIL_REJECTED,
    NODE_REJECTED,
    HelpFormatter,
    Parser,
    add_flags,
    add_ignored_flags,
)
from entresol.node.config.schema import SETTINGS

if TYPE_CHECKING:
    from entresol.node.config.setting import Setting


PACKAGE: Final = Path(entresol.__file__).parent
COMMIT_FILE: Final = "commit.txt"
"""What `make wheel` writes into the package."""
DIGITS: Final = 12


class PrintVersion(argparse.Action):
    """Print the version and exit; the commit is looked up only then."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print one line."""
        print(version_line())
        parser.exit()


def version_line() -> str:
    """Return the version, with the commit if it is known: `entresol 0.1.0 (0123456789ab)`."""
    from importlib import metadata  # noqa: PLC0415 - it takes 20 ms of every start

    installed = metadata.distribution("entresol")
    commit = commit_of(PACKAGE, installed.read_text("direct_url.json"))
    return f"entresol {installed.version}" + (f" ({commit})" if commit else "")


def commit_of(package: Path, direct_url: str | None = None) -> str | None:
    """Return the commit that `package` was built from; `-dirty` marks a checkout that differs from it.

    In a checkout git knows it, a wheel has a file, and pip records the commit of a URL that leads to a repository in
    `direct_url`.
    """
    root = package.parent.parent
    if (root / ".git").exists():
        return _describe(root)
    if (package / COMMIT_FILE).exists():
        return (package / COMMIT_FILE).read_text(encoding="ascii").strip()
    commit = json.loads(direct_url or "{}").get("vcs_info", {}).get("commit_id")
    return commit and str(commit)[:DIGITS]


def _describe(root: Path) -> str | None:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", f"--abbrev={DIGITS}"]
    try:
        # git is wherever the user has it. No tag is described, only the commit.
        ran = subprocess.run([*command, "--exclude=*"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()


USAGE: Final = "entresol [run | rebuild | verify] [FLAGS]"
CLUSTER_HELP: Final = """\
init creates the tables and the chain; status prints a table of nodes; \
unwind reverts the chain to the block of --to"""
BACKUP_DESCRIPTION: Final = """\
Copy the data directory of a node, also while it runs: the L2, and the development L1 if it has one. The copy is both \
chains at one moment."""
ANVIL_DESCRIPTION: Final = "An L1 alone, on the flags and defaults of anvil 1.7."
SHELL_DESCRIPTION: Final = """\
A Python console with both layers of a new node, their accounts and the bridge, by web3.py; with --chains, every L2 has \
a client and a bridge (l2s, bridges). It needs pip install 'entresol[testing]'; IPython is used if it is installed. Ports \
are free ones, and the node logs nothing, unless flags say otherwise (--no-silent)."""
CACHE_DESCRIPTION: Final = """\
What forks have read of their remote chains. A fork is named by the first column of list, or by its beginning."""
CACHE_HELP: Final = """\
list prints a table of forks; show FORK counts its values; clear [FORK…] deletes forks that no process uses; \
export FILE [FORK] adds one to a file, for a repository, which --fork-cache FILE reads and writes"""
REPLAY_DESCRIPTION: Final = """\
Execute a transaction of another chain again: fork the block before its own, execute what precedes it there, print its \
call tree, what it logged, its gas and why it failed, and compare its receipt. With --block, count the receipts of a \
block that differ. The exit code is 1 if one does."""
DERIVE_DESCRIPTION: Final = """\
Build a chain from L1 alone: read its genesis and every batch that it has published, execute them, compare the results with \
what L1 says of each, and write a data directory that entresol opens. It goes on where it was interrupted. The exit code is \
3 if a batch is not what L1 says."""
SETTLE_DESCRIPTION: Final = """\
What an operator does on L1 by hand, with the key of a validator of the chain. The chain is named by its id and its \
Bridgehub, or by its data directory."""
SETTLE_HELP: Final = """\
revert takes back the batches after that of --to, which L1 has committed and not executed; a node settles its own again"""
GAS_REPORT_DESCRIPTION: Final = """\
Print how much gas the contracts of a chain have used, by function, or beside the lines of a source. The blocks are executed \
again. Contracts are named by the sources that the node was started with, or those of --sources with a data directory."""
COMPLETION_DESCRIPTION: Final = """\
Print a script that completes commands, flags and their values. Bash and zsh: eval "$(entresol completion bash)" in \
~/.bashrc, or zsh in ~/.zshrc after compinit. Fish: entresol completion fish | source."""
EPILOG: Final = """\
Each flag is also an environment variable (--chain-id is ENTRESOL_CHAIN_ID) and a key in the TOML file of --config \
(chain_id under [chain]). Flags override variables, and variables the file."""

_BLOCK_OF_A_FORK: Final = ("fork_block_number", "fork_block_hash", "fork_transaction_hash")
_OF_A_DERIVATION: Final = frozenset({"l1_url", "bridgehub", "chain_id", "genesis", "data_dir"})
_OF_A_SETTLEMENT: Final = frozenset(
    {
        *("l1_url", "bridgehub", "chain_id", "data_dir", "operator_key", "operator_key_file"),
        *("l1_max_fee_gwei", "l1_fee_multiplier"),
    }
)
_OF_A_GAS_REPORT: Final = frozenset({"data_dir", "sources", "chain_id", "chains"})
_NOT_OF_A_GAS_REPORT: Final = "a gas report is of blocks that are sealed"
_NOT_OF_A_SETTLEMENT: Final = "settle starts no node, and sends a single transaction"
_NOT_OF_A_DERIVATION: Final = "derive starts no node, and everything else of the chain is on L1"
_NOT_OF_A_REPLAY: Final = "a replay starts no node, and its block is that of what is replayed"

SHELLS: Final = ("bash", "zsh", "fish")
CACHE_COMMANDS: Final = ("list", "show", "clear", "export")
GAS_SORTS: Final = ("name", "calls", "avg", "max", "total")
SETTLE_COMMANDS: Final = ("revert",)
CLUSTER_COMMANDS: Final = ("init", "status", "unwind")


def node_parser(command: str = "") -> Parser:
    """Return the parser of `run`, `rebuild` and `verify`; without a command it explains all of them."""
    description = "A layer-2 node of the ZK Stack family, for development."
    texts = {"usage": USAGE, "description": description, "epilog": EPILOG}
    parser = _new_parser(NODE_REJECTED, command, prog="entresol", **texts)
    parser.add_argument(
        "command",
        metavar="command",
        help="What to do; entresol --help has all commands, of which these share their flags.",
        nargs="?",
        choices=("run", "rebuild", "verify"),
        default="run",
    )
    _add_settings(parser, SETTINGS.all)
    return parser


def anvil_parser() -> Parser:
    """Return the parser of `anvil`."""
    from entresol.node.config.anvil import ANVIL_SETTINGS  # noqa: PLC0415

    parser = _new_parser(
        ANVIL_REJECTED, "anvil", prog="entresol anvil", description=ANVIL_DESCRIPTION
    )
    add_flags(parser, ANVIL_SETTINGS.all, ANVIL_SETTINGS.titles())
    add_ignored_flags(parser, ANVIL_IGNORED)
    return parser


def cluster_parser() -> Parser:
    """Return the parser of `cluster`."""
    usage = "entresol cluster {init,status,unwind --to BLOCK} --cluster URL [flags]"
    parser = _new_parser(
        NODE_REJECTED, "cluster", prog="entresol cluster", usage=usage, epilog=EPILOG
    )
    parser.add_argument("command", metavar="command", help=CLUSTER_HELP, choices=CLUSTER_COMMANDS)
    parser.add_argument(
        "--to", type=int, metavar="BLOCK", help="Block that unwind reverts the chain to."
    )
    _add_settings(parser, SETTINGS.all)
    return parser


def backup_parser() -> Parser:
    """Return the parser of `backup`."""
    usage = "entresol backup --data-dir DIR DEST"
    parser = _new_parser(
        {}, "backup", prog="entresol backup", usage=usage, description=BACKUP_DESCRIPTION
    )
    parser.add_argument("--data-dir", metavar="DIR", help="Data directory of the node.")
    parser.add_argument("dest", type=Path, metavar="DEST", help="Directory to create.")
    return parser


def cache_parser() -> Parser:
    """Return the parser of `cache`."""
    usage = (
        "entresol cache {list | show FORK | clear [FORK…] | export FILE [FORK]}\n"
        "                      [--fork-cache DIR|FILE]"
    )
    parser = _new_parser(
        {}, "cache", prog="entresol cache", usage=usage, description=CACHE_DESCRIPTION
    )
    parser.add_argument("command", metavar="command", help=CACHE_HELP, choices=CACHE_COMMANDS)
    parser.add_argument(
        "names", metavar="FILE|FORK", nargs="*", help="What to show, clear or export."
    )
    parser.add_argument(
        "--fork-cache",
        metavar="DIR|FILE",
        help="Where the forks are, if not in the user's cache directory.",
    )
    return parser


def replay_parser() -> Parser:
    """Return the parser of `replay`."""
    usage = "entresol replay {HASH | --block N} --fork-url URL [--json] [--struct-logs] [flags]"
    texts = {"usage": usage, "description": REPLAY_DESCRIPTION, "epilog": EPILOG}
    # What is replayed names the block.
    names = {setting.name for setting in SETTINGS.all if setting.section == "fork"} - set(
        _BLOCK_OF_A_FORK
    )
    listed, others = _parted(names | {"abi", "sources"}, _NOT_OF_A_REPLAY)
    parser = _new_parser(others, "replay", prog="entresol replay", **texts)
    parser.add_argument("hash", metavar="HASH", nargs="?", help="Transaction to execute again.")
    parser.add_argument("--block", type=int, metavar="N", help="Block to execute again.")
    parser.add_argument("--json", action="store_true", help="Print JSON, with the trace.")
    parser.add_argument(
        "--struct-logs", action="store_true", help="Print every step of the transaction as JSON."
    )
    _add_settings(parser, listed)
    return parser


def _parted(names: Collection[str], reason: str) -> tuple[list[Setting], dict[str, str]]:
    """Return the settings that a command has, and why it rejects the flags of the others."""
    listed = [setting for setting in SETTINGS.all if setting.name in names]
    return listed, {setting.flag: reason for setting in SETTINGS.all if setting.name not in names}


def derive_parser() -> Parser:
    """Return the parser of `derive`."""
    usage = (
        "entresol derive --l1-url URL --bridgehub ADDRESS --data-dir DIR\n"
        "                       [--chain-id N] [--l1-from-block N] [--genesis FILE]\n"
        "                       [--edits-from URL] [--accept-from BATCH --snapshot DIR]"
    )
    texts = {"usage": usage, "description": DERIVE_DESCRIPTION, "epilog": EPILOG}
    listed, others = _parted(_OF_A_DERIVATION, _NOT_OF_A_DERIVATION)
    parser = _new_parser(others, "derive", prog="entresol derive", **texts)
    parser.add_argument(
        "--l1-from-block",
        type=int,
        metavar="N",
        help="L1 block from which on the chain is searched for; by default all of them.",
    )
    parser.add_argument(
        "--edits-from",
        metavar="URL",
        help="Node that has the edits of which L1 has only the hash, because they are larger than a batch.",
    )
    parser.add_argument(
        "--accept-from",
        type=int,
        metavar="BATCH",
        help="Batch that raises an alarm and that L1 has executed all the same: take it from --snapshot.",
    )
    parser.add_argument(
        "--snapshot",
        type=Path,
        metavar="DIR",
        help="Data directory that has this batch as L1 has executed it; no node may have it open.",
    )
    _add_settings(parser, listed)
    return parser


def settle_parser() -> Parser:
    """Return the parser of `settle`."""
    usage = (
        "entresol settle revert --to BATCH --l1-url URL --operator-key-file FILE\n"
        "                              [--bridgehub ADDRESS] [--data-dir DIR]"
    )
    texts = {"usage": usage, "description": SETTLE_DESCRIPTION, "epilog": EPILOG}
    listed, others = _parted(_OF_A_SETTLEMENT, _NOT_OF_A_SETTLEMENT)
    parser = _new_parser(others, "settle", prog="entresol settle", **texts)
    parser.add_argument("command", metavar="command", help=SETTLE_HELP, choices=SETTLE_COMMANDS)
    parser.add_argument("--to", type=int, metavar="BATCH", help="Last batch that is left.")
    _add_settings(parser, listed)
    return parser


def gas_report_parser() -> Parser:
    """Return the parser of `gas-report`."""
    usage = (
        "entresol gas-report [--l2-url URL | --data-dir DIR] [--blocks FROM..TO]\n"
        "                           [--lines FILE] [--sort COLUMN] [--json]"
    )
    texts = {"usage": usage, "description": GAS_REPORT_DESCRIPTION}
    listed, others = _parted(_OF_A_GAS_REPORT, _NOT_OF_A_GAS_REPORT)
    parser = _new_parser(others, "gas-report", prog="entresol gas-report", **texts)
    parser.add_argument("--l2-url", metavar="URL", help="A node that runs. [http://127.0.0.1:3050]")
    parser.add_argument(
        "--blocks", metavar="FROM..TO", help="The blocks, by numbers or tags; by default all."
    )
    parser.add_argument(
        "--lines",
        metavar="FILE",
        help="Print the source whose name ends so, with the gas of each line.",
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=GAS_SORTS,
        default="name",
        help="Sort by name, or by calls, avg, max or total, the largest first.",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON.")
    _add_settings(parser, listed)
    return parser


def shell_parser() -> Parser:
    """Return the parser of `shell`."""
    parser = _new_parser(
        NODE_REJECTED, "shell", prog="entresol shell", description=SHELL_DESCRIPTION
    )
    _add_settings(parser, SETTINGS.all)
    parser.add_argument(
        "--no-silent",
        dest="silent",
        action="store_false",
        default=None,
        help="Log and print as a node does.",
    )
    return parser


def completion_parser() -> Parser:
    """Return the parser of `completion`."""
    parser = _new_parser(
        {}, "completion", prog="entresol completion", description=COMPLETION_DESCRIPTION
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish.")
    return parser


PARSERS: Final[Mapping[str, Callable[[], Parser]]] = {
    "run": partial(node_parser, "run"),
    "anvil": anvil_parser,
    "rebuild": partial(node_parser, "rebuild"),
    "verify": partial(node_parser, "verify"),
    "backup": backup_parser,
    "cluster": cluster_parser,
    "cache": cache_parser,
    "replay": replay_parser,
    "derive": derive_parser,
    "settle": settle_parser,
    "gas-report": gas_report_parser,
    "shell": shell_parser,
    "completion": completion_parser,
}
"""The parser of each command."""


class PrintHelp(argparse.Action):
    """Print the help that fits a screen, or all of it, and exit."""

    def __init__(
        self, option_strings: list[str], dest: str, *, command: str, has_all: bool, **options: Any
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)
        self._command = command
        self._has_all = has_all

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the text."""
        assert isinstance(parser, Parser)
        short = None if self._has_all else short_help(self._command, parser)
        print(parser.format_help().rstrip() if short is None else short)
        parser.exit()


def _add_settings(parser: Parser, settings: Iterable[Setting]) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with settings.")
    add_flags(parser, settings, SETTINGS.titles())


def _new_parser(rejected: Mapping[str, str], command: str, **texts: str) -> Parser:
    parser = Parser(
        rejected=rejected,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
        **texts,
    )
    for flags, help_text in (
        (("-h", "--help"), "Print the flags that people use."),
        (("--help-all",), "Print all flags."),
    ):
        parser.add_argument(
            *flags,
            action=PrintHelp,
            command=command,
            has_all=flags == ("--help-all",),
            help=help_text,
        )
    parser.add_argument(
        *("-V", "--version"), action=PrintVersion, help="Print the version and its commit."
    )
    return parser
