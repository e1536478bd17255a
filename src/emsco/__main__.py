"""`python -m emsco` runs the command line, also where its script is not on the path."""

from emsco.app.cli import main

if __name__ == "__main__":
    main()
