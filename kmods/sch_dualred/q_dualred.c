// SPDX-License-Identifier: GPL-2.0
/* The qdisc dualred for tc. */
#include <linux/pkt_sched.h>

#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "rate",	TC_RATE,	TCA_DUALRED_RATE, NULL, DUALRED_LEAST_RATE,
	  DUALRED_MOST_RATE },
	{ "limit",	TC_NUMBER,	TCA_DUALRED_LIMIT, "p", DUALRED_LEAST_LIMIT,
	  DUALRED_MOST_LIMIT },
	{ "avpkt",	TC_NUMBER,	TCA_DUALRED_AVPKT, "b", DUALRED_LEAST_AVPKT,
	  DUALRED_MOST_AVPKT },
	{ "bytes",	TC_FLAG,	TCA_DUALRED_BYTES },
	{ "independent",	TC_FLAG,	TCA_DUALRED_INDEPENDENT },
	{ "drop_min",	TC_NUMBER,	TCA_DUALRED_DROP_MIN },
	{ "drop_max",	TC_NUMBER,	TCA_DUALRED_DROP_MAX },
	{ "drop_probability", TC_FRACTION, TCA_DUALRED_DROP_PROBABILITY },
	{ "drop_weight", TC_FRACTION,	TCA_DUALRED_DROP_WEIGHT, NULL,
	  DUALRED_LEAST_WEIGHT, DUALRED_MOST_WEIGHT },
	{ "mark_min",	TC_NUMBER,	TCA_DUALRED_MARK_MIN },
	{ "mark_max",	TC_NUMBER,	TCA_DUALRED_MARK_MAX },
	{ "mark_probability", TC_FRACTION, TCA_DUALRED_MARK_PROBABILITY },
	{ "mark_weight", TC_FRACTION,	TCA_DUALRED_MARK_WEIGHT, NULL,
	  DUALRED_LEAST_WEIGHT, DUALRED_MOST_WEIGHT },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_dualred_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_probability("drop_prob", stats->drop_prob);
	tc_print_fraction("drop_avg", stats->drop_avg / 4294967296.0);
	tc_print_number("drop_packets", stats->drop_packets, "");
	tc_print_number("early", stats->early, "");
	tc_print_number("forced", stats->forced, "");
	tc_print_line();
	tc_print_probability("mark_prob", stats->mark_prob);
	tc_print_fraction("mark_avg", stats->mark_avg / 4294967296.0);
	tc_print_number("mark_packets", stats->mark_packets, "");
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	tc_print_number("ecn_forced", stats->ecn_forced, "");
	tc_print_line();
	tc_print_number("overlimit", stats->overlimit, "");
	tc_print_number("maxq", stats->maxq, "");
	return 0;
}

struct tc_plugin dualred_qdisc_util = {
	.util = {
		.id		= "dualred",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
