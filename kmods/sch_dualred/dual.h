/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The dual AQM's arithmetic: two REDs over one queue
 *
 * M. Kuehlewind, D. Wagner, J. Reyes Espinosa, B. Briscoe: "Using Data Center
 * TCP (DCTCP) in the Internet" (2014), section III-C: one shared FIFO, and two
 * instances of RED with parameters of their own. One drops packets without ECN,
 * the other marks those that are ECN-capable.
 *
 * Derived: each arrival counts in both averages, with the length of the whole
 * queue, since there is one queue and the paper's thresholds are of that one.
 * Each spaces signals among its own packets, as the RED that the paper cites
 * does (Floyd and Jacobson 1993).
 */
#ifndef DUALRED_DUAL_H
#define DUALRED_DUAL_H

#include <linux/minmax.h>

#include "../red.h"

/**
 * enum dual_kind - which RED decides on a packet
 * @DUAL_DROP:	for packets that are not ECN-capable
 * @DUAL_MARK:	for those that are: ECT(0), ECT(1) or CE
 */
enum dual_kind {
	DUAL_DROP,
	DUAL_MARK,
	DUAL_KINDS,
};

/**
 * struct dual_params - settings
 * @red:	of each RED
 * @independent: whether each packet is signalled with the probability of equation (2) of
 *		../red.h, whatever became of those before it; else distances between signals
 *		are uniform, equation (3)
 */
struct dual_params {
	struct red_params	red[DUAL_KINDS];
	bool			independent;
};

/**
 * struct dual_vars - what the REDs know of the queue
 * @red:	of each
 */
struct dual_vars {
	struct red_vars	red[DUAL_KINDS];
};

/**
 * dual_th_max() - the maximum threshold where none is given
 * @kind:	of which RED
 * @th_min:	its minimum threshold
 *
 * Section IV-A has three times the minimum for Reno; a step, the minimum itself, is DCTCP's.
 *
 * Return: the threshold, in the unit of @th_min.
 */
static inline u32 dual_th_max(enum dual_kind kind, u32 th_min)
{
	return kind == DUAL_MARK ? th_min : min_t(u64, 3ULL * th_min, U32_MAX);
}

/**
 * dual_idle() - the link could have sent packets while the queue was empty
 * @params:	settings
 * @vars:	state
 * @phantoms:	how many
 */
static inline void dual_idle(const struct dual_params *params, struct dual_vars *vars,
			     u64 phantoms)
{
	int kind;

	for (kind = 0; kind < DUAL_KINDS; kind++)
		vars->red[kind].avg = red_idle(vars->red[kind].avg, params->red[kind].weight,
					       phantoms);
}

/**
 * dual_average() - a packet arrives, whatever becomes of it
 * @params:	settings
 * @vars:	state
 * @length:	of the queue that it meets
 */
static inline void dual_average(const struct dual_params *params, struct dual_vars *vars,
				u32 length)
{
	int kind;

	for (kind = 0; kind < DUAL_KINDS; kind++)
		vars->red[kind].avg = red_average(vars->red[kind].avg, params->red[kind].weight,
						  length);
}

/**
 * dual_arrival() - decide on a packet that has been taken into the averages
 * @params:	settings
 * @vars:	state
 * @kind:	of the packet
 * @random:	a number between 0 and 2^32 - 1, each as likely
 *
 * Return: what is to happen to it.
 */
static inline enum red_verdict dual_arrival(const struct dual_params *params,
					    struct dual_vars *vars, enum dual_kind kind,
					    u32 random)
{
	struct red_vars *red = &vars->red[kind];
	const enum red_verdict verdict = red_arrival(&params->red[kind], red, random);

	if (params->independent)
		red->count = 0;
	return verdict;
}

#endif
