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

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
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
#define TC_BUFFER	1024	/* tc's limit for a message */
#define TC_ANY_OUTPUT	4	/* PRINT_ANY: text or JSON */
#define TC_NO_COLOR	6	/* COLOR_NONE */

struct rtattr *addattr_nest(struct nlmsghdr *message, int size, int type);
int addattr_nest_end(struct nlmsghdr *message, struct rtattr *nest);
int addattr32(struct nlmsghdr *message, int size, int type, __u32 value);
int parse_rtattr(struct rtattr *table[], int most, struct rtattr *first, int size);
int get_u32(__u32 *value, const char *word, int base);
int get_time(unsigned int *us, const char *word);
int get_rate64(__u64 *bytes_per_s, const char *word);
int print_color_uint(int output, int color, const char *key, const char *format,
		     unsigned int value);
int print_color_float(int output, int color, const char *key, const char *format, double value);
int print_color_bool(int output, int color, const char *key, const char *format, bool value);
int print_color_string(int output, int color, const char *key, const char *format,
		       const char *value);
bool is_json_context(void);

/* What an option is, on the command line; each is a u32 in netlink. */
enum tc_type {
	TC_NUMBER,
	TC_TIME,	/* in us */
	TC_RATE,	/* in bytes/s */
	TC_FLAG,	/* NAME or noNAME */
};

/**
 * struct tc_option - an option of a qdisc
 * @name:	on the command line and in JSON
 * @type:	how it is written
 * @attribute:	its netlink attribute
 * @unit:	printed behind a number, where it may also be written; or NULL
 */
struct tc_option {
	const char	*name;
	enum tc_type	type;
	int		attribute;
	const char	*unit;
};

static inline void tc_print_number(const char *name, __u32 value, const char *unit)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%u%s%s ", name, strcmp(unit, "%") ? unit : "",
		 strcmp(unit, "%") ? "" : "%%");
	print_color_uint(TC_ANY_OUTPUT, TC_NO_COLOR, name, format, value);
}

static inline void tc_print_fraction(const char *name, double value)
{
	char format[64];

	snprintf(format, sizeof(format), "%s %%g ", name);
	print_color_float(TC_ANY_OUTPUT, TC_NO_COLOR, name, format, value);
}

/* Microseconds in JSON, in text with the unit that suits. */
static inline void tc_print_time(const char *name, __u32 us)
{
	char text[64];

	if (is_json_context()) {
		print_color_uint(TC_ANY_OUTPUT, TC_NO_COLOR, name, NULL, us);
		return;
	}
	if (us >= 1000000)
		snprintf(text, sizeof(text), "%s %gs ", name, us / 1e6);
	else if (us >= 1000)
		snprintf(text, sizeof(text), "%s %gms ", name, us / 1e3);
	else
		snprintf(text, sizeof(text), "%s %uus ", name, us);
	print_color_string(TC_ANY_OUTPUT, TC_NO_COLOR, NULL, "%s", text);
}

/* Bytes per second in JSON, in text bits per second, as in tc. */
static inline void tc_print_rate_of(const char *name, __u32 bytes_per_s)
{
	double bits = bytes_per_s * 8.0;
	const char *unit = "";
	char text[64];

	if (is_json_context()) {
		print_color_uint(TC_ANY_OUTPUT, TC_NO_COLOR, name, NULL, bytes_per_s);
		return;
	}
	if (bits >= 1e9) {
		bits /= 1e9;
		unit = "G";
	} else if (bits >= 1e6) {
		bits /= 1e6;
		unit = "M";
	} else if (bits >= 1e3) {
		bits /= 1e3;
		unit = "K";
	}
	snprintf(text, sizeof(text), "%s %g%sbit ", name, bits, unit);
	print_color_string(TC_ANY_OUTPUT, TC_NO_COLOR, NULL, "%s", text);
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
			[TC_TIME] = " [ %s TIME ]",
			[TC_RATE] = " [ %s RATE ]",
			[TC_FLAG] = " [ %s | no%s ]",
		};

		fprintf(stderr, forms[options->type], options->name, options->name);
	}
	fprintf(stderr, "\n");
}

/* A number, with the option's unit or without; returns 0, or -1. */
static inline int tc_read_number(const struct tc_option *option, const char *word, __u32 *value)
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

static inline int tc_read_rate(const char *word, __u32 *bytes_per_s)
{
	__u64 rate;

	if (get_rate64(&rate, word) || rate > ~0U)
		return -1;
	*bytes_per_s = rate;
	return 0;
}

/* The value of an option that is no flag; returns 0, or -1. */
static inline int tc_read(const struct tc_option *option, const char *word, __u32 *value)
{
	if (option->type == TC_TIME)
		return get_time(value, word);
	if (option->type == TC_RATE)
		return tc_read_rate(word, value);
	return tc_read_number(option, word, value);
}

/* Put what the command line says into `message`; returns 0, or -1 after a message. */
static inline int tc_parse(const char *kind, const struct tc_option *options, int argc,
			   char **argv, struct nlmsghdr *message)
{
	struct rtattr *nest = addattr_nest(message, TC_BUFFER, TCA_OPTIONS | NLA_F_NESTED);

	for (; argc > 0; argc--, argv++) {
		const struct tc_option *option;
		const char *word = *argv;
		__u32 value;
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
			if (tc_read(option, *argv, &value)) {
				static const char * const kinds[] = {
					[TC_NUMBER] = "number",
					[TC_TIME] = "time",
					[TC_RATE] = "rate",
				};

				fprintf(stderr, "%s: \"%s\" is no %s for \"%s\"\n", kind, *argv,
					kinds[option->type], word);
				return -1;
			}
		}
		addattr32(message, TC_BUFFER, option->attribute, value);
	}
	addattr_nest_end(message, nest);
	return 0;
}

/* Print the options that the kernel tells of. */
static inline int tc_print(const struct tc_option *options, struct rtattr *given)
{
	struct rtattr *table[64] = { };

	if (!given)
		return 0;
	parse_rtattr(table, 63, RTA_DATA(given), RTA_PAYLOAD(given));
	for (; options->name; options++) {
		const struct rtattr *attribute = table[options->attribute];
		__u32 value;

		if (!attribute || RTA_PAYLOAD(attribute) < sizeof(value))
			continue;
		memcpy(&value, RTA_DATA(attribute), sizeof(value));
		if (options->type == TC_TIME)
			tc_print_time(options->name, value);
		else if (options->type == TC_RATE)
			tc_print_rate_of(options->name, value);
		else if (options->type == TC_FLAG)
			tc_print_flag(options->name, value);
		else
			tc_print_number(options->name, value, options->unit ? options->unit : "");
	}
	return 0;
}

#endif
