"""The names of kernels, as nvcc mangles them. Their host sides may be local to the object (L)."""
import re
import subprocess

# The types that have kernels of their own per rank count.
MODELS = {"f": "f32", "NS_3f16E": "f16", "NS_4bf16E": "bf16"}


def kernel_of(mangled):
    """(maker, variant, mangled type, ranks) of a kernel's name, or None for another function."""
    match = re.match(
        r"_ZN6attune4cudaL?\d+(allreduce|fused)_kernelINS_\d(?:variants|host)(\d+)(\w+)Li(\d+)EEEvNS0_6LaunchE$", mangled)
    if match is None:
        return None
    maker, length, rest, ranks = match.groups()
    return maker, rest[: int(length)], rest[int(length) + 1 :], int(ranks)


def kernels_in(path):
    """The kernels whose host sides stand in an object: what can be launched."""
    names = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True, text=True).stdout.split()
    return set(filter(None, map(kernel_of, names)))
