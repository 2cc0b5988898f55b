"""The project's own source files, as the checks of .ci see them: tracked by git, or new and not ignored."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPP = {".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".cuh", ".inc"}


def listed(*folders, suffixes=CPP):
    """Paths relative to the root of the files below `folders` (all when none) with one of `suffixes`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *folders]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = sorted({pathlib.PurePosixPath(name) for name in names if name})
    return [path for path in paths if path.suffix in suffixes and (ROOT / path).is_file()]


_BLANKED = re.compile(
    r'R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"  # character, not a digit separator
    r"|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)


def code_of(text, strings=False):
    """The text with comments (and strings, unless `strings`) blanked out; line numbers stay."""

    def blank(match):
        if strings and match.group(0)[0] in "\"'R":
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    return _BLANKED.sub(blank, text)
