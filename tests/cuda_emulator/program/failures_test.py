"""What the program does when a rank stops or dies, when GPUs cannot reach each other, and when a call of CUDA fails: one
clear line, or the slow path; it never hangs.
"""
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from emulated import EmulatedTest, attune, errors

ENDLESS = ("bench", "--device", "cuda", "-b", 4096, "-e", 4096, "-n", 1, "-w", 0, "-c", 1, "-N", 0, "-T", 3,
           "--variant", "two_shot", "--block-threads", 32)

# In a call, or between two: ranks meet there, too.
NAMES_RANK_2 = r"timeout after 3 s in .* waits for rank 2|rank \d waited \d+ s for rank 2"


def ranks_of(job):
    """{rank: process} of a job that this test has started, once all have begun."""
    found = {}
    for pid in subprocess.run(["pgrep", "-P", str(job)], capture_output=True, text=True, check=False).stdout.split():
        with open(f"/proc/{pid}/environ", "rb") as file:
            if match := re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read()):
                found[int(match.group(1))] = int(pid)
    return found


class Failures(EmulatedTest):
    """Failures of the kind that clusters have."""

    def with_rank_2(self, signal_number, *mpirun):
        """An endless bench of 4 ranks, one of which gets a signal once it has printed a row."""
        sent = threading.Event()

        def strike(process):
            for line in process.stdout:
                if re.match(r"\s+4096 ", line):
                    break
            time.sleep(0.5)
            os.kill(ranks_of(process.pid)[2], signal_number)
            sent.set()

        process = attune(*ENDLESS, ranks=4, hang=60, watch=strike, mpirun=mpirun)
        self.assertTrue(sent.is_set(), self.says(process))
        self.assertFalse(process.hung, "hangs: " + self.says(process))
        return process

    def test_a_rank_that_stops_is_named(self):
        process = self.with_rank_2(signal.SIGSTOP)
        self.assertEqual(process.returncode, 4, self.says(process))
        self.assertRegex("\n".join(errors(process)), NAMES_RANK_2, self.says(process))

    def test_a_rank_that_dies_is_named(self):
        # The launcher would end the job before anybody notices.
        process = self.with_rank_2(signal.SIGKILL, "--enable-recovery")
        # With that flag its own exit code is 0 whatever the ranks' are; it tells of theirs.
        self.assertRegex(process.stderr_text, r"MPI_ABORT was invoked [^.]*with errorcode 4\b", self.says(process))
        self.assertRegex("\n".join(errors(process)), NAMES_RANK_2, self.says(process))

    def test_without_peer_access_the_slow_path_is_taken(self):
        process = self.benches("-b", 8, "-e", "64K", "-f", 8192, "-n", 1, "-w", 0, ranks=2, ATTUNE_EMULATOR_PEERS="none")
        told = [line for line in process.stderr_text.splitlines() if "no peer access: " in line]
        self.assertEqual(len(told), 1, self.says(process))
        self.assertRegex(told[0], "device . of rank . cannot reach device . of rank .")
        self.assertIn("naive", process.stdout_text)

    def test_peers_that_deliver_other_data_are_found_out(self):
        process = self.benches("-b", 4096, "-e", 4096, "-n", 1, "-w", 0, ranks=2, ATTUNE_EMULATOR_BROKEN_PEERS="0>1")
        self.assertRegex(process.stderr_text, "no peer access: rank .* (read wrong data|did not arrive)")
        self.assertIn("naive", process.stdout_text)

    def test_a_rank_that_cannot_open_a_peers_memory(self):
        said = r"cudaIpcOpenMemHandle \(memory of rank 0\) at \w+\.\w+:\d+ on rank 1, device 1: "
        process = self.benches("-b", 4096, "-e", 4096, ranks=2, ATTUNE_EMULATOR_FAIL="cudaIpcOpenMemHandle:1@1")
        self.assertRegex(process.stderr_text, "no peer access: " + said)  # the team's: the slow path
        self.assertIn("naive", process.stdout_text)
        process = attune("bench", "--device", "cuda", "-b", 4096, "-e", 4096, ranks=2,
                         ATTUNE_EMULATOR_FAIL="cudaIpcOpenMemHandle:2@1")
        self.assertEqual(process.returncode, 2, self.says(process))  # a buffer's: all ranks are told
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertRegex(errors(process)[0], said)

    def test_a_call_that_fails_is_told_in_one_line(self):
        cases = (("cudaMalloc", "5"), ("cudaStreamCreateWithFlags", "5"), ("cudaEventRecord", "5"), ("cudaEventRecord", "0"))
        for call, timeout_s in cases:
            with self.subTest(call=call, timeout_s=timeout_s):
                process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, "-n", 1, "-w", 0, ranks=2,
                                 ATTUNE_EMULATOR_FAIL=f"{call}:1@1", ATTUNE_TIMEOUT_S=timeout_s)
                self.assertFalse(process.hung, self.says(process))
                self.assertNotEqual(process.returncode, 0, self.says(process))
                told = errors(process)
                self.assertEqual(len(told), 1, self.says(process))
                self.assertRegex(told[0], rf"{call} at \w+\.\w+:\d+ on rank 1, device 1: .+ \(cudaError\w+\)")

    def test_two_ranks_on_one_gpu_are_refused(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, ranks=2, ATTUNE_EMULATOR_DEVICES="1")
        self.assertEqual(process.returncode, 2, self.says(process))
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertIn("at most one rank per GPU", process.stderr_text)

    def test_a_rank_that_alone_has_no_driver_ends_the_job(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, ranks=2, hang=60,
                         ATTUNE_EMULATOR_FAIL="cudaGetDeviceCount:1@1")
        self.assertFalse(process.hung, self.says(process))
        self.assertEqual(process.returncode, 2, self.says(process))
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertRegex(errors(process)[0], "rank 1: no CUDA device: ")

    def test_a_sweep_that_a_rank_cannot_join_leaves_no_folder(self):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            run = os.path.join(folder, "run")
            process = attune("sweep", "--device", "cuda", "--out", run, ranks=2,
                             ATTUNE_EMULATOR_FAIL="cudaGetDeviceCount:1@1")
            self.assertEqual(process.returncode, 2, self.says(process))
            self.assertEqual(len(errors(process)), 1, self.says(process))
            self.assertRegex(errors(process)[0], "rank 1: no CUDA device: ")
            self.assertFalse(os.path.exists(run), self.says(process))

    def test_no_device_is_told_as_on_any_machine(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, ranks=2, CUDA_VISIBLE_DEVICES="")
        self.assertEqual(process.returncode, 2, self.says(process))
        self.assertRegex(errors(process)[0], "no CUDA device: .+; .*--device host")


if __name__ == "__main__":
    unittest.main()
