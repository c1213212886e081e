/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tc plugins: what they are to tc, and options as a table
 *
 * tc looks for q_KIND.so in its library directory ($TC_LIB_DIR) and takes
 * KIND_qdisc_util from it. Debian has no package with the headers of such
 * plugins, so what is used of tc is declared here; it is the same from
 * iproute2 5.x on.
 */
#ifndef SANDGLASS_TC_H
#define SANDGLASS_TC_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* for dladdr1() */
#endif
#include <dlfcn.h>
#include <link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct qdisc_util - a kind of qdisc, as tc knows it
 * @next:	tc's own
 * @id:		its name
 * @parse_qopt:	from words of the command line to netlink attributes
 * @print_qopt:	from netlink attributes to text or JSON
 * @print_xstats: the same for statistics
 * @parse_copt:	as @parse_qopt, of a class
 * @print_copt:	as @print_qopt, of a class
 * @has_block:	whether it has a block of filters
 */
struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *util, int argc, char **argv,
			  struct nlmsghdr *message, const char *device);
	int (*print_qopt)(const struct qdisc_util *util, FILE *file, struct rtattr *given);
	int (*print_xstats)(const struct qdisc_util *util, FILE *file, struct rtattr *given);
	int (*parse_copt)(const struct qdisc_util *util, int argc, char **argv,
			  struct nlmsghdr *message, const char *device);
	int (*print_copt)(const struct qdisc_util *util, FILE *file, struct rtattr *given);
	int (*has_block)(const struct qdisc_util *util, struct rtattr *given, __u32 block,
			 bool *has);
};

/* Functions and types of tc. */
#define TC_BUFFER	65000	/* a little less than tc's limit for a message */
#define TC_ANY_OUTPUT	4	/* PRINT_ANY: text or JSON */
#define TC_NO_COLOR	6	/* COLOR_NONE */

struct rtattr *addattr_nest(struct nlmsghdr *message, int size, int type);
int addattr_nest_end(struct nlmsghdr *message, struct rtattr *nest);
int addattr32(struct nlmsghdr *message, int size, int type, __u32 value);
int addattr64(struct nlmsghdr *message, int size, int type, __u64 value);
int addattr_l(struct nlmsghdr *message, int size, int type, const void *data, int length);
int parse_rtattr(struct rtattr *table[], int most, struct rtattr *first, int size);
int get_u32(__u32 *value, const char *word, int base);
int get_u64(__u64 *value, const char *word, int base);
int get_time(unsigned int *us, const char *word);
int get_rate64(__u64 *rate, const char *word);
int print_color_uint(int output, int color, const char *key, const char *format,
		     unsigned int value);
int print_color_lluint(int output, int color, const char *key, const char *format,
		       unsigned long long value);
int print_color_float(int output, int color, const char *key, const char *format, double value);
int print_color_bool(int output, int color, const char *key, const char *format, bool value);
int print_color_string(int output, int color, const char *key, const char *format,
		       const char *value);
void tc_print_rate(int output, const char *key, const char *format, unsigned long long rate);
bool is_json_context(void);

#define TC_FRACTION_ONE	0x80000000U

/*
 * What an option is, on the command line; each is a u32 in netlink, but those of 64 bits a u64, and
 * a list as many u32.
 */
enum tc_type {
	TC_NUMBER,
	TC_LONG,	/* a number of 64 bits */
	TC_LIST,	/* numbers with commas between */
	TC_TIME,	/* in us */
	TC_RATE,	/* in byte/s, of 64 bits */
	TC_FRACTION,	/* from 0 to 1, in 1/TC_FRACTION_ONE */
	TC_FLAG,	/* NAME or noNAME */
};

/**
 * struct tc_option - an option of a qdisc
 * @name:	on the command line and in JSON
 * @type:	how it is written
 * @attribute:	its netlink attribute
 * @unit:	printed behind a number, where it may also be written; or NULL
 * @least:	that the qdisc takes, as in netlink; it checks too, but does not name the option
 * @most:	as @least; 0 is all that the attribute holds
 */
struct tc_option {
	const char	*name;
	enum tc_type	type;
	int		attribute;
	const char	*unit;
	__u64		least;
	__u64		most;
};

/**
 * struct tc_plugin - a kind of qdisc with its table of options
 * @util:	what tc sees, by the name KIND_qdisc_util; tc_parse() and tc_print() read @options
 * @options:	up to one without a name
 */
struct tc_plugin {
	struct qdisc_util	util;
	const struct tc_option	*options;
};

#pragma weak pfifo_qdisc_util
extern const struct qdisc_util pfifo_qdisc_util;

/*
 * tc has no version of what it shares with its plugins, and calls whatever stands where it expects
 * a function. So the plugin ends tc, with a word, where tc's own kinds are not laid out as here.
 */
static void __attribute__((constructor)) tc_check(void)
{
	void *symbol = NULL;
	Dl_info found;

	if (&pfifo_qdisc_util &&
	    dladdr1(&pfifo_qdisc_util, &found, &symbol, RTLD_DL_SYMENT) && symbol &&
	    ((const ElfW(Sym) *)symbol)->st_size == sizeof(struct qdisc_util) &&
	    !strcmp(pfifo_qdisc_util.id, "pfifo"))
		return;
	fputs("these plugins do not fit this tc: its struct qdisc_util is another\n", stderr);
	exit(1);
}

static inline const struct tc_option *tc_options_of(const struct qdisc_util *util)
{
	return ((const struct tc_plugin *)util)->options;
}

static inline void tc_print_number(const char *name, __u32 value, const char *unit)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%u%s%s ", name, strcmp(unit, "%") ? unit : "",
		 strcmp(unit, "%") ? "" : "%%");
	print_color_uint(TC_ANY_OUTPUT, TC_NO_COLOR, name, format, value);
}

static inline void tc_print_long(const char *name, __u64 value)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%llu ", name);
	print_color_lluint(TC_ANY_OUTPUT, TC_NO_COLOR, name, format, value);
}

static inline void tc_print_fraction(const char *name, double value)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%g ", name);
	print_color_float(TC_ANY_OUTPUT, TC_NO_COLOR, name, format, value);
}

/* A share that the kernel counts in 1/2^64. */
static inline void tc_print_probability(const char *name, __u64 value)
{
	tc_print_fraction(name, value / 18446744073709551616.0);
}

/* Bytes per second in JSON, in text bits with the unit that suits. */
static inline void tc_print_speed(const char *name, __u64 rate)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%s ", name);
	tc_print_rate(TC_ANY_OUTPUT, name, format, rate);
}

/* Microseconds with the unit that suits. */
static inline void tc_write_time(char *text, size_t size, __u32 us)
{
	if (us >= 1000000)
		snprintf(text, size, "%gs", us / 1e6);
	else if (us >= 1000)
		snprintf(text, size, "%gms", us / 1e3);
	else
		snprintf(text, size, "%uus", us);
}

/* Microseconds in JSON, in text with the unit that suits. */
static inline void tc_print_time(const char *name, __u32 us)
{
	char text[32];

	if (is_json_context()) {
		print_color_uint(TC_ANY_OUTPUT, TC_NO_COLOR, name, NULL, us);
		return;
	}
	tc_write_time(text, sizeof(text), us);
	print_color_string(TC_ANY_OUTPUT, TC_NO_COLOR, NULL, "%s ", name);
	print_color_string(TC_ANY_OUTPUT, TC_NO_COLOR, NULL, "%s ", text);
}

/* Text names only what is set. */
static inline void tc_print_flag(const char *name, bool set)
{
	if (is_json_context())
		print_color_bool(TC_ANY_OUTPUT, TC_NO_COLOR, name, NULL, set);
	else if (set)
		print_color_string(TC_ANY_OUTPUT, TC_NO_COLOR, NULL, "%s ", name);
}

/* Statistics go on in a new line, as those of tc's own qdiscs. */
static inline void tc_print_line(void)
{
	if (!is_json_context())
		printf("\n  ");
}

/* The option called `word`; for a flag `set` says whether it was without "no". */
static inline const struct tc_option *tc_find(const struct tc_option *options, const char *word,
					      bool *set)
{
	for (; options->name; options++) {
		*set = true;
		if (!strcmp(word, options->name))
			return options;
		*set = false;
		if (options->type == TC_FLAG && !strncmp(word, "no", 2) &&
		    !strcmp(word + 2, options->name))
			return options;
	}
	return NULL;
}

static inline void tc_usage(const char *kind, const struct tc_option *options)
{
	fprintf(stderr, "Usage: ... %s", kind);
	for (; options->name; options++) {
		static const char * const forms[] = {
			[TC_NUMBER] = " [ %s NUMBER ]",
			[TC_LONG] = " [ %s NUMBER ]",
			[TC_LIST] = " [ %s NUMBER,... ]",
			[TC_TIME] = " [ %s TIME ]",
			[TC_RATE] = " [ %s RATE ]",
			[TC_FRACTION] = " [ %s FRACTION ]",
			[TC_FLAG] = " [ %s | no%s ]",
		};

		fprintf(stderr, forms[options->type], options->name, options->name);
	}
	fprintf(stderr, "\n");
}

static inline int tc_get_fraction(__u32 *value, const char *word)
{
	char *end;
	const double given = strtod(word, &end);

	if (end == word || *end || !(given >= 0 && given <= 1))
		return -1;
	*value = given * TC_FRACTION_ONE + 0.5;
	return 0;
}

/* A number, with the option's unit or without; 0, or -1 if it is none. */
static inline int tc_get_number(const struct tc_option *option, const char *word, __u32 *value)
{
	size_t unit = option->unit ? strlen(option->unit) : 0, length = strlen(word);
	char number[32];

	if (unit && length > unit && !strcmp(word + length - unit, option->unit))
		length -= unit;
	if (length >= sizeof(number))
		return -1;
	memcpy(number, word, length);
	number[length] = '\0';
	return get_u32(value, number, 0);
}

/* The value of an option that is no flag, from `word`; 0, or -1 if it is none. */
static inline int tc_get(const struct tc_option *option, const char *word, __u64 *value)
{
	__u32 number = 0;
	int err = -1;

	switch (option->type) {
	case TC_RATE:
		return get_rate64(value, word);
	case TC_LONG:
		return get_u64(value, word, 0);
	case TC_TIME:
		err = get_time(&number, word);
		break;
	case TC_FRACTION:
		err = tc_get_fraction(&number, word);
		break;
	case TC_NUMBER:
		err = tc_get_number(option, word, &number);
		break;
	case TC_LIST:
	case TC_FLAG:
		break;
	}
	*value = number;
	return err;
}

/* Put a list into `message`, as far as it is one; 0, or -1 if it is none. */
static inline int tc_put_list(struct nlmsghdr *message, const struct tc_option *option,
			      const char *word)
{
	__u32 numbers[TC_BUFFER / sizeof(__u32)];
	size_t count = 0;
	char *end;

	do {
		const unsigned long number = strtoul(word, &end, 10);

		if (end == word || *word == '-' || number > ~0U ||
		    count == sizeof(numbers) / sizeof(*numbers))
			return -1;
		numbers[count++] = number;
		word = end + 1;
	} while (*end == ',');
	if (*end)
		return -1;
	return addattr_l(message, TC_BUFFER, option->attribute, numbers, count * sizeof(*numbers));
}

/* A value as it may be written on the command line. */
static inline void tc_write(char *text, size_t size, const struct tc_option *option, __u64 value)
{
	switch (option->type) {
	case TC_TIME:
		tc_write_time(text, size, value);
		break;
	case TC_RATE:
		snprintf(text, size, "%llubit", value * 8ULL);
		break;
	case TC_FRACTION:
		snprintf(text, size, "%g", (double)value / TC_FRACTION_ONE);
		break;
	default:
		snprintf(text, size, "%llu%s", value + 0ULL, option->unit ? option->unit : "");
	}
}

/* Whether the qdisc takes this value, which is `word` on the command line; if not, a message. */
static inline bool tc_in_range(const char *kind, const struct tc_option *option, const char *word,
			       __u64 value)
{
	const bool wide = option->type == TC_RATE || option->type == TC_LONG;
	const __u64 most = option->most ? option->most : wide ? ~0ULL : ~0U;
	char from[32], to[32];

	if (value >= option->least && value <= most)
		return true;
	tc_write(from, sizeof(from), option, option->least);
	tc_write(to, sizeof(to), option, most);
	fprintf(stderr, "%s: %s \"%s\" is out of range: from %s to %s\n", kind, option->name, word,
		from, to);
	return false;
}

/* Put what the command line says into `message`; returns 0, or -1 after a message. */
static inline int tc_parse(const struct qdisc_util *util, int argc, char **argv,
			   struct nlmsghdr *message, const char *device)
{
	const struct tc_option *options = tc_options_of(util);
	const char *kind = util->id;
	struct rtattr *nest = addattr_nest(message, TC_BUFFER, TCA_OPTIONS | NLA_F_NESTED);

	for (; argc > 0; argc--, argv++) {
		static const char * const names[] = {
			[TC_NUMBER] = "number",
			[TC_LONG] = "number",
			[TC_LIST] = "list of numbers",
			[TC_TIME] = "time",
			[TC_RATE] = "rate",
			[TC_FRACTION] = "fraction",
		};
		const struct tc_option *option;
		const char *word = *argv;
		__u64 value;
		bool set;

		option = tc_find(options, word, &set);
		if (!option) {
			if (strcmp(word, "help"))
				fprintf(stderr, "%s: there is no option \"%s\"\n", kind, word);
			tc_usage(kind, options);
			return -1;
		}
		if (option->type == TC_FLAG) {
			value = set;
		} else {
			if (--argc <= 0) {
				fprintf(stderr, "%s: \"%s\" needs a value\n", kind, word);
				return -1;
			}
			argv++;
			if (option->type == TC_LIST && !tc_put_list(message, option, *argv))
				continue;
			if (tc_get(option, *argv, &value)) {
				fprintf(stderr, "%s: \"%s\" is no %s for \"%s\"\n", kind, *argv,
					names[option->type], word);
				return -1;
			}
			if (!tc_in_range(kind, option, *argv, value))
				return -1;
		}
		if (option->type == TC_RATE || option->type == TC_LONG)
			addattr64(message, TC_BUFFER, option->attribute, value);
		else
			addattr32(message, TC_BUFFER, option->attribute, value);
	}
	addattr_nest_end(message, nest);
	return 0;
}

/* The value of an attribute: a u32, or a u64 for a rate and a long number. */
static inline __u64 tc_value(const struct rtattr *attribute)
{
	__u32 value = 0;
	__u64 rate = 0;

	if (RTA_PAYLOAD(attribute) == sizeof(rate)) {
		memcpy(&rate, RTA_DATA(attribute), sizeof(rate));
		return rate;
	}
	if (RTA_PAYLOAD(attribute) == sizeof(value))
		memcpy(&value, RTA_DATA(attribute), sizeof(value));
	return value;
}

/* Print the options that the kernel tells of. */
static inline int tc_print(const struct qdisc_util *util, FILE *file, struct rtattr *given)
{
	const struct tc_option *options = tc_options_of(util);
	struct rtattr *table[64] = { };

	if (!given)
		return 0;
	parse_rtattr(table, 63, RTA_DATA(given), RTA_PAYLOAD(given));
	for (; options->name; options++) {
		const struct rtattr *attribute = table[options->attribute];
		__u64 value;

		if (!attribute)
			continue;
		value = tc_value(attribute);
		switch (options->type) {
		case TC_LIST:
			break;
		case TC_LONG:
			tc_print_long(options->name, value);
			break;
		case TC_NUMBER:
			tc_print_number(options->name, value, options->unit ? options->unit : "");
			break;
		case TC_TIME:
			tc_print_time(options->name, value);
			break;
		case TC_RATE:
			tc_print_speed(options->name, value);
			break;
		case TC_FRACTION:
			tc_print_fraction(options->name, (double)value / TC_FRACTION_ONE);
			break;
		case TC_FLAG:
			tc_print_flag(options->name, value);
			break;
		}
	}
	return 0;
}

#endif
