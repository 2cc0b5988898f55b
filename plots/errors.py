"""The one error of plots and the frame that turns it into a line on stderr and an exit code."""

import sys

EXIT_INTERNAL = 1
EXIT_UNSUPPORTED = 5  # what the figures need is not on this machine
EXIT_BAD_INPUT = 6  # usage, run folder or file


class PlotsError(Exception):
    """What is wrong, where, and what to do; `code` is the exit code."""

    def __init__(self, what, where="", remedy="", code=EXIT_BAD_INPUT):
        super().__init__(what if not where else f"{what}, {where}")
        self.remedy = remedy
        self.code = code

    def line(self):
        """The whole error as one line, whatever the text holds."""
        text = str(self) + (f", {self.remedy}" if self.remedy else "")
        return " ".join(text.split())


def warn(text):
    """One line that does not stop the work."""
    print(f"attune plots: warning: {' '.join(text.split())}", file=sys.stderr)


def guarded(main, arguments=None):
    """Runs `main(arguments)` and returns the exit code of the program; a PlotsError is one line."""
    try:
        return main(arguments) or 0
    except PlotsError as error:
        print(f"attune plots: error: {error.line()}", file=sys.stderr)
        return error.code
    except ImportError as error:
        hint = "install it (Debian, Ubuntu: apt install python3-matplotlib)"
        print(f"attune plots: error: {error}, {sys.executable}, {hint}", file=sys.stderr)
        return EXIT_UNSUPPORTED
    except OSError as error:
        print(
            f"attune plots: error: {error.strerror or error}, {error.filename or '?'}, "
            "check the path and its permissions",
            file=sys.stderr,
        )
        return EXIT_BAD_INPUT
