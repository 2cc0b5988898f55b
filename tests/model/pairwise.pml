/* The team barrier, pairwise notify/wait and the launch record.        Mirrors kernels/device/host.h.
 *
 * notify(p):  ++sent[p]; the first time in a launch write the record (two words) into slot [launch parity] of the
 *             line in p's pad; then store-release flag[p][me] = sent[p].
 * wait(p):    ++expected[p]; spin until reached(flag[me][p], expected[p]); the first time in a launch read the record.
 * barrier:    notify every peer, then wait for every peer.
 *
 * The ranks run for ever (or for LAUNCHES launches, where for ever has too many states); launch by launch the first rank that arrives chooses freely among the variants in KINDS.
 *
 * Proven for N = 2, 3, over unboundedly many launches and wraps of the epoch:
 *   P1  no deadlock;
 *   P2  the record that is read belongs to the reader's launch and is whole;
 *   P3  nobody passes a barrier before every peer has entered it;
 *   P4  nobody starts launch L + 2 before every peer has started L + 1 (hence finished L);
 *   P5  a flag is never more than LEAD ahead of what its reader waits for (LEAD < M / 2; 2^31 in the real thing).
 */
#ifndef LEAD
#define LEAD 2
#endif
#include "team.inc"
#define GHOST 4 /* ghosts count modulo this; a launch's number stands for the addresses in its record */

#define BARRIER1 1
#define BARRIER2 2
#define RING 3
#define TREE 4
#define FOLD 5
#ifdef BUG_ONE_SLOT
#define SLOT 0
#else
#define SLOT (parity)
#endif
#define RECORD(to, from, slot) (PAIR(to, from) * 2 + (slot))

byte record_in[N * N * 2], record_out[N * N * 2]; /* the record's two words */
byte plan[2], takers[2];                          /* what launch L (mod 2) is, and how many ranks have seen it */
byte launches[N];                                 /* ghosts: launches started, barriers entered, flags sent */
byte entered[N];

/* The launch that all ranks agree on. Nobody may be here while another rank is two launches behind: P4. */
inline start_launch()
{
    atomic {
#ifdef BUG_EMPTY_LAUNCH_ADVANCES
        /* a launch of count 0 that returns at once but counts: the parity moves without proof that the peers came */
        parity = 1 - parity;
#endif
        launches[me] = (launches[me] + 1) % GHOST;
        peer = 0;
        do
        :: peer < N ->
#ifndef P4_UNCHECKED
            assert((launches[me] + GHOST - launches[peer]) % GHOST != 2); /* P4 */
#endif
            put[peer] = 0; got[peer] = 0; peer++
        :: else -> peer = 0; break
        od;
        parity = 1 - parity;
        if
        :: plan[launches[me] % 2] == 0 ->
            if
#ifdef WITH_BARRIER
            :: plan[launches[me] % 2] = BARRIER1
            :: plan[launches[me] % 2] = BARRIER2
#endif
#ifdef WITH_RING
            :: plan[launches[me] % 2] = RING
#endif
#ifdef WITH_TREE
            :: plan[launches[me] % 2] = TREE
#endif
#ifdef WITH_FOLD
            :: plan[launches[me] % 2] = FOLD
#endif
            fi
        :: else
        fi;
        kind = plan[launches[me] % 2];
        takers[launches[me] % 2]++;
        if
        :: takers[launches[me] % 2] == N -> takers[launches[me] % 2] = 0; plan[launches[me] % 2] = 0
        :: else
        fi
    }
}

inline raise_flag(p)
{
    flag[PAIR(p, me)] = sent[p]
}

inline write_record(p)
{
    if
    :: !put[p] ->
        put[p] = 1;
#ifdef WHOLE_RECORD
        atomic { record_in[RECORD(p, me, SLOT)] = launches[me]; record_out[RECORD(p, me, SLOT)] = launches[me] }
#else
        record_in[RECORD(p, me, SLOT)] = launches[me];
        record_out[RECORD(p, me, SLOT)] = launches[me]
#endif
    :: else
    fi
}

inline notify(p)
{
    sent[p] = (sent[p] + 1) % M;
#ifdef BUG_FLAG_BEFORE_RECORD
    raise_flag(p);
    write_record(p);
#else
    write_record(p);
    raise_flag(p);
#endif
}

inline wait(p)
{
    expected[p] = (expected[p] + 1) % M;
    atomic {
        reached(flag[PAIR(me, p)], expected[p]);
#ifndef BUG_UNSIGNED_COMPARE
        assert((flag[PAIR(me, p)] + M - expected[p]) % M <= LEAD) /* P5 */
#endif
    }
    if
    :: !got[p] ->
        got[p] = 1;
#ifdef WHOLE_RECORD
        assert(record_in[RECORD(me, p, SLOT)] == launches[me] && record_out[RECORD(me, p, SLOT)] == launches[me])
#else
        assert(record_in[RECORD(me, p, SLOT)] == launches[me]); /* P2 */
        assert(record_out[RECORD(me, p, SLOT)] == launches[me])
#endif
    :: else
    fi
}

inline barrier()
{
    entered[me] = (entered[me] + 1) % GHOST;
    i = 0;
    do
    :: i < N && i != me -> notify(i); i++
    :: i < N && i == me -> i++
    :: else -> break
    od;
    i = 0;
    do
#ifdef BUG_BARRIER_SKIPS_A_PEER
    :: i < N && i == (me + 1) % N -> i++
    :: i < N && i != me && i != (me + 1) % N -> wait(i); i++
#else
    :: i < N && i != me -> wait(i); i++
#endif
    :: i < N && i == me -> i++
    :: else -> i = 0; break
    od;
    atomic {
        peer = 0;
        do
        :: peer < N -> assert((entered[peer] + GHOST - entered[me]) % GHOST <= 1); peer++ /* P3 */
        :: else -> peer = 0; break
        od
    }
}

/* Pull ring with one chunk: 2 (N - 1) times `notify(right); wait(left)`, then `notify(left); wait(right)`. Empty shards
 * must not shorten it: without the inner steps a rank learns of its two neighbours alone (P4 fails from N = 4). */
#ifdef BUG_EMPTY_SHARDS_SHORTEN_THE_RING
#define STEPS 1
#else
#define STEPS (2 * (N - 1))
#endif
inline ring()
{
    i = 0;
    do
    :: i < STEPS -> notify((me + 1) % N); wait((me + N - 1) % N); i++
    :: else -> i = 0; break
    od;
    notify((me + N - 1) % N);
    wait((me + 1) % N)
}

/* Reduce along the chain N - 1 -> ... -> 0, broadcast back. */
inline tree()
{
    if
    :: me < N - 1 -> wait(me + 1)
    :: else
    fi;
    if
    :: me > 0 -> notify(me - 1);
#ifndef BUG_TREE_WITHOUT_BROADCAST
        wait(me - 1)
#endif
    :: else
    fi;
#ifndef BUG_TREE_WITHOUT_BROADCAST
    if
    :: me < N - 1 -> notify(me + 1)
    :: else
    fi
#endif
}

/* Halving-doubling: rank 2 folds into rank 0, ranks 0 and 1 exchange, rank 0 hands the result to rank 2. */
inline fold()
{
#if N == 3
    if
    :: me == 2 -> notify(0); wait(0)
    :: me == 0 -> wait(2); notify(1); wait(1); notify(2)
    :: me == 1 -> notify(0); wait(0)
    fi
#else
    notify(1 - me); wait(1 - me)
#endif
}

proctype rank(byte me)
{
    byte sent[N], expected[N];
    bit put[N], got[N];
    byte peer, i, kind;
    bit parity;
#ifdef LAUNCHES
    byte launched;
#endif
    init_counters();
#ifdef BUG_ZERO_AFTER_EXCHANGE
    flag[PAIR(me, (me + 1) % N)] = FIRST; /* clears its own pad although peers may already write to it */
#endif
    do
#ifdef LAUNCHES
    :: launched == LAUNCHES -> break
    :: launched < LAUNCHES -> launched++; start_launch();
#else
    :: start_launch();
#endif
        if
#ifdef WITH_BARRIER
        :: kind == BARRIER1 -> barrier()
        :: kind == BARRIER2 -> barrier(); barrier()
#endif
#ifdef WITH_RING
        :: kind == RING -> ring()
#endif
#ifdef WITH_TREE
        :: kind == TREE -> tree()
#endif
#ifdef WITH_FOLD
        :: kind == FOLD -> fold()
#endif
        fi;
        kind = 0;
#ifdef BUG_RESET_FLAGS
        /* start every launch from zero: wipes a notify of a rank that is already in the next launch */
        atomic {
            peer = 0;
            do
            :: peer < N -> sent[peer] = FIRST; expected[peer] = FIRST; flag[PAIR(me, peer)] = FIRST; peer++
            :: else -> peer = 0; break
            od
        }
#endif
    od
}

init
{
    byte r;
    atomic {
        r = 0;
        do
        :: r < N * N -> flag[r] = FIRST; r++
        :: else -> break
        od;
        r = 0;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od
    }
}
