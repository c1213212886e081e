/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc noise say to each other. */
#ifndef NOISE_UAPI_H
#define NOISE_UAPI_H

#include <linux/types.h>

enum {
	TCA_NOISE_UNSPEC,
	TCA_NOISE_SEED,		/* u64 */
	TCA_NOISE_START,	/* u64, ns of CLOCK_MONOTONIC */
	TCA_NOISE_RATE,		/* u64, byte/s; 0: a packet takes no time to send */
	TCA_NOISE_PHASE,	/* u32, ns; the most */
	TCA_NOISE_HOST,		/* u32 each, ns: quantiles at equal distances from 0 to 1 */
	TCA_NOISE_WAN,		/* u32, ns; mean */
	TCA_NOISE_WAN_STEP,	/* u32, ns between two draws */
	TCA_NOISE_NIC,		/* u32, ns from one interrupt to the next, at least */
	__TCA_NOISE_MAX
};

#define TCA_NOISE_MAX (__TCA_NOISE_MAX - 1)

/* Ranges, in the attributes' units. */
#define NOISE_MOST_PHASE	1000000000
#define NOISE_MOST_QUANTILES	4097
#define NOISE_MOST_WAN		50000000
#define NOISE_MOST_WAN_STEP	2000000000
#define NOISE_MOST_NIC		1000000000
/* The delay of a long path is cut at so many times its mean, and takes at least that long to go. */
#define NOISE_WAN_CUT		20

/**
 * struct tc_noise_xstats - statistics
 * @added_ns:	delay added to all packets, in ns
 * @most_ns:	the longest added to one, in ns
 * @wakeups:	instants at which packets came
 * @interrupts:	at which packets were handed up
 */
struct tc_noise_xstats {
	__u64	added_ns;
	__u64	most_ns;
	__u64	wakeups;
	__u64	interrupts;
};

#endif
