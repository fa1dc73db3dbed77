"""Memory that clients take: of requests, and of what they have not read."""
