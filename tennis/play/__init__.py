# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Rallies, reports and the demonstration: what people ask for, made of benches and files."""
