// SPDX-License-Identifier: GPL-2.0
/* The qdisc pie_draft for tc. */
#include <linux/pkt_sched.h>

#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "target",	TC_TIME,	TCA_PIE_DRAFT_TARGET, NULL, 0, PIE_DRAFT_MOST_TIME },
	{ "limit",	TC_NUMBER,	TCA_PIE_DRAFT_LIMIT, "p", PIE_DRAFT_LEAST_LIMIT },
	{ "tupdate",	TC_TIME,	TCA_PIE_DRAFT_TUPDATE, NULL, PIE_DRAFT_LEAST_TUPDATE,
	  PIE_DRAFT_MOST_TIME },
	{ "alpha",	TC_NUMBER,	TCA_PIE_DRAFT_ALPHA, NULL, 0, PIE_DRAFT_MOST_GAIN },
	{ "beta",	TC_NUMBER,	TCA_PIE_DRAFT_BETA, NULL, 0, PIE_DRAFT_MOST_GAIN },
	{ "max_burst",	TC_TIME,	TCA_PIE_DRAFT_MAX_BURST, NULL, 0, PIE_DRAFT_MOST_TIME },
	{ "mark_limit",	TC_NUMBER,	TCA_PIE_DRAFT_MARK_LIMIT, "%",
	  PIE_DRAFT_LEAST_MARK_LIMIT, PIE_DRAFT_MOST_MARK_LIMIT },
	{ "rate_sample", TC_NUMBER,	TCA_PIE_DRAFT_RATE_SAMPLE, "b",
	  PIE_DRAFT_LEAST_RATE_SAMPLE },
	{ "ecn",	TC_FLAG,	TCA_PIE_DRAFT_ECN },
	{ "bytemode",	TC_FLAG,	TCA_PIE_DRAFT_BYTEMODE },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_pie_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_probability("prob", stats->prob);
	tc_print_time("delay", stats->delay);
	tc_print_number("avg_dq_rate", stats->avg_dq_rate, "");
	tc_print_line();
	tc_print_number("pkts_in", stats->packets_in, "");
	tc_print_number("overlimit", stats->overlimit, "");
	tc_print_number("dropped", stats->dropped, "");
	tc_print_number("maxq", stats->maxq, "");
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	return 0;
}

struct tc_plugin pie_draft_qdisc_util = {
	.util = {
		.id		= "pie_draft",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
