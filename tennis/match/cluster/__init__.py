"""Rallies of a match on many machines: a Dask cluster plays, a shared folder keeps."""
