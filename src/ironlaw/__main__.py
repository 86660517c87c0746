"""`python -m ironlaw` is `ironlaw`."""

from ironlaw.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
