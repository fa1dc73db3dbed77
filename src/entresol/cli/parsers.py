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
from entresol.cli.short_help import COMMANDS, SHORT_HELP, short_help
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
"""The file that `make wheel` writes into the package."""
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


CLUSTER_HELP: Final = """\
init creates the tables and the chain; status prints a table of nodes; \
unwind reverts the chain to the block of --to"""
BACKUP_DESCRIPTION: Final = """\
Copy the data directory of a node, also while it runs: the L2, and the development L1 if it has one. The copy is both \
chains at one moment."""
CACHE_USAGE: Final = """\
entresol cache {list | show FORK | clear [FORK…] | export FILE [FORK]}
                      [--fork-cache DIR|FILE]"""
CACHE_DESCRIPTION: Final = """\
What forks have read of their remote chains. A fork is named by the first column of list, or by its beginning."""
CACHE_HELP: Final = """\
list prints a table of forks; show FORK counts its values; clear [FORK…] deletes forks that no process uses; \
export FILE [FORK] adds one to a file, for a repository, which --fork-cache FILE reads and writes"""
SETTLE_HELP: Final = """\
revert takes back the batches after that of --to, which L1 has committed and not executed; a node settles its own again"""
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
    parser = _new_parser(command, NODE_REJECTED, prog="entresol", epilog=EPILOG)
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

    parser = _new_parser("anvil", ANVIL_REJECTED)
    add_flags(parser, ANVIL_SETTINGS.all, ANVIL_SETTINGS.titles())
    add_ignored_flags(parser, ANVIL_IGNORED)
    return parser


def cluster_parser() -> Parser:
    """Return the parser of `cluster`."""
    parser = _new_parser("cluster", NODE_REJECTED, epilog=EPILOG)
    parser.add_argument("command", metavar="command", help=CLUSTER_HELP, choices=CLUSTER_COMMANDS)
    parser.add_argument(
        "--to", type=int, metavar="BLOCK", help="Block that unwind reverts the chain to."
    )
    _add_settings(parser, SETTINGS.all)
    return parser


def backup_parser() -> Parser:
    """Return the parser of `backup`."""
    usage = "entresol backup --data-dir DIR DEST"
    parser = _new_parser("backup", usage=usage, description=BACKUP_DESCRIPTION)
    parser.add_argument("--data-dir", metavar="DIR", help="Data directory of the node.")
    parser.add_argument("dest", type=Path, metavar="DEST", help="Directory to create.")
    return parser


def cache_parser() -> Parser:
    """Return the parser of `cache`."""
    parser = _new_parser("cache", usage=CACHE_USAGE, description=CACHE_DESCRIPTION)
    parser.add_argument("command", metavar="command", help=CACHE_HELP, choices=CACHE_COMMANDS)
    parser.add_argument(
        "names", metavar="FILE|FORK", nargs="*", help="What to show, clear or export."
    )
    where = "Where the forks are, if not in the user's cache directory."
    parser.add_argument("--fork-cache", metavar="DIR|FILE", help=where)
    return parser


def replay_parser() -> Parser:
    """Return the parser of `replay`."""
    names = {setting.name for setting in SETTINGS.all if setting.section == "fork"}
    # What is replayed names the block.
    names = names - set(_BLOCK_OF_A_FORK) | {"abi", "sources"}
    parser = _parser_of("replay", names, _NOT_OF_A_REPLAY)
    parser.add_argument("hash", metavar="HASH", nargs="?", help="Transaction to execute again.")
    parser.add_argument("--block", type=int, metavar="N", help="Block to execute again.")
    parser.add_argument("--json", action="store_true", help="Print JSON, with the trace.")
    parser.add_argument(
        "--struct-logs", action="store_true", help="Print every step of the transaction as JSON."
    )
    return parser


def derive_parser() -> Parser:
    """Return the parser of `derive`."""
    parser = _parser_of("derive", _OF_A_DERIVATION, _NOT_OF_A_DERIVATION)
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
    return parser


def settle_parser() -> Parser:
    """Return the parser of `settle`."""
    parser = _parser_of("settle", _OF_A_SETTLEMENT, _NOT_OF_A_SETTLEMENT)
    parser.add_argument("command", metavar="command", help=SETTLE_HELP, choices=SETTLE_COMMANDS)
    parser.add_argument("--to", type=int, metavar="BATCH", help="Last batch that is left.")
    return parser


def gas_report_parser() -> Parser:
    """Return the parser of `gas-report`."""
    parser = _parser_of("gas-report", _OF_A_GAS_REPORT, _NOT_OF_A_GAS_REPORT)
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
    return parser


def shell_parser() -> Parser:
    """Return the parser of `shell`."""
    parser = _new_parser("shell", NODE_REJECTED)
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
    parser = _new_parser("completion", description=COMPLETION_DESCRIPTION)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish.")
    return parser


_PARSERS: Final[Mapping[str, Callable[[], Parser]]] = {
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
PARSERS: Final = {word: parser for word, parser in _PARSERS.items() if word in COMMANDS}
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


def _parser_of(command: str, names: Collection[str], reason: str) -> Parser:
    """Return the parser of a command that has some of the settings, and rejects the flags of all others."""
    listed = [setting for setting in SETTINGS.all if setting.name in names]
    others = {setting.flag: reason for setting in SETTINGS.all if setting.name not in names}
    parser = _new_parser(command, others, epilog=EPILOG)
    _add_settings(parser, listed)
    return parser


def _new_parser(command: str, rejected: Mapping[str, str] | None = None, **texts: str) -> Parser:
    """Return a parser with the texts of the short help, if the command has one."""
    if (page := SHORT_HELP.get(command)) is not None:
        texts |= {"usage": page.usage, "description": page.description}
    parser = Parser(
        rejected=rejected,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        add_help=False,
        **{"prog": f"entresol {command}", **texts},
    )
    for flag, help_text in (
        ("--help", "Print the flags that people use."),
        ("--help-all", "Print all flags."),
    ):
        parser.add_argument(
            *(["-h"] if flag == "--help" else []),
            flag,
            action=PrintHelp,
            command=command,
            has_all=flag == "--help-all",
            help=help_text,
        )
    parser.add_argument(
        *("-V", "--version"), action=PrintVersion, help="Print the version and its commit."
    )
    return parser
