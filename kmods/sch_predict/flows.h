/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows that have been signalled: each once in a transient
 *
 * A table of sets. A flow has an entry from its signal until the sender's answer
 * has had time to show; then the place is free. A full set loses the entry that
 * would have ended first, at the cost of a second signal to that flow.
 */
#ifndef PREDICT_FLOWS_H
#define PREDICT_FLOWS_H

#include <linux/types.h>

#define PREDICT_SETS	256
#define PREDICT_WAYS	4
/* Longest time between two signals to a flow, in bins. */
#define PREDICT_LONGEST_HOLD	32768

/**
 * struct predict_flow - a flow that has been signalled
 * @hash:	of its addresses and ports
 * @until:	first bin in which it may be signalled again
 */
struct predict_flow {
	u32	hash;
	u32	until;
};

struct predict_flows {
	struct predict_flow sets[PREDICT_SETS][PREDICT_WAYS];
};

/* For how many bins more a flow may not be signalled; right also when the numbers wrap around. */
static inline u32 predict_held(const struct predict_flow *flow, u32 bin)
{
	const u32 left = flow->until - bin;

	return left <= PREDICT_LONGEST_HOLD ? left : 0;
}

/**
 * predict_claim() - take note of a signal to a flow, unless it has had one
 * @flows:	table
 * @hash:	of the flow
 * @bin:	now
 * @hold:	for how many bins the flow may not be signalled again; 1 to PREDICT_LONGEST_HOLD
 *
 * Return: true if the flow is to be signalled now.
 */
static inline bool predict_claim(struct predict_flows *flows, u32 hash, u32 bin, u32 hold)
{
	struct predict_flow *set = flows->sets[hash % PREDICT_SETS];
	struct predict_flow *place = set;
	int i;

	for (i = 0; i < PREDICT_WAYS; i++) {
		if (set[i].hash == hash && predict_held(&set[i], bin))
			return false;
		if (predict_held(&set[i], bin) < predict_held(place, bin))
			place = &set[i];
	}
	place->hash = hash;
	place->until = bin + hold;
	return true;
}

#endif
