// SPDX-License-Identifier: GPL-2.0
/*
 * Mainline's qdisc dualpi2 for tc
 *
 * tc knows it from iproute2 6.18 on; its words are the same here, and so are the
 * values that follow from max_rtt and typical_rtt. Other than tc's this takes
 * step_thresh 0, and cla_ect, which the kernel has too.
 *
 * Attributes and statistics are those of <linux/pkt_sched.h> of Linux 6.17.
 * Some attributes are of 8 bits, and several words stand for the values of one,
 * for which the table of ../tc.h has no types.
 */
#include "../tc.h"

enum {
	DUALPI2_LIMIT = 1,
	DUALPI2_MEMORY_LIMIT,
	DUALPI2_TARGET,
	DUALPI2_TUPDATE,
	DUALPI2_ALPHA,
	DUALPI2_BETA,
	DUALPI2_STEP_PACKETS,
	DUALPI2_STEP_US,
	DUALPI2_MIN_QLEN_STEP,
	DUALPI2_COUPLING,
	DUALPI2_DROP_OVERLOAD,
	DUALPI2_DROP_EARLY,
	DUALPI2_C_PROTECTION,
	DUALPI2_ECN_MASK,
	DUALPI2_SPLIT_GSO,
	DUALPI2_ATTRIBUTES,
};

#define GAIN_ONE	256	/* alpha and beta are in Hz / 256 */
#define GAIN_MOST	0x7fffffff
#define US_PER_SECOND	1000000.0
#define TYPICAL_TO_MOST	6

struct dualpi2_xstats {
	__u32 prob;		/* in 1 / (2^32 - 1) */
	__u32 delay_c;		/* us */
	__u32 delay_l;
	__u32 packets_in_c;
	__u32 packets_in_l;
	__u32 maxq;
	__u32 ecn_mark;
	__u32 step_marks;
	__s32 credit;
	__u32 memory_used;
	__u32 max_memory_used;
	__u32 memory_limit;
};

/* Options with a value of 32 bits. */
static const struct tc_option numbers[] = {
	{ "limit",		TC_NUMBER,	DUALPI2_LIMIT, "p", 1 },
	{ "memlimit",		TC_NUMBER,	DUALPI2_MEMORY_LIMIT, NULL, 1 },
	{ "target",		TC_TIME,	DUALPI2_TARGET },
	{ "tupdate",		TC_TIME,	DUALPI2_TUPDATE, NULL, 1 },
	{ "min_qlen_step",	TC_NUMBER,	DUALPI2_MIN_QLEN_STEP, "p" },
	{ }
};

/* Options with a value of 8 bits. */
static const struct tc_option bytes[] = {
	{ "coupling_factor",	TC_NUMBER,	DUALPI2_COUPLING, NULL, 1, 255 },
	{ "classic_protection",	TC_NUMBER,	DUALPI2_C_PROTECTION, "%", 0, 100 },
	{ }
};

/**
 * struct word - an option that is a word alone
 * @name:	the word
 * @attribute:	that it sets
 * @value:	and to what
 */
struct word {
	const char *name;
	int attribute;
	__u8 value;
};

static const struct word words[] = {
	{ "overflow",		DUALPI2_DROP_OVERLOAD,	0 },
	{ "drop_on_overload",	DUALPI2_DROP_OVERLOAD,	1 },
	{ "drop_dequeue",	DUALPI2_DROP_EARLY,	0 },
	{ "drop_enqueue",	DUALPI2_DROP_EARLY,	1 },
	{ "l4s_ect",		DUALPI2_ECN_MASK,	1 },
	{ "cla_ect",		DUALPI2_ECN_MASK,	2 },
	{ "any_ect",		DUALPI2_ECN_MASK,	3 },
	{ "no_split_gso",	DUALPI2_SPLIT_GSO,	0 },
	{ "split_gso",		DUALPI2_SPLIT_GSO,	1 },
	{ }
};

static void usage(void)
{
	const struct word *word;

	fprintf(stderr,
		"Usage: ... dualpi2 [ limit PACKETS ] [ memlimit BYTES ] [ target TIME ]\n"
		"  [ tupdate TIME ] [ alpha HZ ] [ beta HZ ] [ max_rtt TIME ] [ typical_rtt TIME ]\n"
		"  [ step_thresh TIME | step_thresh PACKETSp ] [ min_qlen_step PACKETS ]\n"
		"  [ coupling_factor NUMBER ] [ classic_protection PERCENT ]");
	for (word = words; word->name; word++)
		fprintf(stderr, " [ %s ]", word->name);
	fprintf(stderr, "\n");
}

static int no_value(const char *value, const char *noun, const char *option)
{
	fprintf(stderr, "dualpi2: \"%s\" is no %s for \"%s\"\n", value, noun, option);
	return -1;
}

/* As iproute2 does, and the kernel with what it gets: what is below a unit is cut off. */
static int put_gain(struct nlmsghdr *message, int attribute, double hz)
{
	const double scaled = hz * GAIN_ONE;

	if (!(scaled >= 1 && scaled <= GAIN_MOST)) {
		fprintf(stderr, "dualpi2: a gain of %g Hz is out of range: from %g to %g\n", hz,
			1.0 / GAIN_ONE, (double)GAIN_MOST / GAIN_ONE);
		return -1;
	}
	return addattr32(message, TC_BUFFER, attribute, scaled);
}

static int parse_gain(struct nlmsghdr *message, int attribute, const char *option,
		      const char *value)
{
	char *end;
	const double hz = strtod(value, &end);

	if (end == value || *end)
		return no_value(value, "number", option);
	return put_gain(message, attribute, hz);
}

/* A time, or packets as in "2p" or "2pkt". */
static int parse_step(struct nlmsghdr *message, const char *value)
{
	unsigned int us;
	char *end;
	const unsigned long packets = strtoul(value, &end, 10);

	if (end != value && (!strcmp(end, "p") || !strcmp(end, "pkt") || !strcmp(end, "packet") ||
			     !strcmp(end, "packets"))) {
		if (packets > ~0U)
			return no_value(value, "number of packets", "step_thresh");
		return addattr32(message, TC_BUFFER, DUALPI2_STEP_PACKETS, packets);
	}
	if (get_time(&us, value))
		return no_value(value, "time or number of packets", "step_thresh");
	return addattr32(message, TC_BUFFER, DUALPI2_STEP_US, us);
}

/* An option of a table with a value; 1 if it is none of it, 0, or -1 after a message. */
static int parse_number(struct nlmsghdr *message, const struct tc_option *table, bool byte,
			const char *option, const char *given)
{
	const struct tc_option *found;
	__u64 value;
	__u8 small;
	bool set;

	found = tc_find(table, option, &set);
	if (!found)
		return 1;
	if (tc_get(found, given, &value))
		return no_value(given, found->type == TC_TIME ? "time" : "number", option);
	if (!tc_in_range("dualpi2", found, given, value))
		return -1;
	small = value;
	if (byte)
		return addattr_l(message, TC_BUFFER, found->attribute, &small, sizeof(small));
	return addattr32(message, TC_BUFFER, found->attribute, value);
}

/*
 * What the controller needs for round trips up to `most_us`, and usually `typical_us`; 0 is derived
 * from the other. RFC 9332, appendix A.1, with the gains 0.1 and 0.3: as floats, like iproute2's,
 * they are a little more, or 3 Hz would be cut off to 2.996.
 */
static int put_round_trips(struct nlmsghdr *message, __u32 most_us, __u32 typical_us)
{
	__u32 target_us = typical_us, tupdate_us;
	double most;

	if (!target_us)
		target_us = most_us / TYPICAL_TO_MOST ? most_us / TYPICAL_TO_MOST : 1;
	if (!most_us)
		most_us = typical_us < ~0U / TYPICAL_TO_MOST ? typical_us * TYPICAL_TO_MOST : ~0U;
	most = most_us / US_PER_SECOND;
	tupdate_us = most_us / 3 < target_us ? most_us / 3 : target_us;
	if (!tupdate_us)
		tupdate_us = 1;
	addattr32(message, TC_BUFFER, DUALPI2_TARGET, target_us);
	addattr32(message, TC_BUFFER, DUALPI2_TUPDATE, tupdate_us);
	if (put_gain(message, DUALPI2_ALPHA, 0.1f * tupdate_us / US_PER_SECOND / (most * most)))
		return -1;
	return put_gain(message, DUALPI2_BETA, 0.3f / most);
}

static int parse(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *message,
		 const char *device)
{
	unsigned int most_us = 0, typical_us = 0;
	const struct word *word;
	struct rtattr *nest;
	int err = 0;

	if (!argc)	/* the kernel refuses options that are none */
		return 0;
	nest = addattr_nest(message, TC_BUFFER, TCA_OPTIONS | NLA_F_NESTED);
	for (; argc > 0 && !err; argc--, argv++) {
		const char *option = *argv;
		const char *value;

		for (word = words; word->name && strcmp(option, word->name); word++)
			;
		if (word->name) {
			err = addattr_l(message, TC_BUFFER, word->attribute, &word->value, 1);
			continue;
		}
		if (!strcmp(option, "help")) {
			usage();
			return -1;
		}
		if (--argc <= 0) {
			fprintf(stderr, "dualpi2: \"%s\" is no option, or needs a value\n", option);
			return -1;
		}
		value = *++argv;
		if (!strcmp(option, "alpha")) {
			err = parse_gain(message, DUALPI2_ALPHA, option, value);
		} else if (!strcmp(option, "beta")) {
			err = parse_gain(message, DUALPI2_BETA, option, value);
		} else if (!strcmp(option, "step_thresh")) {
			err = parse_step(message, value);
		} else if (!strcmp(option, "max_rtt")) {
			if (get_time(&most_us, value) || !most_us)
				return no_value(value, "time", option);
		} else if (!strcmp(option, "typical_rtt")) {
			if (get_time(&typical_us, value) || !typical_us)
				return no_value(value, "time", option);
		} else {
			err = parse_number(message, numbers, false, option, value);
			if (err > 0)
				err = parse_number(message, bytes, true, option, value);
			if (err > 0) {
				fprintf(stderr, "dualpi2: there is no option \"%s\"\n", option);
				usage();
				return -1;
			}
		}
	}
	if (err)
		return err;
	if ((most_us || typical_us) && put_round_trips(message, most_us, typical_us))
		return -1;
	addattr_nest_end(message, nest);
	return 0;
}

static void print_word(const struct rtattr *attribute, int number)
{
	const struct word *word;

	if (!attribute)
		return;
	for (word = words; word->name; word++)
		if (word->attribute == number && word->value == *(const __u8 *)RTA_DATA(attribute))
			tc_print_flag(word->name, true);
}

static int print(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	static const int choices[] = {
		DUALPI2_DROP_OVERLOAD, DUALPI2_DROP_EARLY, DUALPI2_ECN_MASK, DUALPI2_SPLIT_GSO,
	};
	struct rtattr *table[DUALPI2_ATTRIBUTES + 1] = { };
	const struct tc_option *option;
	size_t choice;

	if (!given)
		return 0;
	parse_rtattr(table, DUALPI2_ATTRIBUTES, RTA_DATA(given), RTA_PAYLOAD(given));
	for (option = numbers; option->name; option++) {
		if (!table[option->attribute])
			continue;
		if (option->type == TC_TIME)
			tc_print_time(option->name, tc_value(table[option->attribute]));
		else
			tc_print_number(option->name, tc_value(table[option->attribute]),
					option->unit ? option->unit : "");
	}
	if (table[DUALPI2_ALPHA])
		tc_print_fraction("alpha", (double)tc_value(table[DUALPI2_ALPHA]) / GAIN_ONE);
	if (table[DUALPI2_BETA])
		tc_print_fraction("beta", (double)tc_value(table[DUALPI2_BETA]) / GAIN_ONE);
	if (table[DUALPI2_STEP_PACKETS])
		tc_print_number("step_thresh", tc_value(table[DUALPI2_STEP_PACKETS]), "p");
	if (table[DUALPI2_STEP_US])
		tc_print_time("step_thresh", tc_value(table[DUALPI2_STEP_US]));
	for (option = bytes; option->name; option++)
		if (table[option->attribute])
			tc_print_number(option->name,
					*(const __u8 *)RTA_DATA(table[option->attribute]),
					option->unit ? option->unit : "");
	for (choice = 0; choice < sizeof(choices) / sizeof(*choices); choice++)
		print_word(table[choices[choice]], choices[choice]);
	return 0;
}

static int print_statistics(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct dualpi2_xstats *stats = RTA_DATA(given);

	if (!given || RTA_PAYLOAD(given) < sizeof(*stats))
		return 0;
	tc_print_fraction("prob", stats->prob / 4294967295.0);
	tc_print_time("delay_c", stats->delay_c);
	tc_print_time("delay_l", stats->delay_l);
	tc_print_line();
	tc_print_number("pkts_in_c", stats->packets_in_c, "");
	tc_print_number("pkts_in_l", stats->packets_in_l, "");
	tc_print_number("maxq", stats->maxq, "");
	tc_print_line();
	tc_print_number("ecn_mark", stats->ecn_mark, "");
	tc_print_number("step_marks", stats->step_marks, "");
	tc_print_fraction("credit", stats->credit);
	tc_print_line();
	tc_print_number("memory_used", stats->memory_used, "");
	tc_print_number("max_memory_used", stats->max_memory_used, "");
	tc_print_number("memory_limit", stats->memory_limit, "");
	return 0;
}

struct qdisc_util dualpi2_qdisc_util = {
	.id		= "dualpi2",
	.parse_qopt	= parse,
	.print_qopt	= print,
	.print_xstats	= print_statistics,
};
