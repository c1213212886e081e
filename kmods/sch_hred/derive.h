/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HRED's parameters from rate, RTT and buffer: a re-design
 *
 * The thesis says what HRED is for and publishes no numbers. The reasons for
 * those here, and the numbers that come out, are in README.md. In short, with
 * the BDP and the buffer B in packets:
 *
 *   weight = 2 / BDP
 *   grown(k) = k / 2 - (1 - (1 - weight)^k) / (2 weight)
 *              average after k arrivals at twice the link's rate
 *   late   = grown(B - BDP), the average when all must have been signalled
 *   th_max = B
 *   th_min = 0.3 BDP, if max_p allows
 *   max_p  = c BDP (B - th_min) / (late - th_min)^2,  c = ln 3 / (2 * 10)
 *
 * Where max_p would be above 1 it is 1, and th_min is the one that this asks
 * for; but at least BDP / 32. Lengths below are in 1/16 packet.
 */
#ifndef HRED_DERIVE_H
#define HRED_DERIVE_H

#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "../red.h"
#include "uapi.h"

#define HRED_PACKET	16		/* the unit of lengths below */
#define HRED_C_MUL	225		/* c = 225 / 4096, to 2 parts in 100 000 */
#define HRED_C_SHIFT	12

/**
 * enum hred_room - what the buffer has room for
 * @HRED_ENOUGH: a load that doubles, after saturation
 * @HRED_EARLY:	only if signals begin before the link is saturated
 * @HRED_SHORT:	not even then
 */
enum hred_room {
	HRED_ENOUGH,
	HRED_EARLY,
	HRED_SHORT,
};

/**
 * hred_bdp() - rate times RTT
 * @rate:	in byte/s; at most 10^11
 * @rtt:	in us; at most 6 * 10^7
 * @size:	of a packet, in bytes
 *
 * Return: the BDP in packets, to the nearest, from 1 to HRED_MOST_LIMIT.
 */
static inline u32 hred_bdp(u64 rate, u32 rtt, u32 size)
{
	const u64 unit = size * 1000000ULL;

	return clamp_t(u64, div64_u64(rate * rtt + unit / 2, unit), 1, HRED_MOST_LIMIT);
}

/**
 * hred_weight() - of a new queue length in the average
 * @bdp:	in packets
 *
 * Return: the weight, in 1/RED_ONE.
 */
static inline u32 hred_weight(u32 bdp)
{
	return bdp > 2 ? div_u64(2ULL * RED_ONE, bdp) : RED_ONE;
}

/**
 * hred_grown() - the average of a queue that grows by half a packet per arrival
 * @weight:	in 1/RED_ONE
 * @arrivals:	how many, the queue and its average having been 0
 *
 * Return: the average, in 1/16 packet.
 */
static inline u64 hred_grown(u32 weight, u32 arrivals)
{
	const u64 one = 1ULL << 32;
	const u64 forgotten = one - red_idle(one, weight, arrivals);
	const u64 lag = mul_u64_u64_shr(forgotten, div_u64((u64)RED_ONE << 19, weight), 48);

	return (u64)arrivals * HRED_PACKET / 2 - lag;
}

/**
 * hred_certain() - how far before the deadline signals must begin, if max_p is 1
 * @bdp:	in packets
 * @left:	of the buffer above the average at the deadline, in 1/16 packet
 *
 * Return: x > 0 with x^2 = c BDP (left + x), in 1/16 packet.
 */
static inline u64 hred_certain(u32 bdp, u64 left)
{
	/* in 1/64 of the unit, so that small links are not rounded away */
	const u64 c_bdp = (u64)bdp * HRED_PACKET * HRED_C_MUL >> (HRED_C_SHIFT - 6);

	return (c_bdp + int_sqrt64(c_bdp * (c_bdp + (4 * left << 6)))) >> 7;
}

/**
 * hred_derive() - thresholds, probability and weight
 * @bdp:	in packets, from 1 to HRED_MOST_LIMIT
 * @limit:	the buffer, in packets, from 1 to HRED_MOST_LIMIT
 * @params:	these are set
 *
 * Return: what the buffer has room for.
 */
static inline enum hred_room hred_derive(u32 bdp, u32 limit, struct red_params *params)
{
	const u32 spike = (3 * bdp + 5) / 10;	/* what the average may be below saturation */
	const u32 least = (bdp + 16) / 32;	/* the same at a quarter of the link's rate */
	const u64 buffer = (u64)limit * HRED_PACKET;
	u64 late, x;

	params->weight = hred_weight(bdp);
	params->th_max = limit;
	late = hred_grown(params->weight, limit > bdp ? limit - bdp : 0);

	if (late > spike * HRED_PACKET) {
		const u64 part = (u64)bdp * HRED_PACKET * HRED_C_MUL *
				 (buffer - spike * HRED_PACKET);
		u64 whole;

		x = late - spike * HRED_PACKET;
		whole = x * x << HRED_C_SHIFT;
		if (part < whole) {
			params->th_min = spike;
			params->max_p = max_t(u64, 1, mul_u64_u64_div_u64(part, RED_ONE, whole));
			return HRED_ENOUGH;
		}
	}

	params->max_p = RED_ONE;
	x = hred_certain(bdp, buffer - late);
	if (late >= x + least * HRED_PACKET) {
		params->th_min = (late - x) / HRED_PACKET;
		return HRED_EARLY;
	}
	params->th_min = min_t(u32, least, limit);
	return HRED_SHORT;
}

#endif
