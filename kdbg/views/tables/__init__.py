"""Exchanges as rows of tables: which tables there are, and what an exchange says in each. Opens nothing."""
