"""The PTX in objects that nvcc has made: by cuobjdump where the toolkit has it, else out of the object's section."""
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

PTX = 1  # kind of a record
COMPRESSED_ZSTD, COMPRESSED_LZ4 = 0x8000, 0x2000  # of its flags


def run(*words, **more):
    """The output of a command, as bytes."""
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, **more).stdout


def section_of(path):
    """What nvcc has put into the object for the device."""
    with tempfile.NamedTemporaryFile() as file:
        run("objcopy", "-O", "binary", "--only-section=.nv_fatbin", path, file.name)
        return Path(file.name).read_bytes()


def text_of(record, flags, packed):
    """The text of a PTX record."""
    if flags & COMPRESSED_LZ4:
        raise SystemExit("PTX packed with LZ4: cuobjdump is needed")
    if flags & COMPRESSED_ZSTD:
        record = run("zstd", "-dc", input=record[:packed])
    return record.decode("utf-8", "replace").rstrip("\0")


def records_of(data):
    """(kind, flags, packed size, bytes) of all records of a section, which holds a container for each unit."""
    start = 0
    while start + 16 <= len(data):
        magic, _, header, size = struct.unpack_from("<IHHQ", data, start)
        if magic != 0xBA55ED50:
            start += 8  # between containers is padding
            continue
        at, end = start + header, start + header + size
        while at < end:
            kind, _, before, length = struct.unpack_from("<HHIQ", data, at)
            packed, flags = struct.unpack_from("<I", data, at + 16)[0], struct.unpack_from("<Q", data, at + 40)[0]
            yield kind, flags, packed, data[at + before : at + before + length]
            at += before + length
        start = end


def ptx_of(path):
    """All PTX of an object."""
    if shutil.which("cuobjdump"):
        return run("cuobjdump", "-ptx", path).decode()
    return "\n".join(text_of(record, flags, packed) for kind, flags, packed, record in records_of(section_of(path)) if kind == PTX)
