"""Hypothesis draws the same examples in every run, so that a change is what breaks a test.

``pytest --hypothesis-profile=explore`` draws new ones, and more of them where a test sets no number of its own.
"""

import os

# The workers of pytest-xdist share the cores: threads of linear algebra on top would wait for each other, tenfold.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=500, deadline=None)
settings.load_profile("steady")
