/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link that sends when a trace says so: the arithmetic, without a queue
 *
 * The traces are those of Mahimahi (Netravali et al., "Mahimahi: Accurate
 * Record-and-Replay for HTTP", USENIX ATC 2015), and so are the rules, which its
 * LinkQueue keeps: each number is a millisecond in which 1504 bytes may leave;
 * equal ones are several such opportunities; after the last one the trace begins
 * again, with that one as time zero. A packet counts its IP length and four
 * bytes, the header of Mahimahi's tunnel, so that a full one of 1500 bytes takes
 * one opportunity. Several small ones share one; a packet may be sent in part and
 * go on with the next. What is unused is lost.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define TRACE_OPPORTUNITY	1504	/* bytes */
#define TRACE_TUNNEL_HEADER	4	/* bytes */
#define TRACE_MS		1000000	/* ns */

/**
 * struct trace - the opportunities of a trace
 * @at:		when each is, in ms; never decreasing, the last one above 0
 * @count:	how many there are, at least 1
 */
struct trace {
	const u32	*at;
	u32		count;
};

/**
 * struct trace_place - one of the opportunities of a trace that is repeated for ever
 * @round:	how often the trace has been through
 * @index:	of the opportunity in the trace
 */
struct trace_place {
	u64	round;
	u32	index;
};

/**
 * struct trace_meter - what is being sent
 * @credit:	bytes that the current opportunity has left
 * @unsent:	bytes that the current packet has left
 */
struct trace_meter {
	u32	credit;
	u32	unsent;
};

static inline u32 trace_period(const struct trace *trace)
{
	return trace->at[trace->count - 1];
}

/**
 * trace_time() - when an opportunity is
 * @trace:	trace
 * @place:	which one
 *
 * Return: time in ns since the trace began for the first time.
 */
static inline s64 trace_time(const struct trace *trace, const struct trace_place *place)
{
	return (s64)(place->round * trace_period(trace) + trace->at[place->index]) * TRACE_MS;
}

/**
 * trace_next() - go to the next opportunity
 * @trace:	trace
 * @place:	where one is
 */
static inline void trace_next(const struct trace *trace, struct trace_place *place)
{
	if (++place->index < trace->count)
		return;
	place->index = 0;
	place->round++;
}

/**
 * trace_after() - find the first opportunity after a time
 * @trace:	trace
 * @ns:		time in ns since the trace began for the first time; less than 0 is before that
 *
 * A packet that comes in the very moment of an opportunity comes too late for it.
 *
 * Return: where it is.
 */
static inline struct trace_place trace_after(const struct trace *trace, s64 ns)
{
	const u32 period = trace_period(trace);
	struct trace_place place = { };
	u32 low = 0, high = trace->count - 1, wanted;
	u64 ms;

	if (ns < 0)
		return place;
	ms = div_u64(ns, TRACE_MS) + 1;
	/* The end of a round is the beginning of the next: its opportunities come first. */
	place.round = div_u64(ms - 1, period);
	wanted = ms - place.round * period;
	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (trace->at[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	place.index = low;
	return place;
}

/**
 * trace_send() - send as much of the current packet as the current opportunity has room for
 * @meter:	both
 *
 * Return: whether all of the packet has been sent.
 */
static inline bool trace_send(struct trace_meter *meter)
{
	const u32 sent = min_t(u32, meter->credit, meter->unsent);

	meter->credit -= sent;
	meter->unsent -= sent;
	return !meter->unsent;
}

/**
 * trace_is_valid() - whether numbers are a trace, or go on with one
 * @at:		numbers
 * @count:	how many there are
 * @before:	the number before them, 0 at the beginning
 *
 * Return: true if none is below the one before it.
 */
static inline bool trace_is_valid(const u32 *at, u32 count, u32 before)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (at[i] < before)
			return false;
		before = at[i];
	}
	return true;
}

#endif
