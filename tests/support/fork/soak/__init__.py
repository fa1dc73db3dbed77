"""Random use of a fork whose remote misbehaves, with everything compared."""
