// SPDX-License-Identifier: GPL-2.0
/*
 * pie_draft - the qdisc PIE as Linux had it before RFC 8033
 *
 * Signals at enqueue, FIFO, mark or drop. Two settings that were constants of
 * that Linux are options here: the burst allowance, and the probability above
 * which a packet is dropped even if it could be marked.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "../compat.h"
#include "../qdisc.h"
#include "pie.h"
#include "uapi.h"

/**
 * struct pie_sched - private data of the qdisc
 * @params:	of the algorithm
 * @vars:	of the algorithm
 * @stats:	counters; the other members are filled in when asked for
 * @mark_limit:	probability above which signals are drops, in percent
 * @ecn:	whether signals are marks where they can be
 * @timer:	of the updates
 * @sch:	the qdisc
 */
struct pie_sched {
	struct pie_params	params;
	struct pie_vars		vars;
	struct tc_pie_xstats	stats;
	u32			mark_limit;
	bool			ecn;
	struct hrtimer		timer;
	struct Qdisc		*sch;
};

static bool pie_draft_may_mark(const struct pie_sched *q)
{
	return q->ecn && q->vars.prob <= PIE_CERTAIN / 100 * q->mark_limit;
}

static int pie_draft_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct pie_sched *q = qdisc_priv(sch);
	const u32 mtu = clamp_t(u32, psched_mtu(qdisc_dev(sch)), 1, 1 << 20);

	if (unlikely(qdisc_qlen(sch) >= sch->limit)) {
		q->stats.overlimit++;
		q->stats.dropped++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (pie_signals(&q->params, &q->vars, sch->qstats.backlog, skb->len, mtu,
			get_random_u32())) {
		if (!pie_draft_may_mark(q) || !INET_ECN_set_ce(skb)) {
			q->stats.dropped++;
			return qdisc_drop(skb, sch, to_free);
		}
		q->stats.ecn_mark++;
	}
	q->stats.packets_in++;
	q->stats.maxq = max_t(u32, q->stats.maxq, qdisc_qlen(sch));
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *pie_draft_dequeue(struct Qdisc *sch)
{
	struct pie_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb)
		pie_departed(&q->params, &q->vars, sch->qstats.backlog, skb->len, ktime_get_ns());
	return skb;
}

static enum hrtimer_restart pie_draft_timer(struct hrtimer *timer)
{
	struct pie_sched *q = container_of(timer, struct pie_sched, timer);
	spinlock_t *lock;	/* of the whole tree of qdiscs */

	rcu_read_lock();
	lock = qdisc_tree_lock(q->sch);
	spin_lock(lock);
	pie_update(&q->params, &q->vars, q->sch->qstats.backlog);
	hrtimer_forward_now(timer, ns_to_ktime(q->params.tupdate));
	spin_unlock(lock);
	rcu_read_unlock();
	return HRTIMER_RESTART;
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation pie_draft_times = { .max = PIE_DRAFT_MOST_TIME };
static struct netlink_range_validation pie_draft_tupdates = {
	PIE_DRAFT_LEAST_TUPDATE, PIE_DRAFT_MOST_TIME
};

static const struct nla_policy pie_draft_policy[TCA_PIE_DRAFT_MAX + 1] = {
	[TCA_PIE_DRAFT_TARGET]		= NLA_POLICY_FULL_RANGE(NLA_U32, &pie_draft_times),
	[TCA_PIE_DRAFT_LIMIT]		= NLA_POLICY_MIN(NLA_U32, PIE_DRAFT_LEAST_LIMIT),
	[TCA_PIE_DRAFT_TUPDATE]		= NLA_POLICY_FULL_RANGE(NLA_U32, &pie_draft_tupdates),
	[TCA_PIE_DRAFT_ALPHA]		= NLA_POLICY_MAX(NLA_U32, PIE_DRAFT_MOST_GAIN),
	[TCA_PIE_DRAFT_BETA]		= NLA_POLICY_MAX(NLA_U32, PIE_DRAFT_MOST_GAIN),
	[TCA_PIE_DRAFT_ECN]		= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_PIE_DRAFT_BYTEMODE]	= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_PIE_DRAFT_MAX_BURST]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pie_draft_times),
	[TCA_PIE_DRAFT_MARK_LIMIT]	= NLA_POLICY_RANGE(NLA_U32, PIE_DRAFT_LEAST_MARK_LIMIT,
							   PIE_DRAFT_MOST_MARK_LIMIT),
	[TCA_PIE_DRAFT_RATE_SAMPLE]	= NLA_POLICY_MIN(NLA_U32, PIE_DRAFT_LEAST_RATE_SAMPLE),
};

static int pie_draft_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PIE_DRAFT_MAX + 1];
	struct pie_sched *q = qdisc_priv(sch);
	int err;

	err = nla_parse_nested(tb, TCA_PIE_DRAFT_MAX, opt, pie_draft_policy, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	if (tb[TCA_PIE_DRAFT_TARGET])
		q->params.target = us_to_ns(nla_get_u32(tb[TCA_PIE_DRAFT_TARGET]));
	if (tb[TCA_PIE_DRAFT_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_PIE_DRAFT_LIMIT]);
	if (tb[TCA_PIE_DRAFT_TUPDATE])
		q->params.tupdate = us_to_ns(nla_get_u32(tb[TCA_PIE_DRAFT_TUPDATE]));
	if (tb[TCA_PIE_DRAFT_ALPHA])
		q->params.alpha = nla_get_u32(tb[TCA_PIE_DRAFT_ALPHA]);
	if (tb[TCA_PIE_DRAFT_BETA])
		q->params.beta = nla_get_u32(tb[TCA_PIE_DRAFT_BETA]);
	if (tb[TCA_PIE_DRAFT_ECN])
		q->ecn = nla_get_u32(tb[TCA_PIE_DRAFT_ECN]);
	if (tb[TCA_PIE_DRAFT_BYTEMODE])
		q->params.bytemode = nla_get_u32(tb[TCA_PIE_DRAFT_BYTEMODE]);
	if (tb[TCA_PIE_DRAFT_MAX_BURST])
		q->params.max_burst = us_to_ns(nla_get_u32(tb[TCA_PIE_DRAFT_MAX_BURST]));
	if (tb[TCA_PIE_DRAFT_MARK_LIMIT])
		q->mark_limit = nla_get_u32(tb[TCA_PIE_DRAFT_MARK_LIMIT]);
	if (tb[TCA_PIE_DRAFT_RATE_SAMPLE])
		q->params.rate_sample = nla_get_u32(tb[TCA_PIE_DRAFT_RATE_SAMPLE]);
	qdisc_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int pie_draft_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct pie_sched *q = qdisc_priv(sch);
	int err = 0;

	q->params = (struct pie_params){
		.target = us_to_ns(20 * USEC_PER_MSEC),
		.tupdate = us_to_ns(30 * USEC_PER_MSEC),
		.max_burst = us_to_ns(100 * USEC_PER_MSEC),
		.alpha = 2,
		.beta = 20,
		.rate_sample = 10000,
	};
	q->mark_limit = 10;
	q->sch = sch;
	sch->limit = 1000;
	hrtimer_setup(&q->timer, pie_draft_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	if (opt)
		err = pie_draft_change(sch, opt, extack);
	if (err)
		return err;
	pie_restart(&q->params, &q->vars);
	/* As that Linux: half a second later. */
	qdisc_start_updates(&q->timer, ktime_add_ms(ktime_get(), 500), q->params.tupdate);
	return 0;
}

static void pie_draft_reset(struct Qdisc *sch)
{
	struct pie_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	pie_restart(&q->params, &q->vars);
}

static void pie_draft_destroy(struct Qdisc *sch)
{
	struct pie_sched *q = qdisc_priv(sch);

	hrtimer_cancel(&q->timer);
}

static int pie_draft_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct pie_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_PIE_DRAFT_TARGET, ns_to_us(q->params.target)) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_TUPDATE, ns_to_us(q->params.tupdate)) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_ALPHA, q->params.alpha) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_BETA, q->params.beta) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_ECN, q->ecn) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_BYTEMODE, q->params.bytemode) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_MAX_BURST, ns_to_us(q->params.max_burst)) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_MARK_LIMIT, q->mark_limit) ||
	    nla_put_u32(skb, TCA_PIE_DRAFT_RATE_SAMPLE, q->params.rate_sample)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int pie_draft_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct pie_sched *q = qdisc_priv(sch);
	struct tc_pie_xstats stats = q->stats;

	stats.prob = min_t(u64, div_u64(q->vars.prob << 27, PIE_CERTAIN >> 5), U32_MAX);
	stats.prob <<= 32;	/* in 1/2^64, of which there is no whole */
	stats.delay = ns_to_us(q->vars.delay);
	stats.dq_rate_estimating = 1;
	stats.avg_dq_rate = min_t(u64, q->vars.rate, U32_MAX);
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops pie_draft_ops __read_mostly = {
	.id		= "pie_draft",
	.priv_size	= sizeof(struct pie_sched),
	.enqueue	= pie_draft_enqueue,
	.dequeue	= pie_draft_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= pie_draft_init,
	.reset		= pie_draft_reset,
	.destroy	= pie_draft_destroy,
	.change		= pie_draft_change,
	.dump		= pie_draft_dump,
	.dump_stats	= pie_draft_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init pie_draft_module_init(void)
{
	return register_qdisc(&pie_draft_ops);
}

static void __exit pie_draft_module_exit(void)
{
	unregister_qdisc(&pie_draft_ops);
}

module_init(pie_draft_module_init);
module_exit(pie_draft_module_exit);

MODULE_DESCRIPTION("PIE before RFC 8033");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-pie_draft");
