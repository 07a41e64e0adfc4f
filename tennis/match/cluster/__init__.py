# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rallies of a match on many machines: a Dask cluster plays, a shared folder keeps."""
