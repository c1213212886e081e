// SPDX-License-Identifier: GPL-2.0
/* The qdisc pi2 for tc. */
#include "../tc.h"
#include "uapi.h"

#define TWO_TO_THE_64	18446744073709551616.0

static const struct tc_option options[] = {
	{ "target",	TC_TIME,	TCA_PI2_TARGET },
	{ "limit",	TC_NUMBER,	TCA_PI2_LIMIT, "p" },
	{ "tupdate",	TC_TIME,	TCA_PI2_TUPDATE },
	{ "alpha",	TC_NUMBER,	TCA_PI2_ALPHA },
	{ "beta",	TC_NUMBER,	TCA_PI2_BETA },
	{ "ecn",	TC_FLAG,	TCA_PI2_ECN },
	{ }
};

static int parse(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *message,
		 const char *device)
{
	return tc_parse(util->id, options, argc, argv, message);
}

static int print(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	return tc_print(options, given);
}

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_pi2_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_fraction("prob", stats->prob / TWO_TO_THE_64);
	tc_print_fraction("pseudo_prob", stats->pseudo_prob / TWO_TO_THE_64);
	tc_print_time("delay", stats->delay);
	tc_print_line();
	tc_print_number("pkts_in", stats->packets_in, "");
	tc_print_number("overlimit", stats->overlimit, "");
	tc_print_number("dropped", stats->dropped, "");
	tc_print_number("maxq", stats->maxq, "");
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	return 0;
}

struct qdisc_util pi2_qdisc_util = {
	.id		= "pi2",
	.parse_qopt	= parse,
	.print_qopt	= print,
	.print_xstats	= print_statistics,
};
