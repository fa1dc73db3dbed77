"""How a remote chain is asked: endpoints, their limits, requests and their responses."""
