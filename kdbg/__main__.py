"""`python -m kdbg` is `kdbg`."""

from kdbg.ui.cli import main  # not relative: spark-submit runs this file by its path

if __name__ == "__main__":
    main()
