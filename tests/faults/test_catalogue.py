"""The catalogue of faults as a whole."""

from __future__ import annotations

import pytest

from tests.conftest import ALL_FAULTS


def test_every_row_has_a_test(request: pytest.FixtureRequest) -> None:
    """Every row of FAULTS.md has a test; the report at the end says which."""
    chosen = request.config.option
    if chosen.file_or_dir or chosen.keyword:
        pytest.skip("Only a run of the whole suite has every row.")
    proven = {
        number
        for item in request.session.items
        for name, number in item.user_properties
        if name == "fault"
    }
    assert sorted(set(ALL_FAULTS) - proven) == []
