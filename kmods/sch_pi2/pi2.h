/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PI2, a PI controller whose output is squared: the algorithm, without a queue
 *
 * De Schepper, Bondarenko, Tsang, Briscoe: "PI2: A Linearized AQM for both
 * Classic and Scalable TCP", CoNEXT 2016. The load that Reno or CUBIC puts on a
 * link goes with the square root of the signals' probability. So a PI controller
 * is linear in a pseudo-probability p', of which the signals' probability is the
 * square; PIE's table of gains, burst allowance and other special cases go.
 *
 * All arithmetic is exact: p' is in 1/(16 * 10^9), of which alpha and beta, in
 * 1/16 per second, make whole numbers for each nanosecond of delay.
 */
#ifndef PI2_PI2_H
#define PI2_PI2_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define PI2_CERTAIN		16000000000LL
#define PI2_SECOND		1000000000LL
/* Longer delays count as this, so that no product overflows. */
#define PI2_LONGEST_DELAY	(60 * PI2_SECOND)

/**
 * struct pi2_params - what the user chooses
 * @target:	queueing delay to control to, in ns
 * @alpha:	weight of the distance to the target, in 1/16 per second
 * @beta:	weight of the change of delay, in 1/16 per second
 */
struct pi2_params {
	s64	target;
	u32	alpha;
	u32	beta;
};

/**
 * struct pi2_vars - what PI2 knows of its queue
 * @delay:	queueing delay at the last update, in ns
 * @pseudo_prob: p', in 1/PI2_CERTAIN
 */
struct pi2_vars {
	s64	delay;
	s64	pseudo_prob;
};

/**
 * pi2_update() - move the pseudo-probability, once every tupdate
 * @params:	settings
 * @vars:	state
 * @delay:	the queueing delay now, in ns
 *
 * p' += alpha * (delay - target) + beta * (delay - delay before); in RFC 9332,
 * appendix A.1, too.
 */
static inline void pi2_update(const struct pi2_params *params, struct pi2_vars *vars, u64 delay)
{
	const s64 before = vars->delay;
	s64 step;

	vars->delay = min_t(u64, delay, PI2_LONGEST_DELAY);
	step = params->alpha * (vars->delay - params->target) +
	       params->beta * (vars->delay - before);
	vars->pseudo_prob = clamp_t(s64, vars->pseudo_prob + step, 0, PI2_CERTAIN);
}

/**
 * pi2_share() - the pseudo-probability in another unit
 * @vars:	state
 *
 * Return: p' in 1/2^32, rounded down.
 */
static inline u64 pi2_share(const struct pi2_vars *vars)
{
	return div_u64((u64)vars->pseudo_prob << 29, PI2_CERTAIN >> 3);
}

/**
 * pi2_signals() - whether an arriving packet is to be marked or dropped
 * @vars:	state
 * @backlog:	the queue without it, in bytes
 * @mtu:	of the link, in bytes
 * @first:	a number between 0 and 2^32 - 1, each as likely
 * @second:	another, independent of it
 *
 * Two random numbers are both below p' with the probability p'^2. As with PIE,
 * a queue of less than two packets gets no signals.
 *
 * Return: true for a signal.
 */
static inline bool pi2_signals(const struct pi2_vars *vars, u32 backlog, u32 mtu,
			       u32 first, u32 second)
{
	if (backlog < 2 * mtu)
		return false;
	return max_t(u32, first, second) < pi2_share(vars);
}

#endif
