"""Where rows are kept: SQLite, PostgreSQL, group commit, backups, archives and checks."""
