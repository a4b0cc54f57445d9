"""One small file a suite, and the published numbers beside it as TOML."""
