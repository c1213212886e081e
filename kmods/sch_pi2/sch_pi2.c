// SPDX-License-Identifier: GPL-2.0
/*
 * pi2 - the qdisc PI2: FIFO, signals at enqueue, mark or drop
 *
 * The queueing delay is the sojourn time of the packet at the head. The authors'
 * first module divided the backlog by a measured rate of departure, as PIE did
 * then; their DualPI2 (RFC 9332) reads time stamps. So does this: it is exact at
 * every rate, while that measurement takes place only while 10 kB are queued.
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
#include "pi2.h"
#include "uapi.h"

/**
 * struct pi2_sched - private data of the qdisc
 * @params:	of the algorithm
 * @vars:	of the algorithm
 * @stats:	counters; the other members are filled in when asked for
 * @interval:	between two updates, in ns
 * @ecn:	whether signals are marks where they can be
 * @timer:	of the updates
 * @sch:	the qdisc
 */
struct pi2_sched {
	struct pi2_params	params;
	struct pi2_vars		vars;
	struct tc_pi2_xstats	stats;
	u64			interval;
	bool			ecn;
	struct hrtimer		timer;
	struct Qdisc		*sch;
};

/**
 * struct pi2_stamp - what the qdisc notes on a packet
 * @enqueued:	when it arrived, in ns
 */
struct pi2_stamp {
	u64	enqueued;
};

static struct pi2_stamp *pi2_stamp_of(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct pi2_stamp));
	return (struct pi2_stamp *)qdisc_skb_cb(skb)->data;
}

static u64 pi2_head_sojourn(struct Qdisc *sch)
{
	const struct sk_buff *head = qdisc_peek_head(sch);

	return head ? ktime_get_ns() - pi2_stamp_of(head)->enqueued : 0;
}

static int pi2_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct pi2_sched *q = qdisc_priv(sch);
	const u32 mtu = clamp_t(u32, psched_mtu(qdisc_dev(sch)), 1, 1 << 20);

	if (unlikely(qdisc_qlen(sch) >= sch->limit)) {
		q->stats.overlimit++;
		q->stats.dropped++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (pi2_signals(&q->vars, sch->qstats.backlog, mtu, get_random_u32(),
			get_random_u32())) {
		if (!q->ecn || !INET_ECN_set_ce(skb)) {
			q->stats.dropped++;
			return qdisc_drop(skb, sch, to_free);
		}
		q->stats.ecn_mark++;
	}
	pi2_stamp_of(skb)->enqueued = ktime_get_ns();
	q->stats.packets_in++;
	q->stats.maxq = max_t(u32, q->stats.maxq, qdisc_qlen(sch) + 1);
	return qdisc_enqueue_tail(skb, sch);
}

static enum hrtimer_restart pi2_timer(struct hrtimer *timer)
{
	struct pi2_sched *q = container_of(timer, struct pi2_sched, timer);
	spinlock_t *lock;	/* of the whole tree of qdiscs */

	rcu_read_lock();
	lock = qdisc_tree_lock(q->sch);
	spin_lock(lock);
	pi2_update(&q->params, &q->vars, pi2_head_sojourn(q->sch));
	hrtimer_forward_now(timer, ns_to_ktime(q->interval));
	spin_unlock(lock);
	rcu_read_unlock();
	return HRTIMER_RESTART;
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation pi2_targets = { .max = PI2_MOST_TARGET };
static struct netlink_range_validation pi2_tupdates = { PI2_LEAST_TUPDATE, PI2_MOST_TUPDATE };

static const struct nla_policy pi2_policy[TCA_PI2_MAX + 1] = {
	[TCA_PI2_TARGET]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pi2_targets),
	[TCA_PI2_LIMIT]		= NLA_POLICY_MIN(NLA_U32, PI2_LEAST_LIMIT),
	[TCA_PI2_TUPDATE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &pi2_tupdates),
	[TCA_PI2_ALPHA]		= NLA_POLICY_MAX(NLA_U32, PI2_MOST_GAIN),
	[TCA_PI2_BETA]		= NLA_POLICY_MAX(NLA_U32, PI2_MOST_GAIN),
	[TCA_PI2_ECN]		= NLA_POLICY_MAX(NLA_U32, 1),
};

static int pi2_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PI2_MAX + 1];
	struct pi2_sched *q = qdisc_priv(sch);
	int err;

	err = nla_parse_nested(tb, TCA_PI2_MAX, opt, pi2_policy, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	if (tb[TCA_PI2_TARGET])
		q->params.target = us_to_ns(nla_get_u32(tb[TCA_PI2_TARGET]));
	if (tb[TCA_PI2_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_PI2_LIMIT]);
	if (tb[TCA_PI2_TUPDATE])
		q->interval = us_to_ns(nla_get_u32(tb[TCA_PI2_TUPDATE]));
	if (tb[TCA_PI2_ALPHA])
		q->params.alpha = nla_get_u32(tb[TCA_PI2_ALPHA]);
	if (tb[TCA_PI2_BETA])
		q->params.beta = nla_get_u32(tb[TCA_PI2_BETA]);
	if (tb[TCA_PI2_ECN])
		q->ecn = nla_get_u32(tb[TCA_PI2_ECN]);
	qdisc_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

/* Defaults: 20 ms, 32 ms, 0.3125 Hz and 3.125 Hz; README.md says where they come from. */
static int pi2_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct pi2_sched *q = qdisc_priv(sch);
	int err = 0;

	q->params = (struct pi2_params){
		.target = us_to_ns(20 * USEC_PER_MSEC),
		.alpha = 5,
		.beta = 50,
	};
	q->interval = us_to_ns(32 * USEC_PER_MSEC);
	q->sch = sch;
	sch->limit = 1000;
	hrtimer_setup(&q->timer, pi2_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	if (opt)
		err = pi2_change(sch, opt, extack);
	if (err)
		return err;
	qdisc_start_updates(&q->timer, ktime_get(), q->interval);
	return 0;
}

static void pi2_reset(struct Qdisc *sch)
{
	struct pi2_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	q->vars = (struct pi2_vars){ };
}

static void pi2_destroy(struct Qdisc *sch)
{
	struct pi2_sched *q = qdisc_priv(sch);

	hrtimer_cancel(&q->timer);
}

static int pi2_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct pi2_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_PI2_TARGET, ns_to_us(q->params.target)) ||
	    nla_put_u32(skb, TCA_PI2_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_PI2_TUPDATE, ns_to_us(q->interval)) ||
	    nla_put_u32(skb, TCA_PI2_ALPHA, q->params.alpha) ||
	    nla_put_u32(skb, TCA_PI2_BETA, q->params.beta) ||
	    nla_put_u32(skb, TCA_PI2_ECN, q->ecn)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int pi2_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct pi2_sched *q = qdisc_priv(sch);
	const u64 share = min_t(u64, pi2_share(&q->vars), U32_MAX);
	struct tc_pi2_xstats stats = q->stats;

	stats.pseudo_prob = share << 32;
	stats.prob = share * share;
	stats.delay = ns_to_us(q->vars.delay);
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops pi2_ops __read_mostly = {
	.id		= "pi2",
	.priv_size	= sizeof(struct pi2_sched),
	.enqueue	= pi2_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= pi2_init,
	.reset		= pi2_reset,
	.destroy	= pi2_destroy,
	.change		= pi2_change,
	.dump		= pi2_dump,
	.dump_stats	= pi2_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init pi2_module_init(void)
{
	return register_qdisc(&pi2_ops);
}

static void __exit pi2_module_exit(void)
{
	unregister_qdisc(&pi2_ops);
}

module_init(pi2_module_init);
module_exit(pi2_module_exit);

MODULE_DESCRIPTION("PI2: a PI controller whose output is squared");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-pi2");
