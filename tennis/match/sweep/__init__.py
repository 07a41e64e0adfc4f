"""A sweep: open loops at rising rates, until replies can no longer be paired with their pings."""
