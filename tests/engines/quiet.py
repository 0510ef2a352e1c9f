"""What engines and their clients warn of is no concern of ours."""

from __future__ import annotations

import pytest

ENGINES_OWN = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning", "ResourceWarning", "UserWarning")
]
QUIET = [*ENGINES_OWN, pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")]
