/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc pi2 say to each other. */
#ifndef PI2_UAPI_H
#define PI2_UAPI_H

#include <linux/types.h>

enum {
	TCA_PI2_UNSPEC,
	TCA_PI2_TARGET,		/* u32, us */
	TCA_PI2_LIMIT,		/* u32, packets */
	TCA_PI2_TUPDATE,	/* u32, us */
	TCA_PI2_ALPHA,		/* u32, 1/16 per second */
	TCA_PI2_BETA,		/* u32, 1/16 per second */
	TCA_PI2_ECN,		/* u32, 0 or 1 */
	__TCA_PI2_MAX
};

#define TCA_PI2_MAX (__TCA_PI2_MAX - 1)

/* Ranges, in the attributes' units. */
#define PI2_MOST_TARGET		60000000
#define PI2_LEAST_LIMIT		1
#define PI2_LEAST_TUPDATE	100
#define PI2_MOST_TUPDATE	60000000
#define PI2_MOST_GAIN		512

/**
 * struct tc_pi2_xstats - statistics; counters are in packets
 * @prob:	probability of a signal, the square of @pseudo_prob, in 1/2^64
 * @pseudo_prob: what the PI controller controls, in 1/2^64
 * @delay:	queueing delay at the last update, in us
 * @packets_in:	enqueued
 * @dropped:	dropped, early or for want of room
 * @overlimit:	dropped for want of room
 * @maxq:	longest queue
 * @ecn_mark:	marked
 */
struct tc_pi2_xstats {
	__u64	prob;
	__u64	pseudo_prob;
	__u32	delay;
	__u32	packets_in;
	__u32	dropped;
	__u32	overlimit;
	__u32	maxq;
	__u32	ecn_mark;
};

#endif
