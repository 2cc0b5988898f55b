/* Two levels: a chain of domains, chunk by chunk.                        Mirrors kernels/variants/two_level.h.
 *
 * Ranks fall into domains of NEAR consecutive ones. Rank j of a domain owns part j there, in STEPS chunks:
 *   barrier;
 *   for every chunk c:  wait for the rank before it in the chain; read part j of my domain's inputs, and its partial sum;
 *                       store my partial sum, notify the next one, spread(c - lag)
 *                       the last one: store the sum to my domain's outputs, notify all others of the chain
 *   spread(c):          wait for the last one; read its output, store it to my domain's outputs
 *   barrier
 * Between such launches WITH_TWO_SHOT mixes two_shot, whose sums in scratch peers read after their owner has returned.
 * The caller writes the input just before each launch and overwrites input and output (WILD) right after it. IN_PLACE
 * makes input and output one buffer.
 *
 * Proven with the epochs wrapping, over unboundedly many launches (LAUNCHES: that many). Two domains of two ranks: one
 * chunk over unboundedly many launches, two chunks over two, three over one. More domains: of one rank each.
 *   P1  no deadlock;
 *   P2  what a rank reads is of its own launch and chunk: neither early nor overwritten;
 *   P3  nothing is overwritten before who has to read it has;
 *   P4  on return the output is complete, and until the next launch nobody touches it.
 */
#ifndef M
#define M 8 /* flags: a whole launch ahead at most, its chunks and a barrier */
#endif
#include "team.inc"
#ifndef NEAR
#define NEAR 1
#endif
#ifndef STEPS
#define STEPS 2
#endif
#define GHOST 4
#define WILD GHOST
#define DONE(launch) ((launch) + GHOST + 1)

#define PLACE(r) ((r) % NEAR)
#define FIRST_NEAR(r) ((r) - PLACE(r))
#define LAST (N - NEAR + PLACE(me))
#define LAG ((N - FIRST_NEAR(me)) / NEAR)
#define WORD(rank, part, chunk) (((rank) * NEAR + (part)) * STEPS + (chunk))
#define SUM(rank, chunk) ((rank) * STEPS + (chunk))
#define TWO_LEVEL 1
#define TWO_SHOT 2

byte input[N * NEAR * STEPS], output[N * NEAR * STEPS];
byte sums[N * STEPS], unread[N * STEPS];
byte launches[N];
byte plan[2], takers[2];

#ifdef IN_PLACE
#define OUTPUT input
#else
#define OUTPUT output
#endif

inline start_launch()
{
    atomic {
        launches[me] = (launches[me] + 1) % GHOST;
        if
        :: plan[launches[me] % 2] == 0 ->
            if
            :: plan[launches[me] % 2] = TWO_LEVEL
#ifdef WITH_TWO_SHOT
            :: plan[launches[me] % 2] = TWO_SHOT
#endif
            fi
        :: else
        fi;
        kind = plan[launches[me] % 2];
        takers[launches[me] % 2]++;
        if
        :: takers[launches[me] % 2] == N -> takers[launches[me] % 2] = 0; plan[launches[me] % 2] = 0
        :: else
        fi;
        i = 0;
        do
        :: i < NEAR * STEPS ->
            assert(output[me * NEAR * STEPS + i] == WILD); /* P4: the caller's own until now */
            input[me * NEAR * STEPS + i] = launches[me];
            i++
        :: else -> i = 0; break
        od
    }
}

inline finish_launch()
{
    atomic {
        i = 0;
        do
        :: i < NEAR * STEPS ->
            assert(kind == TWO_SHOT || OUTPUT[me * NEAR * STEPS + i] == DONE(launches[me])); /* P4 */
            input[me * NEAR * STEPS + i] = WILD;
            output[me * NEAR * STEPS + i] = WILD;
            i++
        :: else -> i = 0; break
        od;
        kind = 0
    }
}

inline notify(to)
{
    atomic { sent[to] = (sent[to] + 1) % M; flag[PAIR(to, me)] = sent[to] }
}
inline wait(from)
{
    atomic { expected[from] = (expected[from] + 1) % M; reached(flag[PAIR(me, from)], expected[from]) }
}

/* Of the ranks first ... end - 1. */
inline barrier(first, end)
{
    atomic {
        i = first;
        do
        :: i < end && i != me -> sent[i] = (sent[i] + 1) % M; flag[PAIR(i, me)] = sent[i]; i++
        :: i < end && i == me -> i++
        :: else -> break
        od
    }
    i = first;
    do
    :: i < end && i != me -> wait(i); i++
    :: i < end && i == me -> i++
    :: else -> i = 0; break
    od
}

inline read_inputs()
{
    i = 0;
    do
    :: i < NEAR -> assert(input[WORD(FIRST_NEAR(me) + i, PLACE(me), step)] == launches[me]); i++ /* P2 */
    :: else -> i = 0; break
    od
}

inline read_partial(from)
{
    atomic {
        assert(sums[SUM(from, step)] == launches[me]); /* P2 */
        unread[SUM(from, step)]--
    }
}

inline store_partial(slot, readers)
{
    atomic {
        assert(unread[SUM(me, slot)] == 0); /* P3 */
        sums[SUM(me, slot)] = launches[me];
        unread[SUM(me, slot)] = readers
    }
}

inline store_outputs(chunk)
{
    i = 0;
    do
    :: i < NEAR -> OUTPUT[WORD(FIRST_NEAR(me) + i, PLACE(me), chunk)] = DONE(launches[me]); i++
    :: else -> i = 0; break
    od
}

inline spread()
{
#ifndef BUG_SPREADS_WITHOUT_WAIT
    wait(LAST);
#endif
    assert(OUTPUT[WORD(LAST, PLACE(me), back)] == DONE(launches[me])); /* P2 */
    store_outputs(back);
    back++
}

inline notify_chain()
{
    i = PLACE(me);
    do
    :: i < LAST -> notify(i); i = i + NEAR
    :: else -> i = 0; break
    od
}

inline two_level()
{
#ifdef BUG_STARTS_WITH_ITS_DOMAIN_ALONE
    barrier(FIRST_NEAR(me), FIRST_NEAR(me) + NEAR);
#else
#ifndef BUG_NO_START_BARRIER
    barrier(0, N);
#endif
#endif
    step = 0;
    back = 0;
    do
    :: step < STEPS ->
        if
        :: me >= NEAR ->
#ifndef BUG_REDUCES_WITHOUT_WAIT
            wait(me - NEAR);
#endif
            read_partial(me - NEAR)
        :: else
        fi;
        read_inputs();
        if
        :: me < LAST ->
#ifdef BUG_NOTIFIES_BEFORE_PARTIAL
            notify(me + NEAR);
            store_partial(step, 1);
#else
            store_partial(step, 1);
            notify(me + NEAR);
#endif
            if
            :: step >= LAG -> spread()
            :: else
            fi
        :: else ->
#ifdef BUG_NOTIFIES_BEFORE_SUM
            notify_chain();
            store_outputs(step)
#else
            store_outputs(step);
#ifdef BUG_NOTIFIES_ONCE
            if
            :: step == 0 -> notify_chain()
            :: else
            fi
#else
            notify_chain()
#endif
#endif
        fi;
        step++
    :: else -> break
    od;
    do
    :: me < LAST && back < STEPS -> spread()
    :: else -> break
    od;
#ifndef BUG_NO_END_BARRIER
    barrier(0, N);
#endif
    step = 0;
    back = 0
}

/* One word of scratch, read by everybody before it returns: only the next launch's barrier protects it. */
inline two_shot()
{
    barrier(0, N);
    store_partial(0, N - 1);
    barrier(0, N);
    step = 0;
    back = 0;
    do
    :: back < N && back != me -> read_partial(back); back++
    :: back < N && back == me -> back++
    :: else -> back = 0; break
    od
}

proctype rank(byte me)
{
    byte sent[N], expected[N];
    byte peer, i, step, back, kind;
#ifdef LAUNCHES
    byte launched;
#endif
    init_counters();
    do
#ifdef LAUNCHES
    :: launched == LAUNCHES -> break
    :: launched < LAUNCHES -> launched++; start_launch();
#else
    :: start_launch();
#endif
        if
        :: kind == TWO_LEVEL -> two_level()
#ifdef WITH_TWO_SHOT
        :: kind == TWO_SHOT -> two_shot()
#endif
        fi;
        finish_launch()
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
        :: r < N * NEAR * STEPS -> output[r] = WILD; r++
        :: else -> break
        od;
        r = 0;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od
    }
}
