"""The cuda device on a machine without a GPU: one line, exit code 2, and how to go on."""
import json
import unittest

from program import ProgramTest, attune, table

WITHOUT_A_TABLE = ("lookup", "--device", "cuda", "--bytes", "1K")


def has_a_gpu():
    """Asked of the program itself."""
    return '"gpus": []' not in attune("info", "--json").stdout


@unittest.skipIf(has_a_gpu(), "this machine has a GPU")
class NoDevice(ProgramTest):
    """What people on a laptop see."""

    SAYS = "no CUDA device: .+; .*--device host"

    def test_sweep_and_bench_exit_with_2_and_one_line(self):
        self.fails(2, "sweep", "--device", "cuda", says=self.SAYS)
        self.fails(2, "sweep", "--device", "cuda", says=self.SAYS, ranks=2)
        self.fails(2, "bench", "--device", "cuda", "-b", 8, "-e", 8, says=self.SAYS)
        self.fails(2, "bench", "--device", "cuda", "-g", 1, "-G", 10, "-R", 2, says=self.SAYS, ranks=2)

    def test_verify_exits_with_2_and_one_line(self):
        says = r"^attune: error: no CUDA device: .+; .*--device host"
        self.fails(2, "verify", "--device", "cuda", says=says)
        self.fails(2, "verify", "--device", "cuda", says=says, ranks=2)

    def test_a_configuration_may_ask_for_it_too(self):
        config = self.folder / "config.json"
        config.write_text('{"device": "cuda", "sizes": ["8"], "threads": [256], "blocks": [8]}')
        self.fails(2, "sweep", "--config", config, "--out", self.folder / "run", says=self.SAYS, ranks=2)
        self.assertFalse((self.folder / "run").exists())

    def test_wrong_words_are_told_first(self):
        self.fails(6, "bench", "--device", "gpu", says="--device 'gpu'")
        self.fails(6, "sweep", says="--config is required")
        config = self.folder / "config.json"
        config.write_text('{"device": "cuda", "sizes": ["8"], "threads": [100]}')
        self.fails(6, "sweep", "--config", config, "--out", self.folder / "run", says="/threads/0: .*multiple of 32")

    def test_a_table_of_gpus_can_be_asked_here(self):
        rules = [{"min_bytes": 0, "variant": "push", "blocks": 8, "threads": 256}]
        text = table(rules)
        text["hardware"] = {**text["hardware"], "device": "cuda", "name": "some GPU", "arch": "sm_90"}
        path = self.folder / "table.json"
        path.write_text(json.dumps(text))
        words = ("lookup", "--table", path, "--bytes", "1K", "--ranks", 2)
        result = self.succeeds(*words, "--device", "cuda")
        self.assertIn("push", result.stdout)
        self.assertRegex(result.stderr, "no GPU here .*some GPU")
        self.fails(6, *words, says="threads")
        self.fails(6, *words, "--device", "cuda", "--strict", says="no GPU here .*some GPU")
        self.assertIn("built-in", self.succeeds(*WITHOUT_A_TABLE, "--strict").stdout)
        self.assertIn("built-in", self.succeeds(*WITHOUT_A_TABLE).stdout)

    def test_a_table_of_the_other_device_is_refused(self):
        path = self.folder / "table.json"
        content = table()
        path.write_text(json.dumps(content))
        words = ("lookup", "--table", path, "--bytes", "1K", "--ranks", 2)
        self.fails(6, *words, "--device", "cuda", says="table of device host, asked for cuda")
        content["hardware"]["device"] = "cuda"
        path.write_text(json.dumps(content))
        self.fails(6, *words, says="table of device cuda, asked for host")

    def test_no_file_is_looked_for_without_hardware(self):
        (self.folder / ".json").write_text("no table")
        result = self.succeeds(*WITHOUT_A_TABLE, ATTUNE_TABLE=None, ATTUNE_TABLE_PATH=str(self.folder))
        self.assertIn("built-in", result.stdout)

    def test_info_says_why(self):
        cuda = self.json_of("info")["cuda"]
        self.assertEqual(cuda["gpus"], [])
        self.assertNotEqual(cuda["why_not"], "")


if __name__ == "__main__":
    unittest.main()
