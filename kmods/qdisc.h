/* SPDX-License-Identifier: GPL-2.0 */
/* What qdiscs have in common whose packets stand in one FIFO, and whose times are in ns. */
#ifndef SANDGLASS_QDISC_H
#define SANDGLASS_QDISC_H

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/types.h>
#include <net/sch_generic.h>
#include <vdso/time64.h>

static inline s64 us_to_ns(u32 us)
{
	return (s64)us * NSEC_PER_USEC;
}

static inline u32 ns_to_us(u64 ns)
{
	return div_u64(ns, NSEC_PER_USEC);
}

/**
 * qdisc_take_head() - the packet at the head, if any; it counts no more as queued
 * @sch:	qdisc
 *
 * Return: the packet, or NULL.
 */
static inline struct sk_buff *qdisc_take_head(struct Qdisc *sch)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

	if (skb)
		qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/**
 * qdisc_tree_lock() - the lock of the whole tree that a qdisc stands in
 * @sch:	qdisc, in a section of RCU
 *
 * For those that have no RTNL, which sch_tree_lock() wants: a timer, and the recorder's that asks
 * for statistics.
 *
 * Return: the lock, which is taken with softirqs off.
 */
static inline spinlock_t *qdisc_tree_lock(struct Qdisc *sch)
{
	return qdisc_lock(qdisc_root_sleeping(sch));
}

/**
 * qdisc_start_updates() - have a timer go off at whole multiples of an interval
 * @timer:	of CLOCK_MONOTONIC and HRTIMER_MODE_ABS_PINNED_SOFT; its function goes on with
 *		hrtimer_forward_now()
 * @from:	the first time is after this one
 * @interval:	between two times, in ns
 *
 * A timer of the kernel's wheel would go off a tick late each time, and more from 64 ticks on. The
 * multiples are those of the clock: when a qdisc was made, to the nanosecond, shows in no update.
 */
static inline void qdisc_start_updates(struct hrtimer *timer, ktime_t from, u64 interval)
{
	hrtimer_set_expires(timer, 0);
	hrtimer_forward(timer, from, ns_to_ktime(interval));
	hrtimer_start_expires(timer, HRTIMER_MODE_ABS_PINNED_SOFT);
}

/**
 * qdisc_report_drops() - tell the qdiscs above what ->dequeue() has dropped
 * @sch:	qdisc
 * @packet:	what ->dequeue() is about to return, or NULL
 * @packets:	dropped since the last report
 * @bytes:	of these
 *
 * The packet still counts: a queue that is empty is taken off the lists above, which happens
 * again when the packet leaves. Only since the spring of 2025 do HTB and others bear that
 * (sch_htb: make htb_qlen_notify() idempotent).
 */
static inline void qdisc_report_drops(struct Qdisc *sch, const struct sk_buff *packet,
				      unsigned int packets, unsigned int bytes)
{
	if (!packets)
		return;
	sch->q.qlen += !!packet;
	qdisc_tree_reduce_backlog(sch, packets, bytes);
	sch->q.qlen -= !!packet;
}

/**
 * qdisc_drop_excess() - drop from the head what a shorter limit leaves no room for
 * @sch:	qdisc, with the new limit and the tree locked
 */
static inline void qdisc_drop_excess(struct Qdisc *sch)
{
	unsigned int packets = 0, bytes = 0;

	while (sch->q.qlen > sch->limit) {
		struct sk_buff *skb = qdisc_take_head(sch);

		if (!skb)
			break;
		packets++;
		bytes += qdisc_pkt_len(skb);
		rtnl_qdisc_drop(skb, sch);
	}
	qdisc_tree_reduce_backlog(sch, packets, bytes);
}

#endif
