/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc dualred say to each other. */
#ifndef DUALRED_UAPI_H
#define DUALRED_UAPI_H

#include <linux/types.h>

/*
 * DROP_* is the RED of packets without ECN, MARK_* that of ECN-capable ones. In a request 0 as a
 * maximum threshold asks for the derived one; answers have what is in force.
 */
enum {
	TCA_DUALRED_UNSPEC,
	TCA_DUALRED_RATE,		/* u64, byte/s, of the link */
	TCA_DUALRED_LIMIT,		/* u32, packets: the buffer */
	TCA_DUALRED_AVPKT,		/* u32, bytes */
	TCA_DUALRED_BYTES,		/* u32, 0 or 1: thresholds and averages in bytes */
	TCA_DUALRED_INDEPENDENT,	/* u32, 0 or 1 */
	TCA_DUALRED_DROP_MIN,		/* u32, packets or bytes */
	TCA_DUALRED_DROP_MAX,		/* u32, packets or bytes */
	TCA_DUALRED_DROP_PROBABILITY,	/* u32, 1/2^31, at DROP_MAX */
	TCA_DUALRED_DROP_WEIGHT,	/* u32, 1/2^31 */
	TCA_DUALRED_MARK_MIN,		/* u32, packets or bytes */
	TCA_DUALRED_MARK_MAX,		/* u32, packets or bytes */
	TCA_DUALRED_MARK_PROBABILITY,	/* u32, 1/2^31, at MARK_MAX */
	TCA_DUALRED_MARK_WEIGHT,	/* u32, 1/2^31 */
	__TCA_DUALRED_MAX
};

#define TCA_DUALRED_MAX (__TCA_DUALRED_MAX - 1)

/* Ranges, in the attributes' units. */
#define DUALRED_LEAST_RATE	1
#define DUALRED_MOST_RATE	100000000000ULL
#define DUALRED_LEAST_LIMIT	1
#define DUALRED_MOST_LIMIT	4194304
#define DUALRED_LEAST_AVPKT	64
#define DUALRED_MOST_AVPKT	65549
#define DUALRED_LEAST_WEIGHT	1
#define DUALRED_MOST_WEIGHT	0x80000000U

/**
 * struct tc_dualred_xstats - statistics
 * @drop_prob:	probability of a drop for a packet without ECN now, in 1/2^64
 * @mark_prob:	probability of a mark for an ECN-capable packet now, in 1/2^64
 * @drop_avg:	average queue of the first, in 1/2^32 packets or bytes
 * @mark_avg:	average queue of the second, in 1/2^32 packets or bytes
 * @drop_packets: packets without ECN that found room
 * @early:	of these, dropped by chance
 * @forced:	of these, dropped because the average was where all are
 * @mark_packets: ECN-capable packets that found room
 * @ecn_mark:	of these, marked by chance
 * @ecn_forced:	of these, marked because the average was where all are
 * @overlimit:	packets dropped because the buffer was full
 * @maxq:	longest queue, in packets
 */
struct tc_dualred_xstats {
	__u64	drop_prob;
	__u64	mark_prob;
	__u64	drop_avg;
	__u64	mark_avg;
	__u32	drop_packets;
	__u32	early;
	__u32	forced;
	__u32	mark_packets;
	__u32	ecn_mark;
	__u32	ecn_forced;
	__u32	overlimit;
	__u32	maxq;
};

#endif
