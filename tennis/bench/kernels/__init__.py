"""Kernels: the catalogue, their requirements, and modules and programs built for them."""
