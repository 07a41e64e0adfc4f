# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A class's marks: people, deadlines, the sheet, and the tables that gradebooks import."""
