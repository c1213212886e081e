/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of ABE and CUBIC, free of sockets, so that it can be tested
 * in a program
 *
 * Factors are in units of 1/1024. CUBIC's time is in units of 1/1024 s; its
 * constant is C = 0.4 packets/s^3, written as 410/1024, and its results are
 * those of mainline's tcp_cubic to the last bit.
 */
#ifndef TCP_ABE_ARITHMETIC_H
#define TCP_ABE_ARITHMETIC_H

#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define ABE_ONE		1024U	/* a factor of 1 */
#define ABE_MIN_WINDOW	2U	/* packets, RFC 8511 and RFC 5681 */
#define CUBIC_C		410U	/* 0.4 */
#define CUBIC_SHIFT	40	/* from C and the cube of time to packets */

/**
 * abe_factor() - a percentage as a factor
 * @percent:	1 to 100
 *
 * Return: the factor in 1/1024, rounded to the nearest.
 */
static inline u32 abe_factor(u32 percent)
{
	return (percent * ABE_ONE + 50) / 100;
}

/**
 * abe_reduced() - the window after a reduction
 * @cwnd:	packets
 * @factor:	in 1/1024
 *
 * Return: packets, at least 2.
 */
static inline u32 abe_reduced(u32 cwnd, u32 factor)
{
	return max_t(u32, ((u64)cwnd * factor) / ABE_ONE, ABE_MIN_WINDOW);
}

/**
 * cubic_wmax() - CUBIC's memory of the window at which congestion set in
 * @cwnd:	packets, before the reduction
 * @wmax:	the same of the reduction before
 * @factor:	of this reduction, in 1/1024
 *
 * A window that did not get up to the one before gives way to a new flow: it
 * remembers the middle between its windows before and after the reduction
 * (fast convergence, RFC 9438, 4.7).
 *
 * Return: packets.
 */
static inline u32 cubic_wmax(u32 cwnd, u32 wmax, u32 factor)
{
	return cwnd < wmax ? ((u64)cwnd * (ABE_ONE + factor)) / (2 * ABE_ONE) : cwnd;
}

/**
 * cubic_root() - cube root by table and one step of Newton's method
 * @a:		the cube
 *
 * Numbers below 64 are rounded by the table. Above, it gives a first value
 * for the leading bits, which Newton's method improves. The table is that of
 * mainline's tcp_cubic: entry i is about 64 * cbrt(i) - 1, then adjusted by
 * hand for the least error, so it cannot be computed.
 *
 * Return: the root, wrong by at most 1 and 0.2 %.
 */
static inline u32 cubic_root(u64 a)
{
	static const u8 guess[64] = {
		0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
		157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
		200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
		231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	u32 thirds, x;

	if (a < 64)
		return (guess[a] + 35) >> 6;

	/* A third of the number of bits; 84/256 is just less than 1/3. */
	thirds = ((fls64(a) * 84) >> 8) - 1;
	x = ((u32)(guess[a >> (3 * thirds)] + 10) << thirds) >> 6;
	/* x * (x - 1) for x^2 makes up for what the division rounds off. */
	x = 2 * x + (u32)div64_u64(a, (u64)x * (x - 1));
	return (x * 341) >> 10;
}

/**
 * cubic_k() - time from a reduction until the window is back
 * @lacking:	packets between the window now and the one to get back to
 *
 * Return: in 1/1024 s.
 */
static inline u32 cubic_k(u32 lacking)
{
	return cubic_root((1ULL << CUBIC_SHIFT) / CUBIC_C * lacking);
}

/**
 * cubic_target() - the window that the cubic function asks for
 * @time:	since the reduction, in 1/1024 s
 * @k:		time at which the function is level
 * @origin:	packets at that time
 *
 * Return: packets; right up to 346 s on either side of @k, from where on the
 * cube exceeds 64 bits.
 */
static inline u32 cubic_target(u64 time, u32 k, u32 origin)
{
	u64 offset = time < k ? k - time : time - k;
	u32 change = (CUBIC_C * offset * offset * offset) >> CUBIC_SHIFT;

	return time < k ? origin - change : origin + change;
}

/**
 * cubic_interval() - how slowly the window grows towards a target
 * @cwnd:	packets
 * @target:	what it should be one round trip from now
 *
 * Return: packets to be acknowledged for each that the window grows.
 */
static inline u32 cubic_interval(u32 cwnd, u32 target)
{
	return target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
}

/**
 * cubic_reno_interval() - how slowly a window grows that shares like Reno's
 * @cwnd:	packets
 * @factor:	of the reduction, in 1/1024
 *
 * With a gentler reduction than Reno's the window must grow by
 * 3 (1 - beta) / (1 + beta) packets in a round trip (RFC 9438, 4.3). The
 * inverse of this is counted in eighths.
 *
 * Return: packets to be acknowledged for each that the window grows.
 */
static inline u32 cubic_reno_interval(u32 cwnd, u32 factor)
{
	u32 eighths;

	if (factor >= ABE_ONE)
		return U32_MAX;
	eighths = 8 * (ABE_ONE + factor) / 3 / (ABE_ONE - factor);
	return max_t(u32, (cwnd * eighths) >> 3, 1);
}

#endif
