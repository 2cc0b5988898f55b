"""What a run folder is about, as plain data: groups of problems, plans, measured cells, rules of a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """How a collective is done."""

    variant: str
    blocks: int = 1
    threads: int = 1
    chunk_bytes: int = 0


@dataclass(frozen=True, order=True)
class Group:
    """What a figure is about: every axis of a problem but its size. `cols` is 0 except in fused kernels.

    `mode` (latency, throughput) and `cache` (rewritten, rotating, hot) say how it was measured: never mixed.
    """

    collective: str
    dtype: str
    op: str
    ranks: int
    placement: str
    memory: str
    launch_mode: str = "eager"
    epilogue: str = "none"
    cols: int = 0
    mode: str = "latency"
    cache: str = "rewritten"

    @property
    def fused(self):
        return self.collective.endswith("rms_norm")


@dataclass(frozen=True)
class Cell:
    """One row of summary.csv. Times in µs, rates in GB/s; None where nothing was measured."""

    group: Group
    plan: Plan
    bytes: int
    rows: int = 0
    cols: int = 0
    status: str = "ok"
    samples: int = 0
    rejected: int = 0
    median: float = None
    low: float = None
    high: float = None
    p5: float = None
    p95: float = None
    busbw: float = None
    vendor: float = None
    converged: bool = True
    noisy: bool = False
    oversubscribed: bool = False
    count: int = 0
    note: str = ""
    sm_mhz: int = 0  # GPUs: the lowest block's median; 0 where it is not known
    throttled: int = 0  # of `rejected`: a GPU was held below its clock

    @property
    def timed(self):
        """Right and measured: may be drawn as a time."""
        return self.status == "ok" and self.median is not None and self.median > 0


@dataclass(frozen=True)
class Rule:
    """From `min_bytes` up to the next rule, this plan holds."""

    min_bytes: int
    plan: Plan
    time: float = None
    low: float = None
    high: float = None
    vendor: float = None
    confidence: str = ""
    at_bytes: int = 0  # where the times were measured; min_bytes where a table does not say
