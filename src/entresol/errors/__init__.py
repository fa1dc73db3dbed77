"""Every error that this package raises on purpose, by module.

An error says on its class what a client receives: see `EntresolError`. docs/errors.md draws the tree, with codes and
meanings. Any other exception is a bug and is reported as one.
"""

from entresol.errors.base import *
from entresol.errors.chain import *
from entresol.errors.cluster import *
from entresol.errors.devnet import *
from entresol.errors.execution import *
from entresol.errors.fork import *
from entresol.errors.l1 import *
from entresol.errors.rpc import *
from entresol.errors.storage import *
from entresol.errors.transactions import *
from entresol.errors.values import *
