"""How good the library is on many tables: suites of our own, and the scripts behind figures of the documentation."""
