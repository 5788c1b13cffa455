"""`python -m kdbg` is `kdbg`."""

from .cli import main

if __name__ == "__main__":
    main()
