"""Services that several RPC methods use: block resolution, calls, log search, settlement status."""
