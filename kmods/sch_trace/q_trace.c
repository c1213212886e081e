// SPDX-License-Identifier: GPL-2.0
/* The qdisc trace for tc. */
#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "start",		TC_LONG,		TCA_TRACE_START },
	{ "opportunities",	TC_LIST,	TCA_TRACE_OPPORTUNITIES },
	{ "further",		TC_LIST,	TCA_TRACE_FURTHER },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_trace_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_number("opportunities", stats->opportunities, "");
	tc_print_number("period_ms", stats->period_ms, "");
	tc_print_number("used", stats->used, "");
	tc_print_number("unsent", stats->unsent, "");
	return 0;
}

struct tc_plugin trace_qdisc_util = {
	.util = {
		.id		= "trace",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
