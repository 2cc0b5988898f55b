"""MPICH obeys the exported selection: Debian's MPICH, unpacked beside the machine's own MPI and not installed.

A copy in which one size's answer is the algorithm of another collective tells: MPICH then stops at exactly the calls
that this answer is for. Skipped (77) where the packages cannot be had.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from exporting import export, outcomes, table

PACKAGES = ["mpich", "libmpich12", "libmpich-dev", "libslurm38", "libucx0"]
FOLDER = pathlib.Path(os.environ["ATTUNE_BINARY_DIR"]) / "mpich"


def skip(reason):
    """Ends the test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(77)


def unpacked():
    """The root under which MPICH lies; downloaded once for a build folder."""
    root = FOLDER / "root"
    if (root / "usr/bin/mpiexec.hydra").exists():
        return root
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        skip("no apt-get and dpkg: Debian's MPICH cannot be unpacked")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    done = subprocess.run(["apt-get", "download", *PACKAGES], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        skip(f"no MPICH from apt-get download: {done.stderr.strip().splitlines()[-1:]}")
    for package in FOLDER.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, FOLDER / "partial"], check=True)
    (FOLDER / "partial").rename(root)
    return root


ROOT = unpacked()
LIBRARY = next(ROOT.glob("usr/lib/*/libmpich.so.12"), None) or skip("no libmpich.so.12 in the packages")
COMPILER, SOURCE = sys.argv[1:3]


def compiled():
    """sum.c for MPICH."""
    headers = next(ROOT.glob("usr/include/*/mpich"))
    subprocess.run([COMPILER, f"-I{headers}", "-o", "sum_mpich", SOURCE, LIBRARY], check=True)
    return pathlib.Path("sum_mpich").resolve()


def run(program, selection, ranks, *sizes):
    """(exit code, what each size ends with) under this selection file."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(LIBRARY.parent),
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(selection),
        "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM": "mpir",
    }
    command = [ROOT / "usr/bin/mpiexec.hydra", "-launcher", "fork", "-n", str(ranks), program, *map(str, sizes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, outcomes(done.stdout)


def main():
    """Three sizes' answers, one of them poisoned in a copy."""
    program = compiled()
    rules = [(0, "vendor:mpich/recursive_doubling"), (4096, "vendor:mpich/reduce_scatter_allgather"), (65536, "vendor")]
    exported = export(table(4, rules), "--format", "mpich", "--base", LIBRARY)
    sizes = (64, 4092, 4096, 16384, 65536, 262144)
    code, told = run(program, exported, 4, *sizes)
    if code != 0 and not told:
        skip("this MPICH does not start here")
    assert (code, told) == (0, {size: "ok" for size in sizes}), (code, told)
    content = json.loads(exported.read_text())
    answers = content["collective=allreduce"]["comm_type=intra"]["comm_size<=4"]
    poisoned = json.dumps(answers["avg_msg_size<65536"]).replace("MPIR_Allreduce_intra_reduce_scatter_allgather", "MPIR_Bcast_intra_binomial")
    answers["avg_msg_size<65536"] = json.loads(poisoned)
    canary = exported.with_suffix(".canary")
    canary.write_text(json.dumps(content, indent=1) + "\n")
    assert run(program, canary, 4, 64, 4092, 65536, 262144) == (0, {64: "ok", 4092: "ok", 65536: "ok", 262144: "ok"})
    for size in (4096, 65532):
        code, told = run(program, canary, 4, size)
        assert code != 0 and not told, f"{size} bytes were not decided by the exported file: {code} {told}"
    assert run(program, canary, 3, 4096) == (0, {4096: "ok"}), "3 ranks keep MPICH's own tree"
    print("MPICH obeys the exported selection")


if __name__ == "__main__":
    main()
