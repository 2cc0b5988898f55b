/* Data behind barriers: mesh, two_shot, two_shot_write and two_shot_push, mixed.
 * Mirrors kernels/variants/{mesh,two_shot,two_shot_write,two_shot_push}.h over the barrier of kernels/device/host.h.
 *
 * A word stands for one shard of a buffer; its value is the launch that wrote it, modulo GHOST, or WILD.
 *   mesh            barrier; read every input, write own output;                                     barrier
 *   two_shot        barrier; reduce own shard of every input into own scratch; barrier; gather every scratch
 *   two_shot_write  barrier; reduce own shard of every input, store it to every output;              barrier
 *   two_shot_push   store own shards into the owners' inboxes (a region of their own: no barrier before);
 *                   barrier; reduce own inbox, store it to every output;                             barrier
 * The caller writes the input just before each launch and overwrites input and output (WILD) right after it. STAGED
 * copies the input to scratch before the first barrier. IN_PLACE makes input and output one buffer.
 *
 * Proven for N = 2, 3, over unboundedly many launches in any mix, with the epochs wrapping:
 *   P1  no deadlock;
 *   P2  what a rank reads from an input, scratch or inbox is of its own launch: neither early nor overwritten;
 *   P3  on return the output is complete, and until the next launch nobody touches it.
 */
#define M 4 /* the barrier's flags: one ahead at most */
#include "team.inc"
#define GHOST 4
#define WILD GHOST

#define MESH 1
#define TWO_SHOT 2
#define TWO_SHOT_WRITE 3
#define TWO_SHOT_PUSH 4
#define SHARD(rank, s) ((rank) * N + (s))

byte input[N * N], output[N * N];
byte scratch[N];     /* two_shot's sums: one shard per rank */
byte inbox[N * N];   /* two_shot_push: [owner][writer] */
byte staging[N * N]; /* copies of inputs that peers cannot address */
byte launches[N];
byte plan[2], takers[2];

#ifdef IN_PLACE
#define OUTPUT input
#else
#define OUTPUT output
#endif
#ifdef STAGED
#define SOURCE(q, s) staging[SHARD(q, s)]
#else
#define SOURCE(q, s) input[SHARD(q, s)]
#endif
#ifdef BUG_STAGING_OVER_SUMS
/* one region for both: the copy of the next launch overwrites a sum that a peer still gathers */
#define SUM(q) staging[SHARD(q, q)]
#else
#define SUM(q) scratch[q]
#endif

/* In place, a sum must not be taken for an input of the same launch. */
#define DONE(launch) ((launch) + GHOST + 1)

inline set_own_shards(word, value)
{
    atomic {
        peer = 0;
        do
        :: peer < N -> word = value; peer++
        :: else -> peer = 0; break
        od
    }
}

inline start_launch()
{
    atomic {
        launches[me] = (launches[me] + 1) % GHOST;
        if
        :: plan[launches[me] % 2] == 0 ->
            if
#ifdef WITH_MESH
            :: plan[launches[me] % 2] = MESH
#endif
#ifdef WITH_TWO_SHOT
            :: plan[launches[me] % 2] = TWO_SHOT
#endif
#ifdef WITH_TWO_SHOT_WRITE
            :: plan[launches[me] % 2] = TWO_SHOT_WRITE
#endif
#ifdef WITH_TWO_SHOT_PUSH
            :: plan[launches[me] % 2] = TWO_SHOT_PUSH
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
        peer = 0;
        do
        :: peer < N ->
            assert(output[SHARD(me, peer)] == WILD); /* P3: the caller's own until now */
            input[SHARD(me, peer)] = launches[me];
            peer++
        :: else -> peer = 0; break
        od
    };
#ifdef STAGED
    set_own_shards(staging[SHARD(me, peer)], launches[me]);
#endif
}

inline finish_launch()
{
    atomic {
        peer = 0;
        do
        :: peer < N ->
            assert(OUTPUT[SHARD(me, peer)] == DONE(launches[me])); /* P3 */
            input[SHARD(me, peer)] = WILD;
            output[SHARD(me, peer)] = WILD;
            peer++
        :: else -> peer = 0; break
        od;
        kind = 0
    }
}

inline barrier()
{
    i = 0;
    do
    :: i < N && i != me -> sent[i] = (sent[i] + 1) % M; flag[PAIR(i, me)] = sent[i]; i++
    :: i < N && i == me -> i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N && i != me -> expected[i] = (expected[i] + 1) % M; reached(flag[PAIR(me, i)], expected[i]); i++
    :: i < N && i == me -> i++
    :: else -> i = 0; break
    od
}

inline for_each_rank_expect(word, value)
{
    i = 0;
    do
    :: i < N -> assert((word) == value); i++
    :: else -> i = 0; break
    od
}

inline for_each_rank_store(word, value)
{
    i = 0;
    do
    :: i < N -> word = value; i++
    :: else -> i = 0; break
    od
}

inline mesh()
{
    barrier();
#ifdef IN_PLACE
    /* element by element: here shard by shard */
    l = 0;
    do
    :: l < N ->
        for_each_rank_expect(SOURCE(i, l), launches[me]);
        OUTPUT[SHARD(me, l)] = DONE(launches[me]);
        l++
    :: else -> l = 0; break
    od;
#else
    l = 0;
    do
    :: l < N -> for_each_rank_expect(SOURCE(i, l), launches[me]); l++
    :: else -> l = 0; break
    od;
    set_own_shards(OUTPUT[SHARD(me, peer)], DONE(launches[me]));
#endif
#ifndef BUG_MESH_WITHOUT_END_BARRIER
    barrier()
#endif
}

inline two_shot()
{
#ifndef BUG_TWO_SHOT_WITHOUT_START_BARRIER
    barrier();
#endif
    for_each_rank_expect(SOURCE(i, me), launches[me]);
    SUM(me) = DONE(launches[me]);
#ifndef BUG_TWO_SHOT_WITHOUT_MIDDLE_BARRIER
    barrier();
#endif
    i = 0;
    do
    :: i < N ->
        assert(SUM(i) == DONE(launches[me]));
        OUTPUT[SHARD(me, i)] = DONE(launches[me]);
        i++
    :: else -> i = 0; break
    od
}

inline two_shot_write()
{
#ifndef BUG_TWO_SHOT_WRITE_WITHOUT_START_BARRIER
    barrier();
#endif
    for_each_rank_expect(SOURCE(i, me), launches[me]);
    for_each_rank_store(OUTPUT[SHARD(i, me)], DONE(launches[me]));
#ifndef BUG_TWO_SHOT_WRITE_WITHOUT_END_BARRIER
    barrier()
#endif
}

inline two_shot_push()
{
#ifdef BUG_INBOX_SHARES_SCRATCH
    /* one region for the sums of two_shot and the inbox: needs a barrier before the first store */
    for_each_rank_store(SUM(i), WILD);
#endif
    for_each_rank_store(inbox[SHARD(i, me)], launches[me]);
#ifndef BUG_TWO_SHOT_PUSH_WITHOUT_MIDDLE_BARRIER
    barrier();
#endif
    for_each_rank_expect(inbox[SHARD(me, i)], launches[me]);
    for_each_rank_store(OUTPUT[SHARD(i, me)], DONE(launches[me]));
#ifndef BUG_TWO_SHOT_PUSH_WITHOUT_END_BARRIER
    barrier()
#endif
}

proctype rank(byte me)
{
    byte sent[N], expected[N];
    byte peer, i, l, kind;
    init_counters();
    do
    :: start_launch();
        if
#ifdef WITH_MESH
        :: kind == MESH -> mesh()
#endif
#ifdef WITH_TWO_SHOT
        :: kind == TWO_SHOT -> two_shot()
#endif
#ifdef WITH_TWO_SHOT_WRITE
        :: kind == TWO_SHOT_WRITE -> two_shot_write()
#endif
#ifdef WITH_TWO_SHOT_PUSH
        :: kind == TWO_SHOT_PUSH -> two_shot_push()
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
        :: r < N * N -> flag[r] = FIRST; output[r] = WILD; r++
        :: else -> break
        od;
        r = 0;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od
    }
}
