/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Predict: the algorithm, without a queue
 *
 * Finds exponential load transients, such as slow start, in what arrives at a
 * queue, measures how fast they double, and says when the load that is still to
 * come will reach a target: Jarvinen, "Congestion Control and Active Queue
 * Management During Flow Startup", 2019, section 3.4. The thesis publishes what
 * Predict does and not how; the how is a re-design, explained in
 * README.md.
 *
 * In slow start each packet that leaves the queue makes its sender send two, one
 * round trip later. So over any interval the arrivals are a multiple g of the
 * departures one round trip before, whether the link is idle in between or full.
 * What flows send first answers nothing, and does not count. The round trip is not
 * known: many lags are tried, log-spaced. A lag fits when the arrivals of the last
 * two intervals of its length are the same multiple of the departures before each.
 */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "../log2.h"

#define PREDICT_SECOND		1000000000ULL
/* History, in bins; three of the longest lag fit in it. */
#define PREDICT_BINS		4096
/* Longer pauses are the time before a transfer, and no part of a round trip. */
#define PREDICT_LONGEST_PAUSE	1024
/* Lags are from 2 bins on, each about 1/11 longer than the one before: the longest has 733. */
#define PREDICT_LAGS		64
/* A lag is tried so often while its length passes, and has to fit for a quarter of that. */
#define PREDICT_TRIES		16
#define PREDICT_FIT		4
/* Shorter lags than so many full packets take on the link are noise. */
#define PREDICT_GRAIN		4
/* So are arrivals that exceed the departures by fewer full packets in an interval. */
#define PREDICT_EXCESS		8
/* Growth is counted in 1/256; from one interval to the next it is between 1.3 and 3. */
#define PREDICT_ONE		256
#define PREDICT_LEAST_GROWTH	333
#define PREDICT_MOST_GROWTH	768
/* The first answer tells no more than 2, or it holds a part of the second; an eighth is noise. */
#define PREDICT_FIRST_GROWTH	576
/* Two intervals grow alike when they differ by no more than a quarter. */
#define PREDICT_ALIKE		4
/* Of so many lags the largest departures are remembered. */
#define PREDICT_PEAKS		8

/**
 * struct predict_bin - totals at the start of a bin
 * @arrived:	bytes
 * @answered:	of these, bytes beyond the initial windows of their flows
 * @departed:	bytes
 */
struct predict_bin {
	u64	arrived;
	u64	answered;
	u64	departed;
};

/**
 * struct predict_lag - how well a lag fits
 * @bins:	its length
 * @due:	bin at whose start it is tried next
 * @fitted:	for how long it has fitted, in bins
 * @growth:	within it, in 1/PREDICT_ONE
 * @first:	whether this is the growth of a first answer alone
 * @peaks:	in each of the last PREDICT_PEAKS times its length, the most departures within one,
 *		in bytes; the newest at @newest
 * @newest:	index in @peaks
 * @age:	of the newest, in bins
 */
struct predict_lag {
	u32	bins;
	u32	due;
	u32	fitted;
	u32	growth;
	bool	first;
	u64	peaks[PREDICT_PEAKS];
	u32	newest;
	u32	age;
};

/**
 * struct predict_transient - the transient that is under way
 * @lag:	time it takes to grow by @growth, in bins; 0 is none
 * @growth:	in 1/PREDICT_ONE
 * @until:	last bin for which this holds
 * @enough:	arrivals within @lag which mean that the target will be reached, in bytes
 */
struct predict_transient {
	u32	lag;
	u32	growth;
	u32	until;
	u64	enough;
};

/**
 * struct predict_link - what leaves the queue
 * @rate:	mean departure rate while packets wait, in bytes/s; 0 is unknown
 * @bytes:	departed in the measurement under way
 * @ns:		that it took
 * @last:	when the last packet left, in ns
 * @last_size:	of that packet
 * @waiting:	whether it left others behind
 * @idle:	whether nothing has arrived since it left none
 */
struct predict_link {
	u64	rate;
	u64	bytes;
	u64	ns;
	u64	last;
	u32	last_size;
	bool	waiting;
	bool	idle;
};

/**
 * struct predict - all that Predict knows of its queue
 * @history:	PREDICT_BINS bins; a bin's place is its number modulo their count
 * @bin_ns:	length of a bin
 * @target:	load that is to be reached and not exceeded, in percent of the link's rate
 * @rate:	the link's rate in bytes/s, or 0 to measure it
 * @bound_ns:	wait beyond which flows are signalled without a prediction, or 0 for none
 * @mtu:	a full packet, in bytes
 * @bin:	number of the current bin
 * @bin_end:	when it ends, in ns
 * @now:	totals up to now
 * @resumed:	bin in which the last pause of the link ended
 * @pause:	how long it was, in bins
 * @link:	what leaves
 * @lags:	all that are tried
 * @transient:	what was found
 * @detections:	transients so far
 */
struct predict {
	struct predict_bin		*history;
	u64				bin_ns;
	u32				target;
	u64				rate;
	u64				bound_ns;
	u32				mtu;
	u32				bin;
	u64				bin_end;
	struct predict_bin		now;
	u32				resumed;
	u32				pause;
	struct predict_link		link;
	struct predict_lag		lags[PREDICT_LAGS];
	struct predict_transient	transient;
	u32				detections;
};

/**
 * predict_restart() - forget all traffic
 * @p:		with its settings and an allocated history
 * @now:	in ns
 */
static inline void predict_restart(struct predict *p, u64 now)
{
	u32 bins = 2;
	int i;

	for (i = 0; i < PREDICT_BINS; i++)
		p->history[i] = (struct predict_bin){ };
	p->now = (struct predict_bin){ };
	p->bin = 0;
	p->bin_end = now + p->bin_ns;
	p->resumed = 0;
	p->pause = 0;
	p->link = (struct predict_link){ .last = now };
	p->transient = (struct predict_transient){ };
	p->detections = 0;
	for (i = 0; i < PREDICT_LAGS; i++) {
		p->lags[i] = (struct predict_lag){ .bins = bins, .due = 1 };
		bins += max_t(u32, 1, bins / 11);
	}
}

/* The link's rate in bytes/s; 0 as long as it is not known. */
static inline u64 predict_rate(const struct predict *p)
{
	return p->rate ? p->rate : p->link.rate;
}

/* What the link carries in so many bins, in bytes. */
static inline u64 predict_capacity(const struct predict *p, u32 bins)
{
	return mul_u64_u64_div_u64(predict_rate(p), bins * p->bin_ns, PREDICT_SECOND);
}

/* Binary logarithm of a growth, in 1/65536, rounded down. */
static inline u32 predict_log2(u32 growth)
{
	return (fixed_log2(growth) - fixed_log2(PREDICT_ONE)) >> (FIXED_LOG2_SHIFT - 16);
}

/* The time in which the load doubles, in bins. */
static inline u32 predict_doubling(const struct predict_transient *transient)
{
	if (!transient->lag)
		return 0;
	return div_u64((u64)transient->lag << 16, predict_log2(transient->growth));
}

/*
 * Totals at the start of a bin. Bins from @first on have not been written yet: nothing has arrived
 * since.
 */
static inline struct predict_bin predict_totals(const struct predict *p, u32 bin, u32 first)
{
	if ((s32)(bin - first) >= 0)
		return p->now;
	return p->history[bin % PREDICT_BINS];
}

/* Whether y grew to x by no less and no more than slow start does. */
static inline bool predict_grows(u64 x, u64 y)
{
	return x * PREDICT_ONE >= y * PREDICT_LEAST_GROWTH &&
	       x * PREDICT_ONE <= y * PREDICT_MOST_GROWTH;
}

/* Begin a new peak for each time that the lag's length has passed. */
static inline void predict_pass(struct predict_lag *lag, u32 bins)
{
	int i;

	lag->age += bins;
	for (i = 0; i < PREDICT_PEAKS && lag->age >= lag->bins; i++) {
		lag->age -= lag->bins;
		lag->newest = (lag->newest + 1) % PREDICT_PEAKS;
		lag->peaks[lag->newest] = 0;
	}
	lag->age %= lag->bins;
}

/* The most departures within a lag of late. */
static inline u64 predict_peak(const struct predict_lag *lag)
{
	u64 most = 0;
	int i;

	for (i = 0; i < PREDICT_PEAKS; i++)
		most = max_t(u64, most, lag->peaks[i]);
	return most;
}

/**
 * predict_fits() - whether the arrivals follow the departures of one lag before
 * @p:		state
 * @lag:	to try
 * @at:		the bin at whose start it is tried
 * @first:	first bin that is not in the history yet
 *
 * When nothing has left before the last interval but one, the last is the first answer to initial
 * windows: there is one growth only.
 *
 * Within a pause of the link, and for as long as it lasted after its end, shorter lags show only
 * the bursts of a round trip that is longer than they.
 *
 * Return: growth in 1/PREDICT_ONE, or 0 when it does not fit.
 */
static inline u32 predict_fits(const struct predict *p, struct predict_lag *lag, u32 at,
			       u32 first)
{
	const struct predict_bin t0 = predict_totals(p, at, first);
	const struct predict_bin t1 = predict_totals(p, at - lag->bins, first);
	const struct predict_bin t2 = predict_totals(p, at - 2 * lag->bins, first);
	const struct predict_bin t3 = predict_totals(p, at - 3 * lag->bins, first);
	u64 x0 = t0.answered - t1.answered, y0 = t1.departed - t2.departed;
	u64 x1 = t1.answered - t2.answered, y1 = t2.departed - t3.departed;
	u64 less, more;

	lag->peaks[lag->newest] = max_t(u64, lag->peaks[lag->newest], y0);
	if (x0 * PREDICT_ONE < predict_peak(lag) * PREDICT_LEAST_GROWTH)
		return 0;
	if (lag->bins < p->pause && at - p->resumed < p->pause)
		return 0;
	if (predict_capacity(p, lag->bins) < PREDICT_GRAIN * p->mtu)
		return 0;
	if (x0 < y0 + PREDICT_EXCESS * p->mtu || !predict_grows(x0, y0))
		return 0;
	lag->first = !x1 && y1 < 2 * p->mtu;
	if (lag->first)
		return x0 * PREDICT_ONE <= y0 * PREDICT_FIRST_GROWTH ?
		       div64_u64(x0 * PREDICT_ONE, y0) : 0;
	if (y1 < 2 * p->mtu || !predict_grows(x1, y1))
		return 0;
	while ((x0 | x1 | y0 | y1) >> 32) {	/* for the products */
		x0 >>= 1;
		x1 >>= 1;
		y0 >>= 1;
		y1 >>= 1;
	}
	less = min_t(u64, x0 * y1, x1 * y0);
	more = max_t(u64, x0 * y1, x1 * y0);
	if (more - less > more / PREDICT_ALIKE)
		return 0;
	return div64_u64((x0 + x1) * PREDICT_ONE, y0 + y1);
}

/* Try a lag at all bins up to @last for which it is due. */
static inline void predict_try(const struct predict *p, struct predict_lag *lag, u32 first,
			       u32 last)
{
	const u32 step = max_t(u32, 1, lag->bins / PREDICT_TRIES);

	for (; (s32)(last - lag->due) >= 0; lag->due += step) {
		if (lag->due - first > 4 * lag->bins) {	/* it sees nothing but a pause */
			lag->fitted = 0;
			predict_pass(lag, last + step - lag->due);
			lag->due = last + step;
			return;
		}
		predict_pass(lag, step);
		lag->growth = predict_fits(p, lag, lag->due, first);
		lag->fitted = lag->growth ? min_t(u32, lag->fitted + step, 64 * lag->bins) : 0;
	}
}

/*
 * The lag that has fitted for most of its own lengths, if any has for long enough. A first answer
 * only begins a transient: longer lags see it for longer, and a part of the next with it.
 */
static inline const struct predict_lag *predict_best(const struct predict *p)
{
	const struct predict_lag *best = NULL;
	int i;

	for (i = 0; i < PREDICT_LAGS; i++) {
		const struct predict_lag *lag = &p->lags[i];

		if (lag->fitted * PREDICT_FIT < lag->bins || lag->fitted < 2)
			continue;
		if (lag->first && p->transient.lag)
			continue;
		if (!best || lag->fitted * best->bins > best->fitted * lag->bins)
			best = lag;
	}
	return best;
}

/**
 * predict_enough() - arrivals that announce the target
 * @p:		settings and rate
 * @lag:	interval in which they arrive, in bins
 * @growth:	from one such interval to the next, in 1/PREDICT_ONE
 *
 * An exponential that has brought A within the last interval brings A g / (g - 1) in the next
 * doubling time, interval / log2 g: the feedback time of slow start. The target is what the link
 * carries in that time.
 *
 * Return: A in bytes.
 */
static inline u64 predict_enough(const struct predict *p, u32 lag, u32 growth)
{
	const u64 share = div_u64((u64)(growth - PREDICT_ONE) << 16, growth);

	return mul_u64_u64_div_u64(div_u64(predict_capacity(p, lag) * p->target, 100), share,
				   predict_log2(growth));
}

/* Look for a transient at the start of a bin. */
static inline void predict_look(struct predict *p)
{
	const struct predict_lag *best = predict_best(p);

	if (best) {
		p->detections += !p->transient.lag;
		p->transient = (struct predict_transient){
			.lag = best->bins,
			.growth = best->growth,
			.until = p->bin + max_t(u32, 1, best->bins / PREDICT_FIT),
			.enough = predict_enough(p, best->bins, best->growth),
		};
	} else if ((s32)(p->bin - p->transient.until) > 0) {
		p->transient.lag = 0;
	}
}

/* Go on to the bin that @now is in. */
static inline void predict_advance(struct predict *p, u64 now)
{
	const u32 first = p->bin + 1;
	u32 last, bin;
	int i;

	if (now < p->bin_end)
		return;
	last = p->bin + 1 + div64_u64(now - p->bin_end, p->bin_ns);
	for (i = 0; i < PREDICT_LAGS; i++)
		predict_try(p, &p->lags[i], first, last);
	bin = last - first < PREDICT_BINS ? first : last - PREDICT_BINS + 1;
	for (; (s32)(last - bin) >= 0; bin++)
		p->history[bin % PREDICT_BINS] = p->now;
	p->bin_end += (u64)(last - p->bin) * p->bin_ns;
	p->bin = last;
	predict_look(p);
}

/* A pause has ended: remember it, unless a longer one still hides what is shorter. */
static inline void predict_resume(struct predict *p, u64 now)
{
	const u64 rate = predict_rate(p);
	const u64 sending = rate ? div64_u64(p->link.last_size * PREDICT_SECOND, rate) : 0;
	u64 bins = 0;

	if (now > p->link.last + sending)
		bins = div64_u64(now - p->link.last - sending, p->bin_ns);
	if (bins < 2 || (bins < p->pause && p->bin - p->resumed < p->pause))
		return;
	/* What was before a longer one is forgotten, and it says nothing of round trips. */
	p->pause = bins > PREDICT_LONGEST_PAUSE ? 0 : bins;
	p->resumed = p->bin;
}

/**
 * predict_arrived() - count a packet that arrives
 * @p:		state, after predict_advance()
 * @now:	in ns
 * @size:	of the packet, in bytes
 * @answer:	whether it is beyond its flow's initial window
 */
static inline void predict_arrived(struct predict *p, u64 now, u32 size, bool answer)
{
	if (p->link.idle)
		predict_resume(p, now);
	p->link.idle = false;
	p->now.arrived += size;
	if (answer)
		p->now.answered += size;
}

/**
 * predict_departed() - count a packet that leaves, and measure the link's rate
 * @p:		state
 * @now:	in ns
 * @size:	of the packet, in bytes
 * @waiting:	whether others are left behind
 */
static inline void predict_departed(struct predict *p, u64 now, u32 size, bool waiting)
{
	struct predict_link *link = &p->link;

	predict_advance(p, now);
	p->now.departed += size;
	if (link->waiting) {
		link->bytes += link->last_size;
		link->ns += now - link->last;
	}
	if (link->bytes >= PREDICT_GRAIN * p->mtu && link->ns >= p->bin_ns) {
		const u64 rate = div64_u64(link->bytes * PREDICT_SECOND, link->ns);

		link->rate = link->rate ? (3 * link->rate + rate) / 4 : rate;
		link->bytes = 0;
		link->ns = 0;
	}
	link->last = now;
	link->last_size = size;
	link->waiting = waiting;
	link->idle = !waiting;
}

/**
 * predict_signals() - whether the load that is to come reaches the target
 * @p:		state, after predict_arrived()
 *
 * Return: true when each flow of the transient is to be signalled.
 */
static inline bool predict_signals(const struct predict *p)
{
	const struct predict_transient *transient = &p->transient;

	if (!transient->lag)
		return false;
	return p->now.arrived - predict_totals(p, p->bin - transient->lag, p->bin + 1).arrived >=
	       transient->enough;
}

/**
 * predict_load() - the load of the next doubling time
 * @p:		state
 *
 * Return: in percent of what the link carries, or 0 without a transient.
 */
static inline u32 predict_load(const struct predict *p)
{
	const struct predict_transient *transient = &p->transient;
	u64 arrived;

	if (!transient->lag || !transient->enough)
		return 0;
	arrived = p->now.arrived -
		  predict_totals(p, p->bin - transient->lag, p->bin + 1).arrived;
	return min_t(u64, div64_u64(arrived * p->target, transient->enough), U32_MAX);
}

/* How long a packet waits behind a queue of so many bytes, in ns; 0 while the rate is not known. */
static inline u64 predict_wait(const struct predict *p, u32 backlog)
{
	const u64 rate = predict_rate(p);

	return rate ? div64_u64(backlog * PREDICT_SECOND, rate) : 0;
}

/**
 * predict_exceeds() - whether the queue is longer than what is allowed to transients
 * @p:		state
 * @backlog:	the queue, in bytes
 *
 * Return: true when each flow is to be signalled, whatever the load that is to come.
 */
static inline bool predict_exceeds(const struct predict *p, u32 backlog)
{
	return p->bound_ns && predict_wait(p, backlog) > p->bound_ns;
}

/**
 * predict_feedback() - until when the answer to a signal will be seen, at the latest
 * @p:		state
 * @backlog:	the queue, in bytes
 *
 * The round trip is the lag. On a link that is full each lag fits; then it is no longer than the
 * link has been full, or there would have been a pause. The queue comes on top.
 *
 * Return: in bins from now.
 */
static inline u32 predict_feedback(const struct predict *p, u32 backlog)
{
	const u32 full = min_t(u32, p->bin - p->resumed, PREDICT_LONGEST_PAUSE);
	const u64 queue = min_t(u64, div64_u64(predict_wait(p, backlog), p->bin_ns), PREDICT_BINS);

	return max_t(u32, p->transient.lag, full) + queue + 1;
}
#endif
