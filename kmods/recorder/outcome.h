/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What became of a packet, from what tracepoints tell
 *
 * No clock is asked: on a machine's own kernel time passes while a packet is
 * being dropped, and on the lab's it does not pass between two events.
 */
#ifndef RECORDER_OUTCOME_H
#define RECORDER_OUTCOME_H

#include <linux/types.h>

enum outcome {
	OUTCOME_SENT,
	OUTCOME_OVERLIMIT,	/* dropped for want of room */
	OUTCOME_AQM_ENQUEUE,	/* dropped on arrival although there was room */
	OUTCOME_AQM_DEQUEUE,	/* dropped from the queue */
	OUTCOME_QUEUED,		/* still in the queue when recording stopped */
};

/**
 * struct drop - what is known of a packet that is freed without having been sent
 * @taken:	its enqueue succeeded (qdisc_enqueue)
 * @latest:	no other packet has come to the device since
 * @full:	when it came there was no room
 * @listed:	the qdisc left it to its caller to free (SKB_DROP_REASON_QDISC_DROP); until Linux
 *		6.18 ->enqueue() alone does so, since then ->dequeue() too
 * @congested:	the qdisc says that it was dropped to signal congestion (qdisc_drop, since
 *		Linux 7.1)
 */
struct drop {
	bool	taken;
	bool	latest;
	bool	full;
	bool	listed;
	bool	congested;
};

/**
 * outcome_of_drop() - why a packet was dropped
 * @drop:	what is known
 *
 * An enqueue that succeeds at the price of another packet may not say that it did
 * (NET_XMIT_CN); such a packet has met a full queue.
 *
 * Return: one of the three drops.
 */
static inline enum outcome outcome_of_drop(const struct drop *drop)
{
	const bool arriving = !drop->taken && (drop->listed || drop->latest) &&
			      !(drop->full && drop->congested);

	if (arriving)
		return drop->full ? OUTCOME_OVERLIMIT : OUTCOME_AQM_ENQUEUE;
	/* Another packet's arrival pushed it out, or dequeue dropped it. */
	if (drop->listed && !drop->congested)
		return OUTCOME_OVERLIMIT;
	return OUTCOME_AQM_DEQUEUE;
}

#endif
