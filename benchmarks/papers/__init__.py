"""One folder per paper: its experiments, published numbers (TOML), page (Markdown) and stored results (Parquet)."""
