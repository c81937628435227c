"""`python -m squentropy` is the command line."""

from squentropy.cli import main

if __name__ == "__main__":
    main()
