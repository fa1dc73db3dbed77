"""Map exceptions to JSON-RPC error objects: one table of codes for all of them.

    EntresolError
    └── RequestError                a request that reaches no method, or whose response cannot be sent
        ├── ParseError              the body is not JSON
        ├── InvalidRequestError     the body is JSON, but no request
        ├── MethodNotFoundError     no method has this name
        ├── InvalidParamsError      the parameters are not what the method takes
        ├── BatchSizeError          more calls in a batch than allowed
        ├── ResponseSizeError       a result longer than allowed
        └── BatchResponseSizeError  the results of a batch are longer than allowed together

An error with code -32603 is internal, and so is every exception that is not in the tree: it is logged with its
traceback under a request id, and the client gets the id and nothing else.
"""

from entresol.rpc.jsonrpc.errors.codes import CODES, INTERNAL, TEXTS, code_of
from entresol.rpc.jsonrpc.errors.error_object import ErrorObject, error_object_of
from entresol.rpc.jsonrpc.errors.request_errors import (
    BatchResponseSizeError,
    BatchSizeError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    ParseError,
    RequestError,
    ResponseSizeError,
)

__all__ = [
    "CODES",
    "INTERNAL",
    "TEXTS",
    "BatchResponseSizeError",
    "BatchSizeError",
    "ErrorObject",
    "InvalidParamsError",
    "InvalidRequestError",
    "MethodNotFoundError",
    "ParseError",
    "RequestError",
    "ResponseSizeError",
    "code_of",
    "error_object_of",
]
