/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Noise: what a testbed adds to the times of packets, without a queue
 *
 * Four kinds, each off at 0. None ever changes the order of packets.
 *
 * phase: before each packet the sender waits a random time, uniform up to a
 *	bound, against phase effects (Floyd, Jacobson: "On Traffic Phase Effects
 *	in Packet-Switched Gateways", 1992; overhead_ of ns-2's TCP).
 * host: the time that a host takes to wake up and send. Packets of one instant
 *	belong to one wake-up and share it.
 * wan:	the delay of a long path, X(t): exponential at times 0, T, 2T, ..., linear
 *	between. As a function of time it needs no clamp to keep the order: it is
 *	cut at 20 times its mean, which is T at the most, so that it never falls
 *	faster than time goes.
 * nic:	interrupts of a network card, no sooner than a time after the one before.
 *	What comes in between is handed up together. NAPI's weight of 64 packets
 *	is none of it: the kernel polls again at once.
 *
 * All draws are functions of seed, kind and number of the packet, wake-up or
 * step, so that no kind takes numbers from another.
 */
#ifndef NOISE_NOISE_H
#define NOISE_NOISE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "../log2.h"
#include "uapi.h"

/* The natural logarithm of 2, in 1/2^32. */
#define NOISE_LN2	2977044472ULL

enum noise_kind {
	NOISE_PHASE = 1,
	NOISE_HOST,
	NOISE_WAN,
	NOISE_NIC,
};

/**
 * struct noise_params - what the user chooses; times in ns
 * @phase:	the most that a packet waits before it is sent
 * @host:	quantiles of the wake-up times, at equal distances from 0 to 1
 * @quantiles:	how many these are; 0 or at least 2
 * @wan:	mean delay of the long path
 * @wan_step:	from one draw of it to the next
 * @nic:	from one interrupt to the next, at least
 * @rate:	of the link, in byte/s, or 0
 */
struct noise_params {
	u32		phase;
	const u32	*host;
	u32		quantiles;
	u32		wan;
	u32		wan_step;
	u32		nic;
	u64		rate;
};

/**
 * struct noise_vars - what is known of the packets before; times in ns
 * @packets:	so far
 * @wakeups:	so far
 * @instant:	of the last wake-up
 * @wakeup:	what that one took
 * @sent:	when the last packet was sent
 * @interrupt:	the last one, or the one to come
 * @interrupts:	so far
 */
struct noise_vars {
	u64	packets;
	u64	wakeups;
	s64	instant;
	u32	wakeup;
	s64	sent;
	s64	interrupt;
	u64	interrupts;
};

/**
 * noise_uniform() - a time from 0 to a bound
 * @random:	a number between 0 and 2^32 - 1, each as likely
 * @most:	bound
 */
static inline u32 noise_uniform(u32 random, u32 most)
{
	return (u64)random * ((u64)most + 1) >> 32;
}

/**
 * noise_quantile() - a time of a distribution that is given by its quantiles
 * @random:	a number between 0 and 2^32 - 1, each as likely
 * @quantiles:	at equal distances from 0 to 1; between them it is uniform
 * @count:	how many, at least 2
 */
static inline u32 noise_quantile(u32 random, const u32 *quantiles, u32 count)
{
	const u64 place = (u64)random * (count - 1);
	const u32 *low = quantiles + (place >> 32);

	return low[0] + ((u64)(low[1] - low[0]) * (u32)place >> 32);
}

/**
 * noise_exponential() - an exponential time, cut at NOISE_WAN_CUT times its mean
 * @random:	a number between 0 and 2^32 - 1, each as likely
 * @mean:	of the times before they are cut, at most NOISE_MOST_WAN
 *
 * The inverse of the distribution: -mean * ln(u).
 */
static inline u32 noise_exponential(u32 random, u32 mean)
{
	/* -log2(u) in 1/2^24, from 0 to 32 */
	const u32 doublings = (32U << FIXED_LOG2_SHIFT) - fixed_log2((u64)random + 1);
	const u64 longest = (u64)mean * NOISE_WAN_CUT;

	return min_t(u64, ((u64)mean * doublings >> FIXED_LOG2_SHIFT) * NOISE_LN2 >> 32,
		     longest);
}

/**
 * noise_sent() - when a packet leaves its host
 * @params:	settings
 * @vars:	state
 * @now:	when the host was to send it
 * @size:	in bytes
 * @first:	a random number for this packet
 * @second:	a random number for the wake-up, if it is a new one
 *
 * Neither overtakes the packet before, nor leaves while that is transmitted.
 *
 * Return: time in ns.
 */
static inline s64 noise_sent(const struct noise_params *params, struct noise_vars *vars,
			     s64 now, u32 size, u32 first, u32 second)
{
	s64 sent = now;

	if (!params->phase && !params->quantiles)
		return now;
	if (params->quantiles && (now != vars->instant || !vars->wakeups)) {
		vars->wakeup = noise_quantile(second, params->host, params->quantiles);
		vars->instant = now;
		vars->wakeups++;
	}
	sent += noise_uniform(first, params->phase) + vars->wakeup;
	if (vars->packets)
		sent = max_t(s64, sent, vars->sent);
	vars->packets++;
	vars->sent = sent;
	if (params->rate)
		vars->sent += div64_u64((u64)size * 1000000000, params->rate);
	return sent;
}

/**
 * noise_path() - the delay of the long path
 * @params:	settings, with a wan_step
 * @from:	the step's first draw, a random number
 * @to:		the step's last draw, which is the first of the next
 * @into:	how far the step has gone, in ns
 *
 * Return: time in ns.
 */
static inline u32 noise_path(const struct noise_params *params, u32 from, u32 to, u32 into)
{
	const s64 low = noise_exponential(from, params->wan);
	const s64 high = noise_exponential(to, params->wan);

	return low + div_s64((high - low) * into, params->wan_step);
}

/**
 * noise_handed_up() - when a packet that reaches a network card is handed up
 * @params:	settings
 * @vars:	state; @interrupt is that of one before the first packet
 * @arrival:	when it reaches it, never before the packet before it
 *
 * After a pause the interrupt comes at once.
 *
 * Return: time in ns.
 */
static inline s64 noise_handed_up(const struct noise_params *params, struct noise_vars *vars,
				  s64 arrival)
{
	if (!params->nic)
		return arrival;
	if (vars->interrupts && arrival <= vars->interrupt)
		return vars->interrupt;
	vars->interrupt = max_t(s64, arrival, vars->interrupt + params->nic);
	vars->interrupts++;
	return vars->interrupt;
}

#endif
