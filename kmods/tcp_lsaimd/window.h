/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of LS-AIMD, free of sockets, so that it can be tested in a
 * program
 *
 * A. S. Ahmed: "Extending TCP for Low Round Trip Delay", master thesis,
 * University of Oslo 2019. Stated there: the logarithmic increase, the
 * reductions and their floor of 2 bytes, and that a sender waits instead of
 * sending smaller segments. Its numbers have a scale that it does not tell;
 * ours is 1/2^24 of a byte:
 *
 *   - C k0 log2(S/k1 + 1) comes out within 2^-23 relative to C k0;
 *   - windows reach 2^31 bytes, more than TCP can announce (RFC 7323), which
 *     is 100 Gb/s at 170 ms; no product below exceeds 64 bits, or 128 where
 *     mul_u64_u64_div_u64() takes it.
 */
#ifndef TCP_LSAIMD_WINDOW_H
#define TCP_LSAIMD_WINDOW_H

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "../log2.h"

#define LSAIMD_SHIFT		24	/* of a window, to bytes */
#define LSAIMD_BYTE		BIT_ULL(LSAIMD_SHIFT)
#define LSAIMD_FLOOR		(2 * LSAIMD_BYTE)
#define LSAIMD_CEILING		(LSAIMD_BYTE << 31)
#define LSAIMD_DELTA		2	/* segments that a receiver may acknowledge at once */
#define LSAIMD_C_ONE		128	/* C = 1 */
#define LSAIMD_ALPHA_SHIFT	20
#define LSAIMD_ALPHA_ONE	BIT(LSAIMD_ALPHA_SHIFT)
#define LSAIMD_G_SHIFT		4	/* g = 1/16 */
#define LSAIMD_LONGEST_WAIT	1	/* s, for each segment that leaves */
#define LSAIMD_DELAYED_ACK	40000U	/* us; Linux's TCP_DELACK_MIN */

/**
 * lsaimd_segments() - W_s, the whole segments of a window
 * @window:	in 1/2^24 byte
 * @mss:	SMSS in bytes
 *
 * Return: their number, below 2^31.
 */
static inline u32 lsaimd_segments(u64 window, u32 mss)
{
	return div_u64(window >> LSAIMD_SHIFT, mss);
}

/**
 * lsaimd_window() - a window of whole segments
 * @segments:	their number
 * @mss:	SMSS in bytes
 *
 * Return: the window in 1/2^24 byte, not above the ceiling.
 */
static inline u64 lsaimd_window(u32 segments, u32 mss)
{
	return min_t(u64, (u64)segments * mss, LSAIMD_CEILING >> LSAIMD_SHIFT) << LSAIMD_SHIFT;
}

/**
 * lsaimd_burst() - s_B, what leaves at once after a wait
 * @most:	segments of a burst that the user allows, at least 1
 * @largest:	window in bytes, the largest that the receiver has offered
 * @mss:	SMSS in bytes
 *
 * Return: min(@most SMSS, rwnd), in whole segments, at least one.
 */
static inline u32 lsaimd_burst(u32 most, u32 largest, u32 mss)
{
	return clamp_t(u32, largest / mss, 1, most);
}

/**
 * lsaimd_delta() - delta, the segments that a receiver is to acknowledge at once
 * @burst:	segments that leave at once
 *
 * Return: a burst, or what a receiver waits for where segments leave one by one.
 */
static inline u32 lsaimd_delta(u32 burst)
{
	return max_t(u32, burst, LSAIMD_DELTA);
}

/**
 * lsaimd_waits() - whether a window is one that segments wait for
 * @window:	in 1/2^24 byte
 * @mss:	SMSS in bytes
 * @delta:	from lsaimd_delta()
 *
 * Return: whether it holds fewer than delta segments.
 */
static inline bool lsaimd_waits(u64 window, u32 mss, u32 delta)
{
	return lsaimd_segments(window, mss) < delta;
}

/**
 * lsaimd_increase() - add_B, what a round trip adds to the window
 * @c:		C, in 1/128, up to 128
 * @k0:		bytes, up to 65535
 * @k1:		bytes, 1 to 65535
 * @threshold:	S_B, in 1/2^24 byte, up to the ceiling
 *
 * C k0 log2(S_B/k1 + 1), of which S_B counts in 1/256 byte.
 *
 * Return: bytes, in 1/2^24.
 */
static inline u64 lsaimd_increase(u32 c, u32 k0, u32 k1, u64 threshold)
{
	const u64 scaled = threshold >> (LSAIMD_SHIFT - 8);
	const u64 base = (u64)k1 << 8;

	return (u64)c * k0 * (fixed_log2(scaled + base) - fixed_log2(base)) / LSAIMD_C_ONE;
}

/**
 * lsaimd_avoid() - grow in congestion avoidance
 * @window:	W_B, in 1/2^24 byte, from the floor to the ceiling
 * @increase:	add_B, in 1/2^24 byte
 * @mss:	SMSS in bytes
 * @delta:	from lsaimd_delta()
 * @acked:	segments that were acknowledged
 *
 * add_B/W_s for each segment, or add_B SMSS/W_B while segments wait; but never
 * more than slow start, which k0 and k1 of the user's own could ask for.
 *
 * Return: the window in 1/2^24 byte.
 */
static inline u64 lsaimd_avoid(u64 window, u64 increase, u32 mss, u32 delta, u32 acked)
{
	const u64 segment = (u64)mss << LSAIMD_SHIFT;
	u64 each;

	if (lsaimd_waits(window, mss, delta))
		each = mul_u64_u64_div_u64(increase, segment, window);
	else
		each = div_u64(increase, lsaimd_segments(window, mss));
	return min_t(u64, window + min_t(u64, each, segment) * min_t(u32, acked, 1 << 20),
		     LSAIMD_CEILING);
}

/**
 * lsaimd_reduced() - S_B after a signal of congestion
 * @flight:	inflight_B, in 1/2^24 byte, up to the ceiling
 * @alpha:	share that is marked, in 1/2^20; LSAIMD_ALPHA_ONE halves
 *
 * max(inflight_B (1 - alpha/2), 2 bytes).
 *
 * Return: bytes, in 1/2^24.
 */
static inline u64 lsaimd_reduced(u64 flight, u32 alpha)
{
	return max_t(u64, flight - mul_u64_u32_shr(flight, alpha, LSAIMD_ALPHA_SHIFT + 1),
		     LSAIMD_FLOOR);
}

/**
 * lsaimd_alpha() - DCTCP's share of marks, after a round trip
 * @alpha:	the share before, in 1/2^20
 * @delivered:	segments that arrived in the round trip
 * @marked:	those of them that were marked
 *
 * Return: (1 - g) alpha + g F.
 */
static inline u32 lsaimd_alpha(u32 alpha, u32 delivered, u32 marked)
{
	u32 share = 0;

	if (delivered)
		share = div_u64((u64)min_t(u32, marked, delivered) << LSAIMD_ALPHA_SHIFT,
				delivered);
	return alpha - (alpha >> LSAIMD_G_SHIFT) + (share >> LSAIMD_G_SHIFT);
}

/**
 * lsaimd_idle() - the window after a time with nothing to send
 * @window:	before, in 1/2^24 byte
 * @restart:	RFC 5681's restart window, in 1/2^24 byte
 * @timeouts:	RTOs that went by
 *
 * Halved for each, but not below the restart window (RFC 2861).
 *
 * Return: the window in 1/2^24 byte.
 */
static inline u64 lsaimd_idle(u64 window, u64 restart, u32 timeouts)
{
	const u64 halved = timeouts < 64 ? window >> timeouts : 0;

	return min_t(u64, window, max_t(u64, halved, restart));
}

/**
 * lsaimd_rate() - a window in each round trip
 * @window:	in 1/2^24 byte, up to the ceiling
 * @srtt:	in 1/8 us, at least 1
 * @percent:	how much faster, up to 1000
 * @mss:	SMSS in bytes
 *
 * Return: byte/s; at least a segment in each LSAIMD_LONGEST_WAIT.
 */
static inline u64 lsaimd_rate(u64 window, u32 srtt, u32 percent, u32 mss)
{
	const u64 rate = div_u64((window >> (LSAIMD_SHIFT - 8)) * (8 * 1000000), srtt);

	return max_t(u64, div_u64((rate >> 8) * percent, 100), mss / LSAIMD_LONGEST_WAIT);
}

/**
 * lsaimd_longer() - how much longer a segment waits at a slower pace
 * @mss:	SMSS in bytes
 * @before:	pace in byte/s
 * @after:	slower pace in byte/s, at least a segment per LSAIMD_LONGEST_WAIT
 *
 * Return: ns.
 */
static inline u64 lsaimd_longer(u32 mss, u64 before, u64 after)
{
	const u64 segment = mss * 1000000000ULL;

	return div64_u64(segment, after) - div64_u64(segment, before);
}

/**
 * lsaimd_wait() - d, what is left of a wait after a round trip
 * @size:	of what leaves then, s_B in bytes
 * @pace:	the window in each SRTT, in byte/s, at least a segment per LSAIMD_LONGEST_WAIT
 * @rtt:	of the round trip, in 1/8 us
 *
 * s_B/W SRTT - RTT, where that is not negative; of an RTT of SRTT, (s_B/W - 1) SRTT.
 *
 * Return: ns.
 */
static inline u64 lsaimd_wait(u32 size, u64 pace, u32 rtt)
{
	const u64 period = div64_u64(size * 1000000000ULL, pace);

	return period - min_t(u64, period, rtt * 125ULL);
}

/**
 * lsaimd_rtt() - what of an RTT belongs to the path
 * @rtt:	measured, in us
 * @least:	least RTT of the connection, in us
 * @alone:	whether fewer than delta segments were on the way
 *
 * A receiver that delays ACKs waits for the next of so few segments, and
 * gives up after LSAIMD_DELAYED_ACK.
 *
 * Return: the RTT in us.
 */
static inline u32 lsaimd_rtt(u32 rtt, u32 least, bool alone)
{
	return alone && rtt > (u64)least + LSAIMD_DELAYED_ACK ? rtt - LSAIMD_DELAYED_ACK : rtt;
}

/**
 * lsaimd_srtt() - SRTT_pace, of the segment that an ACK acknowledges last
 * @srtt:	before, in 1/8 us; 0: none
 * @rtt:	measured, in us, below 2^28
 * @shift:	of the weight that it gets, 1/2^@shift
 *
 * Return: the mean, in 1/8 us, at least 1.
 */
static inline u32 lsaimd_srtt(u32 srtt, u32 rtt, u32 shift)
{
	const u32 scaled = rtt << 3;

	return max_t(u32, srtt ? srtt - (srtt >> shift) + (scaled >> shift) : scaled, 1);
}

/**
 * lsaimd_send() - what to send on an ACK while the window shrinks (PRR, RFC 6937)
 * @target:	segments that the window has
 * @prior:	segments that it had
 * @flight:	segments on the way
 * @delivered:	segments delivered since it began to shrink
 * @sent:	segments sent since then
 * @acked:	segments that this ACK delivered, at least 1
 * @losses:	whether it shows further losses
 *
 * Return: segments, so many that something is sent or on its way.
 */
static inline u32 lsaimd_send(u32 target, u32 prior, u32 flight, u32 delivered, u32 sent,
			      u32 acked, bool losses)
{
	u32 least = sent ? 0 : 1;
	s64 allowed;

	if (flight > target) {
		allowed = (s64)div_u64((u64)target * delivered + prior - 1, prior) - sent;
	} else {
		allowed = max_t(s64, (s64)delivered - sent, acked) + !losses;
		allowed = min_t(s64, allowed, target - flight);
	}
	if (!flight)
		least = 1;
	return max_t(s64, allowed, least);
}

#endif
