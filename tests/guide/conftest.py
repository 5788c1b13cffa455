"""What the tests of the manual share with those of the command line."""

from ..cli.conftest import cli

__all__ = ["cli"]
