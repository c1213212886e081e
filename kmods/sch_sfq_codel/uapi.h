/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc sfq_codel say to each other. */
#ifndef SFQ_CODEL_UAPI_H
#define SFQ_CODEL_UAPI_H

#include <linux/types.h>

enum {
	TCA_SFQ_CODEL_UNSPEC,
	TCA_SFQ_CODEL_LIMIT,	/* u32, packets */
	TCA_SFQ_CODEL_FLOWS,	/* u32, queues */
	TCA_SFQ_CODEL_QUANTUM,	/* u32, bytes */
	TCA_SFQ_CODEL_TARGET,	/* u32, us */
	TCA_SFQ_CODEL_INTERVAL,	/* u32, us */
	TCA_SFQ_CODEL_ECN,	/* u32, 0 or 1 */
	TCA_SFQ_CODEL_TAIL,	/* u32, 0 or 1 */
	__TCA_SFQ_CODEL_MAX
};

#define TCA_SFQ_CODEL_MAX (__TCA_SFQ_CODEL_MAX - 1)

/* Ranges, in the attributes' units. CoDel's clock ticks every 1024 ns. */
#define SFQ_CODEL_LEAST_LIMIT		1
#define SFQ_CODEL_LEAST_FLOWS		1
#define SFQ_CODEL_MOST_FLOWS		65536
#define SFQ_CODEL_LEAST_QUANTUM		256
#define SFQ_CODEL_MOST_QUANTUM		1048576
#define SFQ_CODEL_MOST_TARGET		60000000
#define SFQ_CODEL_LEAST_INTERVAL	2
#define SFQ_CODEL_MOST_INTERVAL		60000000

/**
 * struct tc_sfq_codel_xstats - statistics
 * @maxpacket:	largest packet, in bytes
 * @drop_overlimit: packets dropped for want of room
 * @ecn_mark:	packets marked
 * @flows_len:	queues that take turns now
 */
struct tc_sfq_codel_xstats {
	__u32	maxpacket;
	__u32	drop_overlimit;
	__u32	ecn_mark;
	__u32	flows_len;
};

#endif
