"""Data directories of earlier versions, which this one has to open, with what those versions served of them."""
