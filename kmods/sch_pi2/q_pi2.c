// SPDX-License-Identifier: GPL-2.0
/* The qdisc pi2 for tc. */
#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "target",	TC_TIME,	TCA_PI2_TARGET, NULL, 0, PI2_MOST_TARGET },
	{ "limit",	TC_NUMBER,	TCA_PI2_LIMIT, "p", PI2_LEAST_LIMIT },
	{ "tupdate",	TC_TIME,	TCA_PI2_TUPDATE, NULL, PI2_LEAST_TUPDATE,
	  PI2_MOST_TUPDATE },
	{ "alpha",	TC_NUMBER,	TCA_PI2_ALPHA, NULL, 0, PI2_MOST_GAIN },
	{ "beta",	TC_NUMBER,	TCA_PI2_BETA, NULL, 0, PI2_MOST_GAIN },
	{ "ecn",	TC_FLAG,	TCA_PI2_ECN },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_pi2_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_probability("prob", stats->prob);
	tc_print_probability("pseudo_prob", stats->pseudo_prob);
	tc_print_time("delay", stats->delay);
	tc_print_line();
	tc_print_number("pkts_in", stats->packets_in, "");
	tc_print_number("overlimit", stats->overlimit, "");
	tc_print_number("dropped", stats->dropped, "");
	tc_print_number("maxq", stats->maxq, "");
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	return 0;
}

struct tc_plugin pi2_qdisc_util = {
	.util = {
		.id		= "pi2",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
