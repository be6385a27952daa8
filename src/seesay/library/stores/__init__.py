"""Where a library is kept: SQLite on this machine, or PostgreSQL."""
