"""`python -m fugu`: the command line, where no `fugu` is on the path."""

from fugu.cli import main

if __name__ == "__main__":
    main()
