/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of TCP Prague, free of sockets, so that it can be tested in a
 * program
 *
 * Sections are those of draft-briscoe-iccrg-prague-congestion-control-01; units
 * and roundings those of the Linux module of L4STeam, version 0.6.
 */
#ifndef TCP_PRAGUE_ARITHMETIC_H
#define TCP_PRAGUE_ARITHMETIC_H

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define PRAGUE_WINDOW_BITS	20	/* of a packet */
#define PRAGUE_PACKET		BIT_ULL(PRAGUE_WINDOW_BITS)
#define PRAGUE_MIN_WINDOW	(2 * PRAGUE_PACKET)
#define PRAGUE_MAX_WINDOW	(BIT_ULL(23) * PRAGUE_PACKET)	/* for 64 bits' sake */

#define PRAGUE_SHARE_BITS	20	/* of a share of marked packets */
#define PRAGUE_SHIFT_G		4	/* g = 1/16 */
#define PRAGUE_ALPHA_BITS	(PRAGUE_SHARE_BITS + PRAGUE_SHIFT_G)
#define PRAGUE_ALPHA_ONE	((u32)BIT(PRAGUE_ALPHA_BITS))

#define PRAGUE_MAX_SRTT_US	BIT(21)	/* for 64 bits' sake */

/* What net.ipv4.tcp_prague.rtt_mode takes: how the virtual round-trip time is made. */
enum {
	PRAGUE_RTT_REAL	= 0,
	PRAGUE_RTT_MAX	= 1,
	PRAGUE_RTT_SUM	= 2,
};

/* What net.ipv4.tcp_prague.loss_credit takes: how a reduction by marks counts for a loss. */
enum {
	PRAGUE_CREDIT_NONE	= 0,
	PRAGUE_CREDIT_WHOLE	= 1,
	PRAGUE_CREDIT_LINEAR	= 2,
};

/**
 * prague_alpha() - the moving average of the share of marked packets
 * @alpha:	before, in 2^-24
 * @delivered:	packets delivered in the round, at least 1
 * @marked:	how many of them were marked; more count as all
 *
 * alpha += (share - alpha) / 16, section 2.3.2. The average is kept sixteen times
 * as fine as a share, so that it neither stays at a small value nor flips.
 *
 * Return: alpha in 2^-24, up to 1.
 */
static inline u32 prague_alpha(u32 alpha, u32 delivered, u32 marked)
{
	u64 share = (u64)min_t(u32, marked, delivered) << PRAGUE_SHARE_BITS;

	alpha -= alpha >> PRAGUE_SHIFT_G;
	return min_t(u32, alpha + (u32)div_u64(share, delivered), PRAGUE_ALPHA_ONE);
}

/**
 * prague_bounded() - a window within its limits
 * @window:	in 2^-20 packets
 *
 * Return: the same, at least 2 packets.
 */
static inline u64 prague_bounded(u64 window)
{
	return clamp_t(u64, window, PRAGUE_MIN_WINDOW, PRAGUE_MAX_WINDOW);
}

/**
 * prague_reduced() - the window that a mark leaves
 * @window:	in 2^-20 packets, up to PRAGUE_MAX_WINDOW
 * @alpha:	in 2^-24
 *
 * (1 - alpha / 2) @window, section 2.4.2, rounded to the nearest.
 *
 * Return: 2^-20 packets, at least 2 packets.
 */
static inline u64 prague_reduced(u64 window, u32 alpha)
{
	u64 share = alpha >> PRAGUE_SHIFT_G;

	window -= (share * window + BIT_ULL(PRAGUE_SHARE_BITS)) >> (PRAGUE_SHARE_BITS + 1);
	return prague_bounded(window);
}

/**
 * prague_after_loss() - the window that a loss leaves
 * @window:	in 2^-20 packets, up to PRAGUE_MAX_WINDOW
 * @percent:	what a loss leaves, 1 to 100
 * @alpha:	that of a reduction by a mark in this round, in 2^-24; 0 without one
 * @credit:	how that counts
 *
 * Section 2.4.1, and 3.2.1 for the credit: as a whole, both reductions together
 * leave @percent, for Reno's 50 % a factor of 1 / (2 - alpha). The linear one,
 * (2 + alpha) / 4 for Reno, does without a division. Neither raises the window.
 *
 * Return: 2^-20 packets, at least 2 packets.
 */
static inline u64 prague_after_loss(u64 window, u32 percent, u32 alpha, u32 credit)
{
	u64 left = div_u64(window * percent + 99, 100);
	u64 given = left;

	if (credit == PRAGUE_CREDIT_WHOLE)
		given = mul_u64_u64_div_u64(left, 2 * PRAGUE_ALPHA_ONE,
					    2 * PRAGUE_ALPHA_ONE - alpha);
	else if (credit == PRAGUE_CREDIT_LINEAR)
		given += mul_u64_u64_shr(left, alpha, PRAGUE_ALPHA_BITS + 1);
	return prague_bounded(min_t(u64, given, window));
}

/**
 * prague_rtt() - the virtual round-trip time
 * @srtt_us:	the smoothed one
 * @mode:	how it is made
 * @target_us:	what for
 *
 * Section 2.4.4.
 *
 * Return: us, at least @srtt_us.
 */
static inline u32 prague_rtt(u32 srtt_us, u32 mode, u32 target_us)
{
	if (mode == PRAGUE_RTT_MAX)
		return max_t(u32, srtt_us, target_us);
	return mode == PRAGUE_RTT_SUM ? srtt_us + target_us : srtt_us;
}

/**
 * prague_increase_per_rtt() - what the window grows by in a round trip
 * @srtt_us:	the smoothed round-trip time
 * @rtt_us:	the virtual one, at least as long
 *
 * 1 / M^2 packets, M being @rtt_us / @srtt_us, section 2.4.4: so the rate grows by
 * a packet per @rtt_us in each @rtt_us.
 *
 * Return: 2^-20 packets, up to a packet.
 */
static inline u32 prague_increase_per_rtt(u32 srtt_us, u32 rtt_us)
{
	u64 square = (u64)rtt_us * rtt_us;

	if (srtt_us >= rtt_us)
		return PRAGUE_PACKET;
	/* Only of a sum; it is all but a packet there. */
	if (srtt_us > PRAGUE_MAX_SRTT_US)
		return PRAGUE_PACKET;
	return div64_u64(((u64)srtt_us * srtt_us << PRAGUE_WINDOW_BITS) + square / 2, square);
}

/**
 * prague_increase() - what packets that were delivered without a mark add
 * @window:	in 2^-20 packets, at least 2 packets
 * @packets:	how many
 * @per_rtt:	what a window of them adds, in 2^-20 packets, up to a packet
 *
 * Section 2.4.3, rounded to the nearest; each packet adds at least the least
 * that a window can grow by.
 *
 * Return: 2^-20 packets.
 */
static inline u64 prague_increase(u64 window, u32 packets, u32 per_rtt)
{
	u64 n = min_t(u32, packets, BIT(23));
	u64 increase = div64_u64((n * per_rtt << PRAGUE_WINDOW_BITS) + window / 2, window);

	return max_t(u64, increase, n);
}

/**
 * prague_packets() - a window in whole packets
 * @window:	in 2^-20 packets
 *
 * Return: packets, rounded up.
 */
static inline u32 prague_packets(u64 window)
{
	return (window + PRAGUE_PACKET - 1) >> PRAGUE_WINDOW_BITS;
}

/**
 * prague_pacing_rate() - a window in a round-trip time
 * @packets:	the window
 * @size:	of a packet, in bytes, with its headers
 * @srtt_us:	the smoothed round-trip time, at least 1
 * @doubled:	whether the window may double in a round trip
 *
 * Section 2.5.1.
 *
 * Return: bytes per second.
 */
static inline u64 prague_pacing_rate(u32 packets, u32 size, u32 srtt_us, bool doubled)
{
	return mul_u64_u64_div_u64((u64)packets * size, 1000000 << doubled, srtt_us);
}

#endif
