// SPDX-License-Identifier: GPL-2.0
/* The qdisc hred for tc. */
#include <linux/pkt_sched.h>

#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "rate",	TC_RATE,	TCA_HRED_RATE, NULL, HRED_LEAST_RATE, HRED_MOST_RATE },
	{ "rtt",	TC_TIME,	TCA_HRED_RTT, NULL, HRED_LEAST_RTT, HRED_MOST_RTT },
	{ "limit",	TC_NUMBER,	TCA_HRED_LIMIT, "p", HRED_LEAST_LIMIT, HRED_MOST_LIMIT },
	{ "min",	TC_NUMBER,	TCA_HRED_TH_MIN, "p" },
	{ "max",	TC_NUMBER,	TCA_HRED_TH_MAX, "p" },
	{ "probability", TC_FRACTION,	TCA_HRED_PROBABILITY },
	{ "weight",	TC_FRACTION,	TCA_HRED_WEIGHT },
	{ "avpkt",	TC_NUMBER,	TCA_HRED_AVPKT, "b", HRED_LEAST_AVPKT, HRED_MOST_AVPKT },
	{ "gentle",	TC_FLAG,	TCA_HRED_GENTLE },
	{ "ecn",	TC_FLAG,	TCA_HRED_ECN },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_hred_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_probability("prob", stats->prob);
	tc_print_fraction("avg", stats->avg / 4294967296.0);
	tc_print_number("maxq", stats->maxq, "");
	tc_print_line();
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	tc_print_number("early", stats->early, "");
	tc_print_number("forced", stats->forced, "");
	tc_print_number("overlimit", stats->overlimit, "");
	return 0;
}

struct tc_plugin hred_qdisc_util = {
	.util = {
		.id		= "hred",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
