/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc pie_draft say to each other; statistics are tc_pie_xstats. */
#ifndef PIE_DRAFT_UAPI_H
#define PIE_DRAFT_UAPI_H

enum {
	TCA_PIE_DRAFT_UNSPEC,
	TCA_PIE_DRAFT_TARGET,		/* u32, us */
	TCA_PIE_DRAFT_LIMIT,		/* u32, packets */
	TCA_PIE_DRAFT_TUPDATE,		/* u32, us */
	TCA_PIE_DRAFT_ALPHA,		/* u32, 1/16 per second */
	TCA_PIE_DRAFT_BETA,		/* u32, 1/16 per second */
	TCA_PIE_DRAFT_ECN,		/* u32, 0 or 1 */
	TCA_PIE_DRAFT_BYTEMODE,		/* u32, 0 or 1 */
	TCA_PIE_DRAFT_MAX_BURST,	/* u32, us */
	TCA_PIE_DRAFT_MARK_LIMIT,	/* u32, percent */
	TCA_PIE_DRAFT_RATE_SAMPLE,	/* u32, bytes */
	__TCA_PIE_DRAFT_MAX
};

#define TCA_PIE_DRAFT_MAX (__TCA_PIE_DRAFT_MAX - 1)

/* Ranges, in the attributes' units. */
#define PIE_DRAFT_MOST_TIME		60000000
#define PIE_DRAFT_LEAST_TUPDATE		100
#define PIE_DRAFT_LEAST_LIMIT		1
#define PIE_DRAFT_MOST_GAIN		512
#define PIE_DRAFT_LEAST_MARK_LIMIT	1
#define PIE_DRAFT_MOST_MARK_LIMIT	100
#define PIE_DRAFT_LEAST_RATE_SAMPLE	1

#endif
