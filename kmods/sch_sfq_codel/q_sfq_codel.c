// SPDX-License-Identifier: GPL-2.0
/* The qdisc sfq_codel for tc. */
#include "../tc.h"
#include "uapi.h"

static const struct tc_option options[] = {
	{ "limit",	TC_NUMBER,	TCA_SFQ_CODEL_LIMIT, "p", SFQ_CODEL_LEAST_LIMIT },
	{ "flows",	TC_NUMBER,	TCA_SFQ_CODEL_FLOWS, NULL, SFQ_CODEL_LEAST_FLOWS,
	  SFQ_CODEL_MOST_FLOWS },
	{ "quantum",	TC_NUMBER,	TCA_SFQ_CODEL_QUANTUM, "b", SFQ_CODEL_LEAST_QUANTUM,
	  SFQ_CODEL_MOST_QUANTUM },
	{ "target",	TC_TIME,	TCA_SFQ_CODEL_TARGET, NULL, 0, SFQ_CODEL_MOST_TARGET },
	{ "interval",	TC_TIME,	TCA_SFQ_CODEL_INTERVAL, NULL, SFQ_CODEL_LEAST_INTERVAL,
	  SFQ_CODEL_MOST_INTERVAL },
	{ "ecn",	TC_FLAG,	TCA_SFQ_CODEL_ECN },
	{ "tail",	TC_FLAG,	TCA_SFQ_CODEL_TAIL },
	{ }
};

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_sfq_codel_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_number("maxpacket", stats->maxpacket, "");
	tc_print_number("drop_overlimit", stats->drop_overlimit, "");
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	tc_print_number("flows_len", stats->flows_len, "");
	return 0;
}

struct tc_plugin sfq_codel_qdisc_util = {
	.util = {
		.id		= "sfq_codel",
		.parse_qopt	= tc_parse,
		.print_qopt	= tc_print,
		.print_xstats	= print_statistics,
	},
	.options = options,
};
