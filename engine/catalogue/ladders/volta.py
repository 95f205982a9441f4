"""The ladder of Volta's independent thread scheduling."""

from __future__ import annotations

from engine.catalogue.entries import Ladder, Rung
from engine.catalogue.ladders.published import HEIDELBERG

_SCHEDULING = Ladder(
    name="heidelberg-volta",
    title="Heidelberg: Volta's independent thread scheduling",
    lecture=HEIDELBERG,
    summary="What a warp promises about the order of its lanes, and what it no longer does. On the emulator choose "
    "between lockstep (up to Pascal) and independent lanes.",
    n=256,
    block_size=128,
    dtype="int32",
    picture="motion",
    counter="atomics",
    rungs=(
        Rung("branch_order", "if/else", "The lecture's branches with A, B, X, Y and Z: tickets show who runs when.",
             "Volta's (and after) SIMT model"),
        Rung("branch_order_syncwarp", "__syncwarp", "Z could run beside a branch; __syncwarp lets the lanes meet "
             "before it.", "Volta's (and after) SIMT model", promise="same"),
        Rung("branch_exchange", "exchange", "An order alone does no harm; reading what the other branch wrote "
             "does.",
             "Volta's (and after) SIMT model"),
        Rung("branch_exchange_syncwarp", "safe exchange", "The reader may have come too early; now the warp meets "
             "between writing and reading.", "Volta's (and after) SIMT model", promise="same"),
        Rung("lock_inside", "lock, Pascal", "Lanes met once; a lock lets them wait for each other. Up to Pascal "
             "only with the work inside the loop.", "Pascal's (and before) SIMT model"),
        Rung("lock_spin", "lock", "The work had to be done inside the waiting loop; with independent lanes the "
             "plain lock works. In lockstep it never ends.", "Starvation-free algorithms"),
        Rung("lock_ticket", "ticket lock", "Nothing decided who is next; tickets do: nobody is passed over "
             "forever, and no turn is lost to a thread that tries in vain.", "Starvation-free algorithms",
             promise="faster"),
        Rung("groups_tile", "groups", "Nothing in the code said which threads work together; a group has a name "
             "and a size.",
             "Escape the new feature"),
        Rung("groups_coalesced", "coalesced group", "The tiles were fixed; in a branch the group is whoever came.",
             "Escape the new feature"),
    ),
)  # fmt: skip

LADDERS = (_SCHEDULING,)
