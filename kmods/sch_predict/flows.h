/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows: what each has sent, and when it was last signalled
 *
 * A table of sets. A full set loses the flow that has been silent for longest; if
 * that one sends again, it counts as new.
 */
#ifndef PREDICT_FLOWS_H
#define PREDICT_FLOWS_H

#include <linux/types.h>

#include "predict.h"

#define PREDICT_SETS	256
#define PREDICT_WAYS	4
/* Longest time between two signals to a flow, in bins. */
#define PREDICT_LONGEST_HOLD	32768
/* What a flow sends before any feedback, in full packets (RFC 6928). */
#define PREDICT_INITIAL	10

/**
 * struct predict_flow - a flow
 * @hash:	of its addresses and ports
 * @seen:	bin of its last packet
 * @sent:	bytes since it began or paused, counted up to its initial window
 * @due:	whether its next packet that leaves carries a signal
 * @until:	first bin in which it may be signalled again
 */
struct predict_flow {
	u32	hash;
	u32	seen;
	u32	sent:31;
	u32	due:1;
	u32	until;
};

struct predict_flows {
	struct predict_flow sets[PREDICT_SETS][PREDICT_WAYS];
};

/* For how many bins a place of the table has been silent; longest, when it was never taken. */
static inline u32 predict_silent(const struct predict_flow *flow, u32 bin)
{
	return flow->hash ? bin - flow->seen : U32_MAX;
}

/* The place of a flow in the table: its own, or that of the one that it is to push out. */
static inline struct predict_flow *predict_place(struct predict_flows *flows, u32 hash, u32 bin)
{
	struct predict_flow *set = flows->sets[hash % PREDICT_SETS];
	struct predict_flow *place = set;
	int i;

	for (i = 0; i < PREDICT_WAYS; i++) {
		if (set[i].hash == hash)
			return &set[i];
		if (predict_silent(&set[i], bin) > predict_silent(place, bin))
			place = &set[i];
	}
	return place;
}

/**
 * predict_flow() - the flow of a packet that arrives
 * @flows:	table
 * @hash:	of the flow
 * @bin:	now
 *
 * A flow that has been silent for so long that nothing it sends can be an answer begins anew, and a
 * signal that it still waits for is of a transient that is over.
 *
 * Return: its place in the table.
 */
static inline struct predict_flow *predict_flow(struct predict_flows *flows, u32 hash, u32 bin)
{
	struct predict_flow *flow = predict_place(flows, hash, bin);

	if (flow->hash != hash) {
		*flow = (struct predict_flow){ .hash = hash, .until = bin };
	} else if (bin - flow->seen > PREDICT_LONGEST_PAUSE) {
		flow->sent = 0;
		flow->due = false;
	}
	flow->seen = bin;
	return flow;
}

/**
 * predict_answers() - count a packet of a flow
 * @flow:	it
 * @size:	of the packet, in bytes
 * @mtu:	a full packet, in bytes
 *
 * Return: true when the flow had sent its initial window before, so that the packet answers an
 * acknowledgment.
 */
static inline bool predict_answers(struct predict_flow *flow, u32 size, u32 mtu)
{
	if (flow->sent >= PREDICT_INITIAL * mtu)
		return true;
	flow->sent += size;
	return false;
}

/**
 * predict_claim() - take note of a signal to a flow, unless it has had one
 * @flow:	it
 * @bin:	now
 * @hold:	for how many bins the flow may not be signalled again; 1 to PREDICT_LONGEST_HOLD
 *
 * Right also when the numbers of bins wrap around.
 *
 * Return: true if the flow is to be signalled now.
 */
static inline bool predict_claim(struct predict_flow *flow, u32 bin, u32 hold)
{
	const u32 left = flow->until - bin;

	if (left && left <= PREDICT_LONGEST_HOLD)
		return false;
	flow->until = bin + hold;
	return true;
}

#endif
