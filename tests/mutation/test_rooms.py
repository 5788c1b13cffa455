"""Mutation testing looks at what is there: a package that moved would have no mutants, and none that survives."""

from __future__ import annotations

import pytest

from .rooms import ROOMS


@pytest.mark.parametrize("name", ROOMS)
def test_a_package_has_modules_and_tests(name: str) -> None:
    assert ROOMS[name].modules
    assert ROOMS[name].tests
