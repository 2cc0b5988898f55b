"""Writes the scores of a tuner laboratory that was never run: deterministic, with the shape that real ones have."""

import math
import random
import sys
from pathlib import Path

MACHINES = {"quiet_node": 0.3, "shared_node": 1.0, "drifting_clock": 1.4, "bimodal": 2.0}
SKILL = {"racing": 0.012, "exhaustive": 0.02, "plain": 0.09}


def write(path, machines=tuple(MACHINES), methods=tuple(SKILL), shares=(0.05, 0.1, 0.25, 0.5, 1.0), seeds=12):
    """Writes a CSV and returns its path. Exhaustive measuring has the one budget of 1."""
    noise, lines = random.Random(5), ["machine,method,budget_share,samples,regret,wrong_winner,false_switch,seed"]
    for machine in machines:
        for method in methods:
            for share in (1.0,) if method == "exhaustive" else shares:
                for seed in range(seeds):
                    level = SKILL[method] * MACHINES[machine] / math.sqrt(share) / 4
                    regret = max(0.0, level * math.exp(noise.gauss(0, 0.6)) - 0.001)
                    wrong, false = min(1, level * 3), min(1, level / (4 if method == "plain" else 12))
                    row = (
                        machine,
                        method,
                        share,
                        int(40000 * share),
                        f"{regret:.6f}",
                        f"{wrong:.5f}",
                        f"{false:.5f}",
                        seed,
                    )
                    lines.append(",".join(map(str, row)))
    path = Path(path)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write(sys.argv[1]))
