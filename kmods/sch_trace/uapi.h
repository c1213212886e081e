/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What tc and the qdisc trace say to each other. */
#ifndef TRACE_UAPI_H
#define TRACE_UAPI_H

#include <linux/types.h>

enum {
	TCA_TRACE_UNSPEC,
	TCA_TRACE_START,		/* u64, ns of CLOCK_MONOTONIC */
	TCA_TRACE_OPPORTUNITIES,	/* u32 each, ms; replaces the trace */
	TCA_TRACE_FURTHER,		/* u32 each, ms; goes on with the trace */
	__TCA_TRACE_MAX
};

#define TCA_TRACE_MAX (__TCA_TRACE_MAX - 1)

#define TRACE_MOST_OPPORTUNITIES	16777216

/**
 * struct tc_trace_xstats - statistics
 * @opportunities: in the trace
 * @period_ms:	after which it begins again, in ms
 * @used:	opportunities that have sent something
 * @unsent:	bytes left of the packet that has been sent in part
 */
struct tc_trace_xstats {
	__u32	opportunities;
	__u32	period_ms;
	__u32	used;
	__u32	unsent;
};

#endif
