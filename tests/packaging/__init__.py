"""The packages that `make wheel` builds, as users install them."""
