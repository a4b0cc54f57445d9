"""Time and memory beside peers: ``python -m benchmarks.speed.run`` for all figures, the other modules for one each."""
