"""`python -m faircascade` is the command line."""

from faircascade.cli.main import main

if __name__ == "__main__":
    main()
