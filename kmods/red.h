/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED's arithmetic, without a queue
 *
 * Equations are those of I. Järvinen's thesis "Congestion Control and Active
 * Queue Management During Flow Startup" (2019), section 3.1:
 *
 *   (1) avg = (1 - w) avg + w q                   at each arrival
 *   (2) p = max_p (avg - th_min) / (th_max - th_min)
 *   (3) p_final = p / (1 - count p)
 *   (4) avg = (1 - w)^m avg                       after the link was idle
 *
 * Lengths q, th_min and th_max are in packets or in bytes, as the user of this
 * header likes; up to 2^32 - 1. Weight and probabilities are in 1/RED_ONE, and
 * the average in 1/2^32 of the queue's unit. So
 *
 *   - a weight may be anything from 1/RED_ONE to 1, and is within 2^-32 of the
 *     one that was asked for;
 *   - the average lags behind the exact one by less than 2^-32 / w, which at
 *     w = 2^-20 is 1/4096 packet or byte;
 *   - a probability is at most 2^-30 below the exact one.
 *
 * What needs a division is done when the parameters are set.
 */
#ifndef SANDGLASS_RED_H
#define SANDGLASS_RED_H

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/types.h>

#define RED_ONE		BIT(31)
#define RED_AVG_SHIFT	32
#define RED_PHANTOM_SHIFT 60
#define RED_NS_PER_SEC	1000000000ULL

/**
 * struct red_params - what the user chooses, and what follows from it
 * @th_min:	average queue below which nothing is signalled
 * @th_max:	average queue at which the probability is @max_p; at least @th_min and 1.
 *		Equal to @th_min it makes a step
 * @weight:	of a new queue length in the average, in 1/RED_ONE; at least 1
 * @max_p:	probability at @th_max, in 1/RED_ONE
 * @gentle:	whether a second slope leads from @max_p to 1 at twice @th_max (GRED);
 *		else the probability is 1 from @th_max on
 * @slope:	of the probability below @th_max, in 1/2^32 per unit of the queue;
 *		set by red_prepare(), as the others below
 * @gentle_slope: the same above @th_max
 */
struct red_params {
	u32	th_min;
	u32	th_max;
	u32	weight;
	u32	max_p;
	bool	gentle;
	u64	slope;
	u64	gentle_slope;
};

/**
 * struct red_vars - what RED knows of its queue
 * @avg:	average queue, in 1/2^RED_AVG_SHIFT
 * @count:	packets that arrived and were not signalled since the average entered the
 *		region of signals, or since the last signal
 */
struct red_vars {
	u64	avg;
	u32	count;
};

/**
 * enum red_verdict - what is to happen to an arriving packet
 * @RED_PASS:	nothing
 * @RED_SIGNAL:	a signal, by chance
 * @RED_CUT:	a signal as all others get: the average is where the probability is 1
 */
enum red_verdict {
	RED_PASS,
	RED_SIGNAL,
	RED_CUT,
};

/**
 * red_prepare() - divide once for all packets
 * @params:	settings
 */
static inline void red_prepare(struct red_params *params)
{
	const u32 range = params->th_max - params->th_min;

	params->slope = range ? div_u64((u64)params->max_p << 32, range) : 0;
	params->gentle_slope = div_u64((u64)(RED_ONE - params->max_p) << 32, params->th_max);
}

/**
 * red_average() - equation (1): take a queue length into the average
 * @avg:	the average before
 * @weight:	in 1/RED_ONE
 * @length:	of the queue
 *
 * Return: the average after.
 */
static inline u64 red_average(u64 avg, u32 weight, u32 length)
{
	const u64 queue = (u64)length << RED_AVG_SHIFT;

	if (queue >= avg)
		return avg + mul_u64_u32_shr(queue - avg, weight, 31);
	return avg - mul_u64_u32_shr(avg - queue, weight, 31);
}

/**
 * red_phantom_rate() - phantom packets that a link could send
 * @rate:	of the link, in byte/s; below 16 * 10^9 * @size
 * @size:	of a phantom packet, in bytes; at least 1
 *
 * Return: their rate, in 1/2^RED_PHANTOM_SHIFT per ns; rounded up, so that a whole number of
 * transmission times is that number of packets.
 */
static inline u64 red_phantom_rate(u64 rate, u32 size)
{
	return mul_u64_u64_div_u64(rate, BIT_ULL(RED_PHANTOM_SHIFT), size * RED_NS_PER_SEC) + 1;
}

/**
 * red_phantoms() - whole phantom packets that a link could have sent
 * @phantom_rate: from red_phantom_rate()
 * @ns:		how long
 *
 * Return: their number.
 */
static inline u64 red_phantoms(u64 phantom_rate, u64 ns)
{
	const u64 most = U64_MAX >> 4;	/* 36 years; the product fits */

	return mul_u64_u64_shr(phantom_rate, ns < most ? ns : most, RED_PHANTOM_SHIFT);
}

/**
 * red_idle() - equation (4): let phantom packets meet an empty queue
 * @avg:	the average before
 * @weight:	in 1/RED_ONE
 * @phantoms:	their number
 *
 * By squaring, in at most 64 steps. The result is too low by less than
 * 2^-62 / w of the average, and 2^-26 of the queue's unit.
 *
 * Return: the average after.
 */
static inline u64 red_idle(u64 avg, u32 weight, u64 phantoms)
{
	u64 power = (u64)(RED_ONE - weight) << 33;	/* 1 - w, in 1/2^64 */

	for (; phantoms && avg; phantoms >>= 1) {
		if (phantoms & 1)
			avg = mul_u64_u64_shr(avg, power, 64);
		power = mul_u64_u64_shr(power, power, 64);
	}
	return avg;
}

/* Whether the average is where each packet is signalled. */
static inline bool red_cuts(const struct red_params *params, u64 avg)
{
	return avg >> (RED_AVG_SHIFT + params->gentle) >= params->th_max;
}

/**
 * red_probability() - equation (2), with the second slope of GRED
 * @params:	settings
 * @avg:	the average
 *
 * Return: the initial probability of a signal, in 1/RED_ONE.
 */
static inline u32 red_probability(const struct red_params *params, u64 avg)
{
	const u64 th_min = (u64)params->th_min << RED_AVG_SHIFT;
	const u64 th_max = (u64)params->th_max << RED_AVG_SHIFT;

	if (red_cuts(params, avg))
		return RED_ONE;
	if (avg >= th_max)
		return params->max_p + mul_u64_u64_shr(avg - th_max, params->gentle_slope, 64);
	if (avg > th_min)
		return mul_u64_u64_shr(avg - th_min, params->slope, 64);
	return 0;
}

/**
 * red_share() - a probability as the recorder and tc's plugins take it
 * @prob:	in 1/RED_ONE
 *
 * Return: in 1/2^64, of which there is no whole.
 */
static inline u64 red_share(u32 prob)
{
	return prob < RED_ONE ? (u64)prob << 33 : U64_MAX;
}

/**
 * red_signals() - equation (3): draw a packet's fate
 * @prob:	initial probability, in 1/RED_ONE
 * @count:	packets that passed since the last signal
 * @random:	a number between 0 and 2^32 - 1, each as likely
 *
 * random / 2^32 < p / (1 - count p), without the division. At a constant
 * probability the distance between signals is uniform from 1 to 1/p packets.
 *
 * Return: true for a signal.
 */
static inline bool red_signals(u32 prob, u32 count, u32 random)
{
	const u64 passed = (u64)count * prob;

	if (passed >= RED_ONE)
		return true;
	return random * (RED_ONE - passed) < (u64)prob << 32;
}

/**
 * red_arrival() - decide on an arriving packet
 * @params:	settings
 * @vars:	state, with the average that this packet brought about
 * @random:	a number between 0 and 2^32 - 1, each as likely
 *
 * Return: what is to happen to it.
 */
static inline enum red_verdict red_arrival(const struct red_params *params,
					   struct red_vars *vars, u32 random)
{
	enum red_verdict verdict = RED_SIGNAL;

	if (red_cuts(params, vars->avg)) {
		verdict = RED_CUT;
	} else if (vars->avg >> RED_AVG_SHIFT < params->th_min) {
		verdict = RED_PASS;
	} else if (!red_signals(red_probability(params, vars->avg), vars->count, random)) {
		vars->count += vars->count < U32_MAX;
		return RED_PASS;
	}
	vars->count = 0;
	return verdict;
}

#endif
