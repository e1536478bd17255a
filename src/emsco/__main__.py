"""`python -m emsco`: the command line, where its script is not on the path."""

from emsco.cli import main

if __name__ == "__main__":
    main()
