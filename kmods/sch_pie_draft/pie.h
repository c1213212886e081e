/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PIE before it was a standard: the algorithm, without a queue
 *
 * The rules are those of draft-pan-aqm-pie-00 (2013), which Linux's sch_pie had
 * from 3.14 to 5.0 and papers of 2014 and 2015 measured. RFC 8033, and Linux
 * since 5.1, differ in how alpha and beta shrink at small probabilities, in the
 * burst allowance, and in making the distance between signals more even.
 *
 * All arithmetic is exact: probabilities are in 1/(128 * 10^9), of which alpha
 * and beta, in 1/16 per second, make whole numbers for each nanosecond of
 * delay. Linux of that time rounded, to the effect that it could take a 10 Mb/s
 * link for one of 11 Mb/s for ever; ns-2 did not round.
 */
#ifndef PIE_DRAFT_PIE_H
#define PIE_DRAFT_PIE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define PIE_CERTAIN		128000000000LL
#define PIE_SECOND		1000000000LL
/* Above this delay the probability grows by 2 % more each time. */
#define PIE_HIGH_DELAY		(PIE_SECOND / 4)
/* Longer delays count as this, so that no product overflows. */
#define PIE_LONGEST_DELAY	(60 * PIE_SECOND)

/**
 * struct pie_params - what the user chooses; times in ns
 * @target:	queueing delay to control to
 * @tupdate:	between two updates
 * @max_burst:	how long a queue may stand before signals begin
 * @alpha:	weight of the distance to the target, in 1/16 per second
 * @beta:	weight of the change of delay, in 1/16 per second
 * @rate_sample: the departure rate is measured over so many bytes, while more are queued
 * @bytemode:	whether small packets are signalled less often
 */
struct pie_params {
	s64	target;
	s64	tupdate;
	s64	max_burst;
	u32	alpha;
	u32	beta;
	u32	rate_sample;
	bool	bytemode;
};

/**
 * struct pie_vars - what PIE knows of its queue; times in ns
 * @burst:	what is left of the burst allowance
 * @delay:	queueing delay at the last update
 * @prob:	probability of a signal, in 1/PIE_CERTAIN
 * @rate:	mean departure rate, in byte/s; 0 is unknown
 * @sampling:	whether a measurement of the rate is under way
 * @sample_start: when it began
 * @sampled:	bytes that have departed since then
 */
struct pie_vars {
	s64	burst;
	s64	delay;
	s64	prob;
	u64	rate;
	bool	sampling;
	u64	sample_start;
	u64	sampled;
};

/**
 * pie_restart() - forget the queue's rate and allow a burst again
 * @params:	settings
 * @vars:	state
 */
static inline void pie_restart(const struct pie_params *params, struct pie_vars *vars)
{
	vars->burst = params->max_burst;
	vars->sampling = false;
	vars->rate = 0;
}

/**
 * pie_signals() - whether an arriving packet is to be marked or dropped
 * @params:	settings
 * @vars:	state
 * @backlog:	the queue without it, in bytes
 * @size:	of the packet, in bytes
 * @mtu:	of the link, in bytes
 * @random:	a number between 0 and 2^32 - 1, each as likely
 *
 * Return: true for a signal.
 */
static inline bool pie_signals(const struct pie_params *params, const struct pie_vars *vars,
			       u32 backlog, u32 size, u32 mtu, u32 random)
{
	u64 prob = vars->prob;

	if (vars->burst > 0)
		return false;
	if (vars->delay < params->target / 2 && vars->prob < PIE_CERTAIN / 5)
		return false;
	if (backlog < 2 * mtu)
		return false;
	if (params->bytemode && size < mtu)
		prob = div_u64(prob * size, mtu);
	/* prob / PIE_CERTAIN > random / 2^32; neither side exceeds 64 bits */
	return div_u64(prob << 27, PIE_CERTAIN >> 5) > random;
}

/**
 * pie_departed() - measure the departure rate when a packet leaves
 * @params:	settings
 * @vars:	state
 * @backlog:	what it leaves behind, in bytes
 * @size:	of the packet, in bytes
 * @now:	in ns
 */
static inline void pie_departed(const struct pie_params *params, struct pie_vars *vars,
				u32 backlog, u32 size, u64 now)
{
	u64 elapsed, rate;

	if (backlog >= params->rate_sample && !vars->sampling) {
		vars->sampling = true;
		vars->sample_start = now;
		vars->sampled = 0;
	}
	if (!vars->sampling)
		return;
	vars->sampled += size;
	elapsed = now - vars->sample_start;
	if (vars->sampled < params->rate_sample || !elapsed)
		return;

	rate = div64_u64(vars->sampled * PIE_SECOND, elapsed);
	vars->rate = vars->rate ? (7 * vars->rate + rate) / 8 : rate;
	vars->sampling = backlog >= params->rate_sample;
	vars->sample_start = now;
	vars->sampled = 0;
}

/**
 * pie_gain() - how much of alpha and beta acts at a probability
 * @prob:	in 1/PIE_CERTAIN
 *
 * Gentle steps where signals are rare: an eighth below 1 %, half below 10 %.
 *
 * Return: the gain, in eighths.
 */
static inline s64 pie_gain(s64 prob)
{
	if (prob < PIE_CERTAIN / 100)
		return 1;
	if (prob < PIE_CERTAIN / 10)
		return 4;
	return 8;
}

/**
 * pie_update() - calculate delay and probability, once every tupdate
 * @params:	settings
 * @vars:	state
 * @backlog:	the queue, in bytes
 */
static inline void pie_update(const struct pie_params *params, struct pie_vars *vars, u32 backlog)
{
	const s64 two_percent = PIE_CERTAIN / 50;
	const s64 before = vars->delay;
	s64 delta;

	vars->delay = 0;
	if (vars->rate)
		vars->delay = min_t(u64, div64_u64(backlog * PIE_SECOND, vars->rate),
				    PIE_LONGEST_DELAY);
	delta = pie_gain(vars->prob) * (params->alpha * (vars->delay - params->target) +
					params->beta * (vars->delay - before));
	if (vars->prob >= PIE_CERTAIN / 10 && delta > two_percent)
		delta = two_percent;
	if (vars->delay > PIE_HIGH_DELAY)
		delta += two_percent;
	vars->prob = clamp_t(s64, vars->prob + delta, 0, PIE_CERTAIN);

	/* An empty queue lets the probability decay. */
	if (!vars->delay && !before && !backlog)
		vars->prob -= vars->prob / 50;

	vars->burst = max_t(s64, 0, vars->burst - params->tupdate);
	if (vars->delay < params->target / 2 && before < params->target / 2 && !vars->prob &&
	    vars->rate)
		pie_restart(params, vars);
}

#endif
