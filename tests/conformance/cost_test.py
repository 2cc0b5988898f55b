"""attune cost --json says what the counting device has counted: 8 ranks, 1 MiB, every variant in the vocabulary."""
import json
import os
import subprocess
import sys


def counted(program):
    """The counting test's own numbers, by variant."""
    environment = dict(os.environ, ATTUNE_COUNTED="counted.json")
    subprocess.run([program, "--gtest_filter=CostCards.AreWhatTheProgramPrints"], env=environment, check=True)
    with open("counted.json", encoding="utf-8") as file:
        return {one.pop("variant"): one for one in json.load(file)}


def printed():
    """What the program prints, by variant."""
    command = [os.environ["ATTUNE"], "cost", "--ranks", "8", "--bytes", "1M", "--json"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cards = {}
    for one in json.loads(text)["variants"]:
        if "team" in one:
            cards[one["variant"]] = {**one["team"], "barriers": one["barriers"], "rounds": one["rounds"]}
    return cards


def main():
    if not os.path.exists(os.environ["ATTUNE"]):
        return 77
    cards = printed()
    wrong = [f"{name}: counted {want}, printed {cards.get(name)}"
             for name, want in counted(sys.argv[1]).items() if cards.get(name) != want]
    print("\n".join(wrong) or "every card is what was counted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
