"""`python -m vilfredo`: the command, for where scripts are not on the path."""

from vilfredo.cli.main import main

if __name__ == "__main__":
    main()
