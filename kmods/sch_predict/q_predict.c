// SPDX-License-Identifier: GPL-2.0
/* The qdisc predict for tc. */
#include <linux/pkt_sched.h>

#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "limit",	TC_NUMBER,	TCA_PREDICT_LIMIT, "p", PREDICT_LEAST_LIMIT },
	{ "target",	TC_NUMBER,	TCA_PREDICT_TARGET, "%", PREDICT_LEAST_TARGET,
	  PREDICT_MOST_TARGET },
	{ "rate",	TC_RATE,	TCA_PREDICT_RATE, NULL, 0, PREDICT_MOST_RATE },
	{ "bin",	TC_TIME,	TCA_PREDICT_BIN, NULL, PREDICT_LEAST_BIN,
	  PREDICT_MOST_BIN },
	{ "ecn",	TC_FLAG,	TCA_PREDICT_ECN },
	{ "standing",	TC_FLAG,	TCA_PREDICT_STANDING },
	{ "bound",	TC_TIME,	TCA_PREDICT_BOUND },
	{ "head",	TC_FLAG,	TCA_PREDICT_HEAD },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_predict_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_number("detections", stats->detections, "");
	tc_print_time("doubling", stats->doubling);
	tc_print_number("load", stats->load, "%");
	tc_print_speed("rate", stats->rate);
	tc_print_line();
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	tc_print_number("early", stats->early, "");
	tc_print_number("standing", stats->standing, "");
	tc_print_number("overlimit", stats->overlimit, "");
	return 0;
}

struct tc_plugin predict_qdisc_util = {
	.util = {
		.id		= "predict",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
