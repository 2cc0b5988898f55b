/* One-shot push: flags travel with the data, no barrier.               Mirrors kernels/variants/push.h.
 *
 * Call c of a communicator has generation c mod G and an epoch in 1 ... M - 1 (0 is the empty line of a zeroed inbox):
 *   write   for every peer p and line l: payload, then store-release flag, of inbox[p][generation][me][l];
 *   poll    for every peer p and line l: spin until flag == epoch (load-acquire), then read the payload of
 *           inbox[me][generation][p][l];
 *   return.
 * A call has any number of lines, 1 ... LINES. When the epochs are used up each rank clears the flags of its own inbox,
 * joins a barrier, and starts again at epoch 1. (A line may rest for any number of calls: without the clearing its old
 * flag could equal a new epoch.) With CLEAR_AFTER_READ the reader instead zeroes each flag that it has consumed.
 *
 * Between calls, WITH_BARRIER lets the ranks run a launch of another variant (start barrier, read the inputs of all
 * peers, end barrier). A push of count 0 touches nothing and counts as no call: nothing to model.
 *
 * Proven for N = 2, 3, for G = 2, over unboundedly many calls and wraps:
 *   P1  no deadlock;
 *   P2  the payload that is read is that of the reader's call (no early read, no overwrite of unread data);
 *   P3  nobody starts call c + 2 before every peer has started c + 1.
 */
#ifndef G
#define G 2
#endif
#ifndef LINES
#define LINES 1
#endif
#define FIRST 0
#define M 4 /* the barrier's flags: one ahead at most */
#include "team.inc"
#ifndef EPOCHS
#define EPOCHS 4 /* epochs are modulo this: 1 ... EPOCHS - 1 and the empty 0 */
#endif
#define GHOST 4

#define LINE(owner, generation, writer, l) ((((owner) * G + (generation)) * N + (writer)) * LINES + (l))

byte inbox_flag[N * G * N * LINES];    /* zeroed before the handles are exchanged */
byte inbox_payload[N * G * N * LINES]; /* the number of the call, modulo GHOST, stands for the data */
byte input[N];
byte calls[N];                                    /* ghost: launches of any kind started */
byte plan[2], takers[2];                          /* what launch L (mod 2) is, and how many ranks have seen it */
#define OTHER (LINES + 1)                         /* a launch of a barrier variant */

inline start_call()
{
    atomic {
        calls[me] = (calls[me] + 1) % GHOST;
        peer = 0;
        do
        :: peer < N -> assert((calls[me] + GHOST - calls[peer]) % GHOST != 2); peer++ /* P3 */
        :: else -> peer = 0; break
        od;
        if
        :: plan[calls[me] % 2] == 0 ->
            if
            :: plan[calls[me] % 2] = 1
#if LINES > 1
            :: plan[calls[me] % 2] = 2
#endif
#ifdef WITH_BARRIER
            :: plan[calls[me] % 2] = OTHER
#endif
            fi
        :: else
        fi;
        kind = plan[calls[me] % 2];
        takers[calls[me] % 2]++;
        if
        :: takers[calls[me] % 2] == N -> takers[calls[me] % 2] = 0; plan[calls[me] % 2] = 0
        :: else
        fi
    }
}

/* The next epoch and generation, the same on every rank. */
inline advance()
{
#if defined(BUG_GENERATION_FROM_EPOCH)
    /* 0 is skipped, but the generation is the epoch's parity: ... M - 1, 1: odd twice */
    epoch = (epoch == EPOCHS - 1 -> 1 : epoch + 1);
    generation = epoch % 2;
#elif defined(BUG_ZERO_IS_AN_EPOCH)
    epoch = (epoch + 1) % EPOCHS;
    generation = (generation + 1) % G;
#else
    generation = (generation + 1) % G;
    if
    :: epoch < EPOCHS - 1 -> epoch++
    :: else ->
#if !defined(CLEAR_AFTER_READ) && !defined(BUG_WRAP_WITHOUT_CLEARING)
        clear_inbox();
#ifndef BUG_CLEARING_WITHOUT_BARRIER
        barrier();
#endif
#endif
        epoch = 1
    fi
#endif
}

inline clear_inbox()
{
    i = 0;
    do
    :: i < G * N * LINES -> inbox_flag[LINE(me, 0, 0, i)] = 0; i++
    :: else -> i = 0; break
    od
}

inline write_line(to)
{
#ifdef BUG_FLAG_BEFORE_PAYLOAD
    inbox_flag[LINE(to, generation, me, l)] = epoch;
    inbox_payload[LINE(to, generation, me, l)] = calls[me]
#else
    inbox_payload[LINE(to, generation, me, l)] = calls[me];
    inbox_flag[LINE(to, generation, me, l)] = epoch
#endif
}

#ifdef BUG_SIGNED_COMPARE
#define arrived(seen) (((seen) + EPOCHS - epoch) % EPOCHS < EPOCHS / 2)
#else
#define arrived(seen) ((seen) == epoch)
#endif

inline read_line(from)
{
    arrived(inbox_flag[LINE(me, generation, from, l)]);
    atomic {
        assert(inbox_payload[LINE(me, generation, from, l)] == calls[me]); /* P2 */
        inbox_payload[LINE(me, generation, from, l)] = GHOST /* read: keeps the number of states down */
    }
#ifdef CLEAR_AFTER_READ
    inbox_flag[LINE(me, generation, from, l)] = 0
#endif
}

inline push()
{
    advance();
    i = 0;
    do
    :: i < N && i != me ->
        l = 0;
        do
        :: l < kind -> write_line(i); l++
        :: else -> l = 0; break
        od;
        i++
    :: i < N && i == me -> i++
    :: else -> break
    od;
    i = 0;
    do
#ifdef BUG_SKIPS_A_PEER
    :: i < N && (i == me || i == (me + 1) % N) -> i++
    :: i < N && i != me && i != (me + 1) % N ->
#else
    :: i < N && i == me -> i++
    :: i < N && i != me ->
#endif
        l = 0;
        do
        :: l < kind -> read_line(i); l++
        :: else -> l = 0; break
        od;
        i++
    :: else -> i = 0; break
    od
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

/* mesh: the caller writes the input just before and may overwrite it right after. */
inline other()
{
    input[me] = calls[me];
    barrier();
    i = 0;
    do
    :: i < N -> assert(input[i] == calls[me]); i++
    :: else -> i = 0; break
    od;
    barrier();
    input[me] = GHOST
}

proctype rank(byte me)
{
    byte sent[N], expected[N];
    byte peer, i, l, kind;
    byte epoch, generation;
#ifdef FIRST_EPOCH
    epoch = FIRST_EPOCH;
#endif
#ifdef BUG_ZERO_IS_AN_EPOCH
    epoch = EPOCHS - 1;
#endif
    do
    :: start_call();
#ifdef BUG_EMPTY_CALL_ADVANCES
        advance(); /* a push of count 0 that returns at once but moves the generation */
#endif
        if
        :: kind <= LINES -> push()
#ifdef WITH_BARRIER
        :: kind == OTHER -> other()
#endif
        fi;
        kind = 0
    od
}

init
{
    byte r;
    atomic {
        r = 0;
        do
        :: r < N -> run rank(r); r++
        :: else -> break
        od
    }
}
