"""Entresol: a layer-2 node and the layer 1 it settles to."""
