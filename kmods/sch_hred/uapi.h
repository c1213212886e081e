/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc hred say to each other. */
#ifndef HRED_UAPI_H
#define HRED_UAPI_H

#include <linux/types.h>

/* In a request 0 as TH_MIN to WEIGHT asks for what is derived; answers have what is in force. */
enum {
	TCA_HRED_UNSPEC,
	TCA_HRED_RATE,		/* u64, byte/s, of the link */
	TCA_HRED_RTT,		/* u32, us, end to end */
	TCA_HRED_LIMIT,		/* u32, packets: the buffer */
	TCA_HRED_TH_MIN,	/* u32, packets */
	TCA_HRED_TH_MAX,	/* u32, packets */
	TCA_HRED_PROBABILITY,	/* u32, 1/2^31, at TH_MAX */
	TCA_HRED_WEIGHT,	/* u32, 1/2^31 */
	TCA_HRED_AVPKT,		/* u32, bytes */
	TCA_HRED_GENTLE,	/* u32, 0 or 1 */
	TCA_HRED_ECN,		/* u32, 0 or 1 */
	__TCA_HRED_MAX
};

#define TCA_HRED_MAX (__TCA_HRED_MAX - 1)

/* Ranges, in the attributes' units. */
#define HRED_LEAST_RATE		1
#define HRED_MOST_RATE		100000000000ULL
#define HRED_LEAST_RTT		1
#define HRED_MOST_RTT		60000000
#define HRED_LEAST_LIMIT	1
#define HRED_MOST_LIMIT		4194304	/* and of the BDP: no product overflows */
#define HRED_LEAST_AVPKT	64
#define HRED_MOST_AVPKT		65549

/**
 * struct tc_hred_xstats - statistics
 * @prob:	initial probability of a signal now, in 1/2^64
 * @avg:	average queue now, in 1/2^32 packets
 * @ecn_mark:	packets marked
 * @early:	packets dropped by chance
 * @forced:	packets dropped because the average was where none may pass
 * @overlimit:	packets dropped because the buffer was full
 * @maxq:	longest queue, in packets
 * @pad:	0, so that it is as long on every machine
 */
struct tc_hred_xstats {
	__u64	prob;
	__u64	avg;
	__u32	ecn_mark;
	__u32	early;
	__u32	forced;
	__u32	overlimit;
	__u32	maxq;
	__u32	pad;
};

#endif
