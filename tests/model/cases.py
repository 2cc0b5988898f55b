"""The cases that run.py checks: which model, which configuration, and what must come out."""

from dataclasses import dataclass

ASSERTION = "assertion violated"
DEADLOCK = "invalid end state"


@dataclass(frozen=True)
class Case:
    """One model under one configuration. `bug` is None for a model that must hold, else how it must fail."""

    model: str
    defines: str
    bug: str | None = None

    @property
    def name(self) -> str:
        return " ".join([self.model.removesuffix(".pml"), *self.defines.split()])


def planted(model: str, bug: str, how: str, defines: str = "N=2") -> Case:
    return Case(model, f"{defines} BUG_{bug}", how)


PAIRWISE = "pairwise.pml"
PUSH = "push.pml"
TWO_SHOT = "two_shot.pml"
STAGED = "staged.pml"
TWO_LEVEL = "two_level.pml"
ALL_KINDS = "WITH_BARRIER WITH_RING WITH_TREE WITH_FOLD"
ALL_TWO_SHOT = "WITH_MESH WITH_TWO_SHOT WITH_TWO_SHOT_WRITE WITH_TWO_SHOT_PUSH"

CASES = [
    # The flags, the barrier and the launch record.
    Case(PAIRWISE, f"N=2 {ALL_KINDS}"),
    Case(PAIRWISE, "N=3 WITH_BARRIER WHOLE_RECORD"),
    Case(PAIRWISE, "N=3 WITH_RING WITH_TREE WHOLE_RECORD"),
    Case(PAIRWISE, "N=3 WITH_RING WITH_FOLD WHOLE_RECORD"),
    Case(PAIRWISE, "N=3 WITH_TREE WITH_FOLD WHOLE_RECORD"),
    Case(PAIRWISE, f"N=3 {ALL_KINDS} WHOLE_RECORD LAUNCHES=3"),
    planted(PAIRWISE, "FLAG_BEFORE_RECORD", ASSERTION, "N=2 WITH_BARRIER"),
    planted(PAIRWISE, "ONE_SLOT", ASSERTION, "N=2 WITH_BARRIER"),
    planted(PAIRWISE, "UNSIGNED_COMPARE", ASSERTION, "N=2 WITH_BARRIER"),
    planted(PAIRWISE, "EQUALITY_COMPARE", DEADLOCK, "N=2 WITH_BARRIER LEAD=8"),
    planted(PAIRWISE, "BARRIER_SKIPS_A_PEER", ASSERTION, "N=3 WITH_BARRIER WHOLE_RECORD"),
    planted(PAIRWISE, "RESET_FLAGS", DEADLOCK, "N=2 WITH_BARRIER LEAD=8"),
    planted(PAIRWISE, "ZERO_AFTER_EXCHANGE", DEADLOCK, "N=2 WITH_TREE"),
    planted(PAIRWISE, "EMPTY_LAUNCH_ADVANCES", ASSERTION, "N=2 WITH_BARRIER"),
    planted(PAIRWISE, "EMPTY_SHARDS_SHORTEN_THE_RING", ASSERTION, "N=4 WITH_RING WHOLE_RECORD"),
    planted(PAIRWISE, "TREE_WITHOUT_BROADCAST", ASSERTION, "N=2 WITH_TREE"),
    # Data behind barriers.
    Case(TWO_SHOT, f"N=2 {ALL_TWO_SHOT}"),
    Case(TWO_SHOT, f"N=2 {ALL_TWO_SHOT} STAGED"),
    Case(TWO_SHOT, "N=2 WITH_TWO_SHOT WITH_TWO_SHOT_WRITE WITH_TWO_SHOT_PUSH IN_PLACE"),
    Case(TWO_SHOT, "N=3 WITH_TWO_SHOT WITH_TWO_SHOT_WRITE"),
    Case(TWO_SHOT, "N=3 WITH_TWO_SHOT WITH_TWO_SHOT_PUSH"),
    planted(TWO_SHOT, "MESH_WITHOUT_END_BARRIER", ASSERTION, "N=2 WITH_MESH"),
    planted(TWO_SHOT, "TWO_SHOT_WITHOUT_START_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT"),
    planted(TWO_SHOT, "TWO_SHOT_WITHOUT_MIDDLE_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT"),
    planted(TWO_SHOT, "TWO_SHOT_WRITE_WITHOUT_START_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT_WRITE"),
    planted(TWO_SHOT, "TWO_SHOT_WRITE_WITHOUT_END_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT_WRITE"),
    planted(TWO_SHOT, "TWO_SHOT_PUSH_WITHOUT_MIDDLE_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT_PUSH"),
    planted(TWO_SHOT, "TWO_SHOT_PUSH_WITHOUT_END_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT_PUSH"),
    planted(TWO_SHOT, "INBOX_SHARES_SCRATCH", ASSERTION, "N=2 WITH_TWO_SHOT WITH_TWO_SHOT_PUSH"),
    planted(TWO_SHOT, "STAGING_OVER_SUMS", ASSERTION, "N=2 WITH_TWO_SHOT STAGED"),
    Case(TWO_SHOT, "N=2 WITH_MESH IN_PLACE", ASSERTION),
    # Slots that are used in turn.
    Case(STAGED, "N=2 STEPS=3 WITH_TWO_SHOT"),
    Case(STAGED, "N=2 STEPS=3 WITH_TWO_SHOT_PUSH"),
    Case(STAGED, "N=2 STEPS=5"),
    Case(STAGED, "N=3 STEPS=4 LAUNCHES=2"),
    planted(STAGED, "TWO_SLOTS", ASSERTION),
    planted(STAGED, "DELIVERS_THREE_AHEAD", ASSERTION),
    planted(STAGED, "SIGNAL_BEFORE_DELIVERY", ASSERTION),
    planted(STAGED, "SIGNAL_BEFORE_REDUCE", ASSERTION),
    planted(STAGED, "REDUCES_WITHOUT_WAIT", ASSERTION),
    planted(STAGED, "COLLECTS_WITHOUT_WAIT", ASSERTION),
    planted(STAGED, "AWAITS_ONE_PEER", ASSERTION, "N=3"),
    planted(STAGED, "TWO_SHOT_WITHOUT_START_BARRIER", ASSERTION, "N=2 WITH_TWO_SHOT"),
    # A chain of domains.
    Case(TWO_LEVEL, "N=2 STEPS=3 WITH_TWO_SHOT"),
    Case(TWO_LEVEL, "N=2 STEPS=3 IN_PLACE"),
    Case(TWO_LEVEL, "N=2 NEAR=2"),
    Case(TWO_LEVEL, "N=3 STEPS=2"),
    Case(TWO_LEVEL, "N=4 NEAR=2 STEPS=1"),
    Case(TWO_LEVEL, "N=4 NEAR=2 STEPS=2 LAUNCHES=2"),
    Case(TWO_LEVEL, "N=4 NEAR=2 STEPS=3 LAUNCHES=1"),  # the first domain spreads while it reduces
    planted(TWO_LEVEL, "NO_START_BARRIER", ASSERTION, "N=2 NEAR=2"),
    planted(TWO_LEVEL, "STARTS_WITH_ITS_DOMAIN_ALONE", ASSERTION, "N=2 WITH_TWO_SHOT"),
    planted(TWO_LEVEL, "NO_END_BARRIER", ASSERTION),
    planted(TWO_LEVEL, "REDUCES_WITHOUT_WAIT", ASSERTION),
    planted(TWO_LEVEL, "SPREADS_WITHOUT_WAIT", DEADLOCK),
    planted(TWO_LEVEL, "NOTIFIES_BEFORE_PARTIAL", ASSERTION),
    planted(TWO_LEVEL, "NOTIFIES_BEFORE_SUM", ASSERTION),
    planted(TWO_LEVEL, "NOTIFIES_ONCE", DEADLOCK),
    # Push.
    Case(PUSH, "N=2 LINES=2"),
    Case(PUSH, "N=2 LINES=2 CLEAR_AFTER_READ"),
    Case(PUSH, "N=2 WITH_BARRIER"),
    Case(PUSH, "N=3"),
    Case(PUSH, "N=3 WITH_BARRIER EPOCHS=3"),
    Case(PUSH, "N=2 G=1", DEADLOCK),
    Case(PUSH, "N=3 G=1", DEADLOCK),
    planted(PUSH, "FLAG_BEFORE_PAYLOAD", ASSERTION, "N=2 LINES=2"),
    planted(PUSH, "GENERATION_FROM_EPOCH", DEADLOCK, "N=2 LINES=2"),
    planted(PUSH, "ZERO_IS_AN_EPOCH", ASSERTION),
    planted(PUSH, "WRAP_WITHOUT_CLEARING", ASSERTION, "N=2 LINES=2"),
    planted(PUSH, "CLEARING_WITHOUT_BARRIER", DEADLOCK),
    planted(PUSH, "SIGNED_COMPARE", ASSERTION, "N=2 LINES=2"),
    planted(PUSH, "SKIPS_A_PEER", ASSERTION, "N=3"),
    planted(PUSH, "EMPTY_CALL_ADVANCES", DEADLOCK),
]
