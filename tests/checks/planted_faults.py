"""Each check of .ci finds the fault that is planted for it, and passes without it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["ATTUNE_SOURCE_DIR"])

GOOD_VARIANT = """#pragma once
#include "core/types.h"
struct good {
  static void run(auto& block) {
    block.barrier();
    block.for_each_pack([&](auto i) { return i; });  // 100 % of it, exit() nothing
    block.barrier();
  }
};
"""

# (check, file, its text, words that the check must say)
PLANTED = [
    ("check_layers.py", "kernels/core/up.h", '#include "runtime/team.h"\n', "against the order"),
    ("check_layers.py", "kernels/variants/up.h", '#include "dispatch/table.h"\n', "against the order"),
    ("check_layers.py", "kernels/runtime/up.h", '#include "attune/communicator.h"\n', "against the order"),
    ("check_layers.py", "tuner/up.h", '#include "src/sweep.h"\n', "against the order"),
    ("check_layers.py", "src/up.cpp", '#include "tests/support/x.h"\n', "against the order"),
    ("check_layers.py", "src/own.cpp", '#include "core/types.h"\n#include "src/own.h"\n', "does not include own.h first"),
    ("check_layers.py", "kernels/core/mpi.h", "#include <mpi.h>\n", "uses MPI"),
    ("check_layers.py", "tuner/cuda.h", "#include <cuda_runtime.h>\n", "uses MPI"),
    ("check_layers.py", "kernels/dispatch/say.cpp", 'void f() { std::printf("x"); }\n', "prints"),
    ("check_layers.py", "tuner/say.cpp", "void f() { std::cout << 1; }\n", "prints"),
    ("check_layers.py", "kernels/runtime/end.cpp", "void f() { std::abort(); }\n", "ends the process"),
    ("check_layers.py", "kernels/runtime/end.cpp", "void f() { MPI_Abort(comm, 1); }\n", "ends the process"),
    ("check_layers.py", "kernels/elsewhere/x.h", "\n", "belongs to no layer"),
    ("check_layers.py", "kernels/variants/cut.h", "int f(int a) { return a % 4; }\n", "divides"),
    ("check_layers.py", "kernels/variants/if.h", "#ifdef __CUDACC__\n#endif\n", "#if in an algorithm"),
    (
        "check_layers.py",
        "kernels/variants/early.h",
        GOOD_VARIANT.replace("block.barrier();\n    block.for", "if (!block.work()) return;\n    block.for"),
        "above the last barrier",
    ),
    ("check_sizes.py", "src/long.cpp", "void f() {\n" + "  g();\n" * 40 + "}\n", "at most 40"),
    ("check_sizes.py", "src/long.cpp", "// x\n" * 401, "at most 400"),
    ("check_sizes.py", "kernels/variants/long.h", "// x\n" * 121, "at most 120"),
]


def run_check(check, planted):
    """(exit code, output) of a check over a tree of one good variant, a header and the planted file."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(SOURCE / ".ci", root / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in {"kernels/variants/good.h": GOOD_VARIANT, "src/own.h": "#pragma once\n", **planted}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        done = subprocess.run([sys.executable, f".ci/{check}"], cwd=root, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    """Prints each planted fault that was missed."""
    missed = []
    if not shutil.which("ctags") or not shutil.which("git"):
        print("ctags or git is not here: skipped")
        return 77
    for check in ("check_layers.py", "check_sizes.py"):
        code, output = run_check(check, {})
        if code != 0:
            missed.append(f"{check} finds fault with a good tree:\n{output}")
    for check, name, text, words in PLANTED:
        code, output = run_check(check, {name: text})
        if code == 0 or words not in output:
            missed.append(f"{check} misses {name}: {text[:60]!r}:\n{output}")
    print(f"{len(PLANTED)} planted, {len(missed)} missed", *missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
