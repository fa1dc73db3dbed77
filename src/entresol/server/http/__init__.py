"""HTTP connections: requests, the heads of requests that were parsed before, responses in order."""
