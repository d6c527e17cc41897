"""Episodes as tables for DuckDB, pandas and offline RL."""
