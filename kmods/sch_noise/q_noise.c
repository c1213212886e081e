// SPDX-License-Identifier: GPL-2.0
/* The qdisc noise for tc. */
#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "seed",	TC_LONG,	TCA_NOISE_SEED },
	{ "start",	TC_LONG,	TCA_NOISE_START },
	{ "rate",	TC_RATE,	TCA_NOISE_RATE },
	{ "phase",	TC_NUMBER,	TCA_NOISE_PHASE, "ns", 0, NOISE_MOST_PHASE },
	{ "host",	TC_LIST,	TCA_NOISE_HOST },
	{ "wan",	TC_NUMBER,	TCA_NOISE_WAN, "ns", 0, NOISE_MOST_WAN },
	{ "wan_step",	TC_NUMBER,	TCA_NOISE_WAN_STEP, "ns", 1, NOISE_MOST_WAN_STEP },
	{ "nic",	TC_NUMBER,	TCA_NOISE_NIC, "ns", 0, NOISE_MOST_NIC },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_noise_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_long("added_ns", stats->added_ns);
	tc_print_long("most_ns", stats->most_ns);
	tc_print_long("wakeups", stats->wakeups);
	tc_print_long("interrupts", stats->interrupts);
	return 0;
}

struct tc_plugin noise_qdisc_util = {
	.util = {
		.id		= "noise",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
