"""`python -m aletheia` is the command `aletheia`."""

from aletheia.cli.app import main

if __name__ == "__main__":
    main()
