"""`eth_call`, gas estimates, access lists and bundles against a state."""
