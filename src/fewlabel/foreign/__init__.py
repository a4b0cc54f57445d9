"""The only files that use names which other libraries keep private; each has a test that fails when the name moves."""
