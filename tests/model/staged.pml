/* Shards through slots, chunk by chunk.                    Mirrors kernels/variants/staged_two_shot.h.
 *
 * A launch has 1 ... STEPS chunks. Chunk c uses slot c mod SLOTS of every inbox and of every scratch:
 *   deliver(0); signal; deliver(1);
 *   for every chunk c:  await; reduce(c); signal; collect(c - 1); deliver(c + 2)
 *   await; collect(last)
 * where signal notifies every peer and await waits for every peer, deliver stores into the inbox of each peer, reduce
 * reads the own inbox and stores the own sum, collect reads the sums of all peers. Every launch starts with slot 0.
 * Between such launches the ranks run other variants over the same memory: WITH_TWO_SHOT (barrier; own sum into slot 0;
 * barrier; gather) and WITH_TWO_SHOT_PUSH (store into slot 0 of the inboxes; barrier; read; barrier).
 *
 * A word's value is the launch and chunk that wrote it; `unread` counts who has still to read it.
 *
 * Proven with the epochs wrapping, for N = 2 over unboundedly many launches, for N = 3 over LAUNCHES:
 *   P1  no deadlock;
 *   P2  what a rank reads is of its own launch and chunk;
 *   P3  nothing is overwritten before all its readers have read it;
 *   P4  nobody starts launch L + 2 before every peer has started L + 1.
 */
#define M 4 /* flags: one ahead at most */
#include "team.inc"
#define GHOST 4
#ifndef STEPS
#define STEPS 4
#endif
#ifdef BUG_TWO_SLOTS
#define SLOTS 2
#else
#define SLOTS 3
#endif

#define TWO_SHOT (STEPS + 1)
#define TWO_SHOT_PUSH (STEPS + 2)
#define INBOX(owner, slot, writer) (((owner) * SLOTS + (slot)) * N + (writer))
#define SUM(owner, slot) ((owner) * SLOTS + (slot))
#define TAG(chunk) (launches[me] * STEPS + (chunk))

byte inbox[N * N * SLOTS];
bit inbox_unread[N * N * SLOTS];
byte sums[N * SLOTS], sums_unread[N * SLOTS];
byte launches[N];
byte plan[2], takers[2];

inline start_launch()
{
    atomic {
        launches[me] = (launches[me] + 1) % GHOST;
        i = 0;
        do
        :: i < N -> assert((launches[me] + GHOST - launches[i]) % GHOST != 2); i++ /* P4 */
        :: else -> i = 0; break
        od;
        if
        :: plan[launches[me] % 2] == 0 ->
            if
            :: plan[launches[me] % 2] = 1
            :: plan[launches[me] % 2] = STEPS
#if STEPS > 2
            :: plan[launches[me] % 2] = 2
#endif
#ifdef WITH_TWO_SHOT
            :: plan[launches[me] % 2] = TWO_SHOT
#endif
#ifdef WITH_TWO_SHOT_PUSH
            :: plan[launches[me] % 2] = TWO_SHOT_PUSH
#endif
            fi
        :: else
        fi;
        steps = plan[launches[me] % 2];
        takers[launches[me] % 2]++;
        if
        :: takers[launches[me] % 2] == N -> takers[launches[me] % 2] = 0; plan[launches[me] % 2] = 0
        :: else
        fi
    }
}

inline deliver_to(p, chunk)
{
    atomic {
        assert(!inbox_unread[INBOX(p, (chunk) % SLOTS, me)]); /* P3 */
        inbox[INBOX(p, (chunk) % SLOTS, me)] = TAG(chunk);
        inbox_unread[INBOX(p, (chunk) % SLOTS, me)] = 1;
        i++
    }
}

inline deliver(chunk)
{
    i = 0;
    do
    :: i < N && i != me && (chunk) < steps -> deliver_to(i, chunk)
    :: i < N && (i == me || (chunk) >= steps) -> i++
    :: else -> i = 0; break
    od
}

inline signal()
{
    i = 0;
    do
    :: i < N && i != me -> atomic { sent[i] = (sent[i] + 1) % M; flag[PAIR(i, me)] = sent[i]; i++ }
    :: i < N && i == me -> i++
    :: else -> i = 0; break
    od
}

inline await()
{
    i = 0;
    do
#ifdef BUG_AWAITS_ONE_PEER
    :: i < N && i == (me + 1) % N ->
#else
    :: i < N && i != me ->
#endif
        atomic { expected[i] = (expected[i] + 1) % M; reached(flag[PAIR(me, i)], expected[i]); i++ }
#ifdef BUG_AWAITS_ONE_PEER
    :: i < N && i != (me + 1) % N -> i++
#else
    :: i < N && i == me -> i++
#endif
    :: else -> i = 0; break
    od
}

inline read_inbox(slot, chunk)
{
    atomic {
        i = 0;
        do
        :: i < N && i != me ->
            assert(inbox[INBOX(me, slot, i)] == TAG(chunk)); /* P2 */
            inbox_unread[INBOX(me, slot, i)] = 0;
            i++
        :: i < N && i == me -> i++
        :: else -> i = 0; break
        od
    }
}

inline store_sum(slot, chunk)
{
    atomic {
        assert(sums_unread[SUM(me, slot)] == 0); /* P3 */
        sums[SUM(me, slot)] = TAG(chunk);
        sums_unread[SUM(me, slot)] = N - 1
    }
}

inline collect(chunk)
{
    i = 0;
    do
    :: i < N && i != me ->
        atomic {
            assert(sums[SUM(i, (chunk) % SLOTS)] == TAG(chunk)); /* P2 */
            sums_unread[SUM(i, (chunk) % SLOTS)]--;
            i++
        }
    :: i < N && i == me -> i++
    :: else -> i = 0; break
    od
}

inline staged()
{
#ifdef BUG_SIGNAL_BEFORE_DELIVERY
    /* as with stores past the cache that no fence orders before the flag */
    signal();
    deliver(0);
#else
    deliver(0);
    signal();
#endif
    deliver(1);
    step = 0;
    do
    :: step < steps ->
#ifndef BUG_REDUCES_WITHOUT_WAIT
        await();
#endif
#ifdef BUG_SIGNAL_BEFORE_REDUCE
        signal();
#endif
        read_inbox(step % SLOTS, step);
        store_sum(step % SLOTS, step);
#ifndef BUG_SIGNAL_BEFORE_REDUCE
        signal();
#endif
        if
        :: step > 0 -> collect(step - 1)
        :: else
        fi;
#ifdef BUG_DELIVERS_THREE_AHEAD
        deliver(step + 3);
#else
        deliver(step + 2);
#endif
        step++
    :: else -> break
    od;
#ifndef BUG_COLLECTS_WITHOUT_WAIT
    await();
#endif
    collect(steps - 1);
    step = 0
}

inline two_shot()
{
#ifndef BUG_TWO_SHOT_WITHOUT_START_BARRIER
    signal();
    await();
#endif
    store_sum(0, 0);
    signal();
    await();
    collect(0)
}

inline two_shot_push()
{
    deliver(0);
    signal();
    await();
    read_inbox(0, 0);
    signal();
    await()
}

proctype rank(byte me)
{
    byte sent[N], expected[N];
    byte peer, i, step, steps;
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
        :: steps <= STEPS -> staged()
#ifdef WITH_TWO_SHOT
        :: steps == TWO_SHOT -> two_shot()
#endif
#ifdef WITH_TWO_SHOT_PUSH
        :: steps == TWO_SHOT_PUSH -> two_shot_push()
#endif
        fi;
        steps = 0
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
