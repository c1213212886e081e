// SPDX-License-Identifier: GPL-2.0
/*
 * trace - a link that sends when a trace says so, with any queue before it
 *
 * Its only class, MAJOR:1, holds the queue. A packet is taken from it when its
 * first byte is sent, and leaves when its last one is. In between it is on its
 * way, and counts no more as queued.
 */
#include <linux/if_ether.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "../compat.h"
#include "trace.h"
#include "uapi.h"

/**
 * struct trace_sched - private data of the qdisc
 * @trace:	when it sends
 * @start:	when the trace begins for the first time, in ns of CLOCK_MONOTONIC
 * @next:	the opportunity to come, unless it is idle
 * @meter:	what is being sent
 * @idle:	whether the queue was empty when it was last looked at
 * @used:	opportunities that have sent something
 * @period:	of @trace, in ms; for statistics, which the recorder asks for at any time
 * @transit:	the packet that has been sent in part, or NULL
 * @queue:	the packets before it
 * @watchdog:	ends the wait for an opportunity
 */
struct trace_sched {
	struct trace		trace;
	s64			start;
	struct trace_place	next;
	struct trace_meter	meter;
	bool			idle;
	u32			used;
	u32			period;
	struct sk_buff		*transit;
	struct Qdisc		*queue;
	struct qdisc_watchdog	watchdog;
};

static int trace_qdisc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct trace_sched *q = qdisc_priv(sch);
	const unsigned int size = qdisc_pkt_len(skb);
	int err = qdisc_enqueue(skb, q->queue, to_free);

	if (err != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(err))
			qdisc_qstats_drop(sch);
		return err;
	}
	sch->qstats.backlog += size;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* What the packet counts on the link: not the Ethernet header, but that of Mahimahi's tunnel. */
static u32 trace_qdisc_size(const struct sk_buff *skb)
{
	return max_t(int, qdisc_pkt_len(skb) - ETH_HLEN, 0) + TRACE_TUNNEL_HEADER;
}

/* Wait for the next opportunity, or begin to use it; false while it is not there. */
static bool trace_qdisc_begin(struct trace_sched *q, s64 now)
{
	s64 at;

	if (q->idle)
		q->next = trace_after(&q->trace, now - q->start);
	q->idle = false;
	at = q->start + trace_time(&q->trace, &q->next);
	if (at > now) {
		qdisc_watchdog_schedule_ns(&q->watchdog, at);
		return false;
	}
	trace_next(&q->trace, &q->next);
	q->meter.credit = TRACE_OPPORTUNITY;
	return true;
}

static struct sk_buff *trace_qdisc_dequeue(struct Qdisc *sch)
{
	struct trace_sched *q = qdisc_priv(sch);
	const s64 now = ktime_get_ns();
	struct sk_buff *skb;

	do {
		if (!q->transit && !q->queue->q.qlen)
			goto idle;
		if (!q->meter.credit && !trace_qdisc_begin(q, now))
			return NULL;
		if (!q->transit) {
			q->transit = q->queue->dequeue(q->queue);
			if (!q->transit)
				goto idle;
			q->meter.unsent = trace_qdisc_size(q->transit);
			qdisc_qstats_backlog_dec(sch, q->transit);
			sch->q.qlen--;
		}
		q->used += q->meter.credit == TRACE_OPPORTUNITY;
	} while (!trace_send(&q->meter));

	skb = q->transit;
	q->transit = NULL;
	qdisc_bstats_update(sch, skb);
	return skb;

idle:	/* What the opportunity has left is lost. */
	q->meter.credit = 0;
	q->idle = true;
	return NULL;
}

static void trace_qdisc_reset(struct Qdisc *sch)
{
	struct trace_sched *q = qdisc_priv(sch);

	qdisc_reset(q->queue);
	kfree_skb(q->transit);
	q->transit = NULL;
	q->meter = (struct trace_meter){ };
	q->idle = true;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	qdisc_watchdog_cancel(&q->watchdog);
}

static const struct nla_policy trace_qdisc_policy[TCA_TRACE_MAX + 1] = {
	[TCA_TRACE_START]		= { .type = NLA_U64 },
	[TCA_TRACE_OPPORTUNITIES]	= NLA_POLICY_MIN_LEN(sizeof(u32)),
	[TCA_TRACE_FURTHER]		= NLA_POLICY_MIN_LEN(sizeof(u32)),
};

/* The trace with what an attribute has behind its first @kept numbers, or an error. */
static u32 *trace_qdisc_joined(const struct trace *trace, u32 kept, const struct nlattr *given,
			       struct netlink_ext_ack *extack)
{
	const u32 more = nla_len(given) / sizeof(u32);
	u32 *at;

	if (!trace_is_valid(nla_data(given), more, kept ? trace->at[kept - 1] : 0)) {
		NL_SET_ERR_MSG(extack, "an opportunity is before the one before it");
		return ERR_PTR(-EINVAL);
	}
	if (more > TRACE_MOST_OPPORTUNITIES - kept) {
		NL_SET_ERR_MSG(extack, "a trace has at most 16777216 opportunities");
		return ERR_PTR(-E2BIG);
	}
	at = kvmalloc_array(kept + more, sizeof(u32), GFP_KERNEL);
	if (!at)
		return ERR_PTR(-ENOMEM);
	if (kept)
		memcpy(at, trace->at, kept * sizeof(u32));
	memcpy(at + kept, nla_data(given), more * sizeof(u32));
	if (!at[kept + more - 1]) {
		kvfree(at);
		NL_SET_ERR_MSG(extack, "the last opportunity is at 0: a trace has a length");
		return ERR_PTR(-EINVAL);
	}
	return at;
}

static int trace_qdisc_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_TRACE_MAX + 1], *given;
	struct trace_sched *q = qdisc_priv(sch);
	const u32 *old = NULL;
	u32 kept = 0;
	u32 *at;
	int err;

	err = nla_parse_nested(tb, TCA_TRACE_MAX, opt, trace_qdisc_policy, extack);
	if (err < 0)
		return err;
	given = tb[TCA_TRACE_OPPORTUNITIES];
	if (given && tb[TCA_TRACE_FURTHER]) {
		NL_SET_ERR_MSG(extack, "opportunities and further are not for one command");
		return -EINVAL;
	}
	if (tb[TCA_TRACE_FURTHER]) {
		given = tb[TCA_TRACE_FURTHER];
		kept = q->trace.count;
	}
	if (!given && !q->trace.count) {
		NL_SET_ERR_MSG(extack, "trace needs opportunities");
		return -EINVAL;
	}
	if (given) {
		at = trace_qdisc_joined(&q->trace, kept, given, extack);
		if (IS_ERR(at))
			return PTR_ERR(at);
	}

	sch_tree_lock(sch);
	if (given) {
		old = q->trace.at;
		q->trace = (struct trace){ at, kept + nla_len(given) / sizeof(u32) };
		q->period = trace_period(&q->trace);
	}
	if (tb[TCA_TRACE_START])
		q->start = nla_get_u64(tb[TCA_TRACE_START]);
	q->next = trace_after(&q->trace, ktime_get_ns() - q->start);
	sch_tree_unlock(sch);
	kvfree(old);
	return 0;
}

static int trace_qdisc_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct trace_sched *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	q->queue = &noop_qdisc;
	q->idle = true;
	q->start = ktime_get_ns();
	if (!opt) {
		NL_SET_ERR_MSG(extack, "trace needs opportunities");
		return -EINVAL;
	}
	q->queue = qdisc_create_dflt(sch->dev_queue, &pfifo_qdisc_ops, TC_H_MAKE(sch->handle, 1),
				     extack);
	if (!q->queue) {
		q->queue = &noop_qdisc;
		return -ENOMEM;
	}
	qdisc_hash_add(q->queue, true);
	return trace_qdisc_change(sch, opt, extack);
}

static void trace_qdisc_destroy(struct Qdisc *sch)
{
	struct trace_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->queue);
	kvfree(q->trace.at);
}

static int trace_qdisc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct trace_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_TRACE_START, q->start, TCA_TRACE_UNSPEC)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int trace_qdisc_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct trace_sched *q = qdisc_priv(sch);
	struct tc_trace_xstats stats = {
		.opportunities = q->trace.count,
		.period_ms = q->period,
		.used = q->used,
		.unsent = q->transit ? q->meter.unsent : 0,
	};

	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static int trace_qdisc_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
				  struct tcmsg *tcm)
{
	const struct trace_sched *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->queue->handle;
	return 0;
}

static int trace_qdisc_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			     struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct trace_sched *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ?: &noop_qdisc, &q->queue);
	return 0;
}

static struct Qdisc *trace_qdisc_leaf(struct Qdisc *sch, unsigned long arg)
{
	const struct trace_sched *q = qdisc_priv(sch);

	return q->queue;
}

static unsigned long trace_qdisc_find(struct Qdisc *sch, u32 class)
{
	return TC_H_MIN(class) == 1;
}

static void trace_qdisc_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static const struct Qdisc_class_ops trace_qdisc_class_ops = {
	.graft	= trace_qdisc_graft,
	.leaf	= trace_qdisc_leaf,
	.find	= trace_qdisc_find,
	.walk	= trace_qdisc_walk,
	.dump	= trace_qdisc_dump_class,
};

static struct Qdisc_ops trace_qdisc_ops __read_mostly = {
	.id		= "trace",
	.cl_ops		= &trace_qdisc_class_ops,
	.priv_size	= sizeof(struct trace_sched),
	.enqueue	= trace_qdisc_enqueue,
	.dequeue	= trace_qdisc_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= trace_qdisc_init,
	.reset		= trace_qdisc_reset,
	.destroy	= trace_qdisc_destroy,
	.change		= trace_qdisc_change,
	.dump		= trace_qdisc_dump,
	.dump_stats	= trace_qdisc_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init trace_qdisc_module_init(void)
{
	return register_qdisc(&trace_qdisc_ops);
}

static void __exit trace_qdisc_module_exit(void)
{
	unregister_qdisc(&trace_qdisc_ops);
}

module_init(trace_qdisc_module_init);
module_exit(trace_qdisc_module_exit);

MODULE_DESCRIPTION("A link that sends when a trace says so, as Mahimahi's");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-trace");
