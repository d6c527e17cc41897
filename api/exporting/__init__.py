"""Episodes as tables for DuckDB and offline RL, and as chat data for fine-tuning."""
