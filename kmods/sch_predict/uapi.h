/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What the qdisc predict and its tc plugin say to each other. */
#ifndef PREDICT_UAPI_H
#define PREDICT_UAPI_H

#include <linux/types.h>

enum {
	TCA_PREDICT_UNSPEC,
	TCA_PREDICT_LIMIT,	/* packets */
	TCA_PREDICT_TARGET,	/* percent of the link's rate */
	TCA_PREDICT_RATE,	/* u64, bytes/s; 0: measured */
	TCA_PREDICT_BIN,	/* us */
	TCA_PREDICT_ECN,	/* flag */
	TCA_PREDICT_STANDING,	/* flag */
	TCA_PREDICT_BOUND,	/* us; 0: none */
	TCA_PREDICT_HEAD,	/* flag */
	__TCA_PREDICT_MAX
};

#define TCA_PREDICT_MAX	(__TCA_PREDICT_MAX - 1)

/* Ranges, in the attributes' units. */
#define PREDICT_LEAST_LIMIT	1
#define PREDICT_LEAST_TARGET	1
#define PREDICT_MOST_TARGET	1000
#define PREDICT_MOST_RATE	125000000000ULL
#define PREDICT_LEAST_BIN	100
#define PREDICT_MOST_BIN	1000000

/**
 * struct tc_predict_xstats - statistics of the qdisc
 * @detections:	transients so far
 * @doubling:	time in which the load doubles, in us; 0 when there is no transient
 * @load:	predicted for the next doubling time, in percent of the link's rate
 * @rate:	the link's, in bytes/s
 * @ecn_mark:	packets marked so far, for a transient or beyond the bound
 * @early:	packets dropped so far, for a transient or beyond the bound
 * @standing:	packets marked or dropped so far, for a standing queue
 * @overlimit:	packets dropped so far for want of room
 */
struct tc_predict_xstats {
	__u32 detections;
	__u32 doubling;
	__u32 load;
	__u32 rate;
	__u32 ecn_mark;
	__u32 early;
	__u32 standing;
	__u32 overlimit;
};

#endif
