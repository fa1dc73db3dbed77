"""The errors that `entresol.errors` has: its own, and those of the features."""

from entresol.errors.base import *
from entresol.errors.chain import *
from entresol.errors.devnet import *
from entresol.errors.execution import *
from entresol.errors.l1 import *
from entresol.errors.rpc import *
from entresol.errors.storage import *
from entresol.errors.transactions import *
from entresol.errors.values import *
from entresol.features.adding.errors import *
from entresol.features.cluster.errors import *
from entresol.features.debugger.errors import *
from entresol.features.derive.errors import *
from entresol.features.dev.errors import *
from entresol.features.fork.errors import *
from entresol.features.relay.errors import *
