"""check_pair.py FILE COMPILER FLAGS...: the right half of FILE compiles, the wrong half does not, for the expected reason."""
import re
import subprocess
import sys


def compile_half(words):
    """(exit code, messages) of a syntax check."""
    done = subprocess.run([*words, "-fsyntax-only"], capture_output=True, text=True)
    return done.returncode, done.stderr


def main():
    """Exit code 1 with the reason when the pair does not hold."""
    file, *command = sys.argv[1:]
    with open(file, encoding="utf-8") as source:
        expected = re.search(r"^// expect: (.+)$", source.read(), re.MULTILINE)
    if not expected:
        return f"{file}: no line '// expect: REGEX'"
    code, messages = compile_half([*command, "-DATTUNE_MUST_COMPILE", file])
    if code != 0:
        return f"{file}: the right use does not compile:\n{messages}"
    code, messages = compile_half([*command, file])
    if code == 0:
        return f"{file}: the misuse compiles"
    if not re.search(expected.group(1), messages):
        return f"{file}: refused, but not with '{expected.group(1)}':\n{messages}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
