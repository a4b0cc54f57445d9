"""``python -m fewlabel`` is the command line."""

from fewlabel.cli.main import main

if __name__ == "__main__":
    main()
