// SPDX-License-Identifier: GPL-2.0
/*
 * predict - a FIFO that signals exponential load transients before they overload it
 *
 * Decides at enqueue, and signals there or at dequeue, each flow once in a
 * transient; a packet that cannot be marked is dropped. What stands in the queue
 * without a transient is left to CoDel if wanted.
 */
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "../compat.h"
#include "../qdisc.h"
#include "flows.h"
#include "predict.h"
#include "uapi.h"

/**
 * struct predict_sched - private data of the qdisc
 * @predict:	the algorithm
 * @flows:	that have been signalled
 * @perturbation: key of their hash, drawn when the qdisc is made
 * @ecn:	whether signals are marks where they can be
 * @standing:	whether CoDel acts on standing queues
 * @head:	whether a signal leaves with the next packet of its flow, or waits with the one
 *		that came
 * @params:	of CoDel
 * @vars:	of CoDel
 * @codel:	statistics of CoDel
 * @marks:	packets marked for a transient, or beyond the bound
 * @drops:	packets dropped for a transient, or beyond the bound
 * @standing_drops: packets that CoDel dropped
 * @overlimit:	packets dropped for want of room
 */
struct predict_sched {
	struct predict		predict;
	struct predict_flows	flows;
	siphash_key_t		perturbation;
	bool			ecn;
	bool			standing;
	bool			head;
	struct codel_params	params;
	struct codel_vars	vars;
	struct codel_stats	codel;
	u32			marks;
	u32			drops;
	u32			standing_drops;
	u32			overlimit;
};

/* Small packets carry no signals: they make no load, and are hard to spare. */
static bool predict_is_small(const struct predict *p, u32 size)
{
	return size < p->mtu / 4;
}

/* Whether the flow of this packet is to be signalled. */
static bool predict_is_signalled(const struct predict *p, struct predict_flow *flow,
				 const struct Qdisc *sch, u32 size)
{
	const u32 backlog = sch->qstats.backlog;

	if (!predict_signals(p) && !predict_exceeds(p, backlog))
		return false;
	if (predict_is_small(p, size))
		return false;
	/*
	 * The answer takes one feedback time; until the last flow has answered and three intervals
	 * tell of it, the transient seems to go on.
	 */
	return predict_claim(flow, p->bin, 4 * predict_feedback(p, backlog));
}

/*
 * From addresses and ports. The hash that a packet brings with it is its sender's where that is in
 * the same kernel, and TCP draws a new one at each timeout (net.core.txrehash).
 */
static u32 predict_hash(const struct predict_sched *q, const struct sk_buff *skb)
{
	return skb_get_hash_perturb(skb, &q->perturbation);
}

static bool predict_mark(struct predict_sched *q, struct sk_buff *skb)
{
	if (!q->ecn || !INET_ECN_set_ce(skb))
		return false;
	q->marks++;
	return true;
}

static int predict_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct predict_sched *q = qdisc_priv(sch);
	struct predict *p = &q->predict;
	const u64 now = ktime_get_ns();
	const u32 size = qdisc_pkt_len(skb);
	struct predict_flow *flow;

	predict_advance(p, now);
	flow = predict_flow(&q->flows, predict_hash(q, skb), p->bin);
	predict_arrived(p, now, size, predict_answers(flow, size, p->mtu));
	if (unlikely(qdisc_qlen(sch) >= sch->limit)) {
		q->overlimit++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (predict_is_signalled(p, flow, sch, size)) {
		if (q->head) {
			flow->due = true;
		} else if (!predict_mark(q, skb)) {
			q->drops++;
			return qdisc_drop(skb, sch, to_free);
		}
	}
	codel_set_enqueue_time(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *predict_take(struct codel_vars *vars, void *ctx)
{
	return qdisc_take_head(ctx);
}

static void predict_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;
	struct predict_sched *q = qdisc_priv(sch);

	q->standing_drops++;
	kfree_skb(skb);
	qdisc_qstats_drop(sch);
}

/*
 * The next packet; CoDel sees it but for the time of a transient. It then begins anew: what it
 * was about to drop before is overdue afterwards, all at once.
 */
static struct sk_buff *predict_next(struct Qdisc *sch)
{
	struct predict_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!q->standing || q->predict.transient.lag) {
		codel_vars_init(&q->vars);
		return qdisc_take_head(sch);
	}
	skb = codel_dequeue(sch, &sch->qstats.backlog, &q->params, &q->vars, &q->codel,
			    qdisc_pkt_len, codel_get_enqueue_time, predict_drop, predict_take);
	qdisc_report_drops(sch, skb, q->codel.drop_count, q->codel.drop_len);
	q->codel.drop_count = 0;
	q->codel.drop_len = 0;
	return skb;
}

/*
 * Whether the packet at the head, which has been taken, goes on; a signal that it cannot carry
 * takes it. The last one leaves the signal to the next: the qdiscs above never hear of drops from
 * a queue that looks empty.
 */
static bool predict_goes_on(struct Qdisc *sch, struct sk_buff *skb)
{
	struct predict_sched *q = qdisc_priv(sch);
	struct predict *p = &q->predict;
	const u32 hash = predict_hash(q, skb);
	struct predict_flow *flow = predict_place(&q->flows, hash, p->bin);
	bool marked;

	if (flow->hash != hash || !flow->due || predict_is_small(p, qdisc_pkt_len(skb)))
		return true;
	marked = predict_mark(q, skb);
	if (!marked && !qdisc_qlen(sch))
		return true;
	flow->due = false;
	return marked;
}

/* The next packet, with its flow's signal. */
static struct sk_buff *predict_signalled(struct Qdisc *sch)
{
	struct predict_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = predict_next(sch);
	unsigned int packets = 0, bytes = 0;

	while (skb && !predict_goes_on(sch, skb)) {
		q->drops++;
		packets++;
		bytes += qdisc_pkt_len(skb);
		kfree_skb(skb);
		qdisc_qstats_drop(sch);
		skb = predict_next(sch);
	}
	qdisc_report_drops(sch, skb, packets, bytes);
	return skb;
}

static struct sk_buff *predict_dequeue(struct Qdisc *sch)
{
	struct predict_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = q->head ? predict_signalled(sch) : predict_next(sch);

	if (skb) {
		qdisc_bstats_update(sch, skb);
		predict_departed(&q->predict, ktime_get_ns(), qdisc_pkt_len(skb),
				 qdisc_qlen(sch));
	}
	return skb;
}

static void predict_forget(struct Qdisc *sch)
{
	struct predict_sched *q = qdisc_priv(sch);

	q->predict.mtu = clamp_t(u32, psched_mtu(qdisc_dev(sch)), 64, 1 << 16);
	q->params.mtu = q->predict.mtu;
	predict_restart(&q->predict, ktime_get_ns());
	memset(&q->flows, 0, sizeof(q->flows));
	codel_vars_init(&q->vars);
	codel_stats_init(&q->codel);
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation predict_bin_lengths = {
	PREDICT_LEAST_BIN, PREDICT_MOST_BIN
};

static struct netlink_range_validation predict_rates = { .max = PREDICT_MOST_RATE };

static const struct nla_policy predict_policy[TCA_PREDICT_MAX + 1] = {
	[TCA_PREDICT_LIMIT]	= NLA_POLICY_MIN(NLA_U32, PREDICT_LEAST_LIMIT),
	[TCA_PREDICT_TARGET]	= NLA_POLICY_RANGE(NLA_U32, PREDICT_LEAST_TARGET,
						   PREDICT_MOST_TARGET),
	[TCA_PREDICT_RATE]	= NLA_POLICY_FULL_RANGE(NLA_U64, &predict_rates),
	[TCA_PREDICT_BIN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &predict_bin_lengths),
	[TCA_PREDICT_ECN]	= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_PREDICT_STANDING]	= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_PREDICT_BOUND]	= { .type = NLA_U32 },
	[TCA_PREDICT_HEAD]	= NLA_POLICY_MAX(NLA_U32, 1),
};

static int predict_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_PREDICT_MAX + 1];
	struct predict_sched *q = qdisc_priv(sch);
	struct predict *p = &q->predict;
	u64 bin_ns = p->bin_ns;
	int err;

	err = nla_parse_nested(tb, TCA_PREDICT_MAX, opt, predict_policy, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	if (tb[TCA_PREDICT_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_PREDICT_LIMIT]);
	if (tb[TCA_PREDICT_TARGET])
		p->target = nla_get_u32(tb[TCA_PREDICT_TARGET]);
	if (tb[TCA_PREDICT_RATE])
		p->rate = nla_get_u64(tb[TCA_PREDICT_RATE]);
	if (tb[TCA_PREDICT_BIN])
		p->bin_ns = us_to_ns(nla_get_u32(tb[TCA_PREDICT_BIN]));
	if (tb[TCA_PREDICT_ECN])
		q->ecn = nla_get_u32(tb[TCA_PREDICT_ECN]);
	if (tb[TCA_PREDICT_STANDING])
		q->standing = nla_get_u32(tb[TCA_PREDICT_STANDING]);
	if (tb[TCA_PREDICT_BOUND])
		p->bound_ns = us_to_ns(nla_get_u32(tb[TCA_PREDICT_BOUND]));
	if (tb[TCA_PREDICT_HEAD])
		q->head = nla_get_u32(tb[TCA_PREDICT_HEAD]);
	q->params.ecn = q->ecn;
	if (p->bin_ns != bin_ns)	/* the history counts in bins */
		predict_forget(sch);
	qdisc_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int predict_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct predict_sched *q = qdisc_priv(sch);

	sch->limit = 1000;
	q->predict.bin_ns = NSEC_PER_MSEC;
	q->predict.target = 100;
	codel_params_init(&q->params);
	get_random_bytes(&q->perturbation, sizeof(q->perturbation));
	q->predict.history = kvcalloc(PREDICT_BINS, sizeof(*q->predict.history), GFP_KERNEL);
	if (!q->predict.history)
		return -ENOMEM;
	predict_forget(sch);
	return opt ? predict_change(sch, opt, extack) : 0;
}

static void predict_reset(struct Qdisc *sch)
{
	const struct predict_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	if (q->predict.history)	/* qdisc_create_dflt() resets what it could not make, too */
		predict_forget(sch);
}

static void predict_destroy(struct Qdisc *sch)
{
	struct predict_sched *q = qdisc_priv(sch);

	/* The recorder may ask for statistics until it hears of this; without one it reads none. */
	sch_tree_lock(sch);
	q->predict.transient.lag = 0;
	sch_tree_unlock(sch);
	kvfree(q->predict.history);
}

static int predict_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct predict_sched *q = qdisc_priv(sch);
	const struct predict *p = &q->predict;
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_PREDICT_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_PREDICT_TARGET, p->target) ||
	    nla_put_u64_64bit(skb, TCA_PREDICT_RATE, p->rate, TCA_PREDICT_UNSPEC) ||
	    nla_put_u32(skb, TCA_PREDICT_BIN, ns_to_us(p->bin_ns)) ||
	    nla_put_u32(skb, TCA_PREDICT_ECN, q->ecn) ||
	    nla_put_u32(skb, TCA_PREDICT_STANDING, q->standing) ||
	    nla_put_u32(skb, TCA_PREDICT_BOUND, ns_to_us(p->bound_ns)) ||
	    nla_put_u32(skb, TCA_PREDICT_HEAD, q->head)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* With the tree locked: half of one transient and half of the next may divide by zero. */
static struct tc_predict_xstats predict_stats(struct Qdisc *sch)
{
	const struct predict_sched *q = qdisc_priv(sch);
	const struct predict *p = &q->predict;

	lockdep_assert_held(qdisc_tree_lock(sch));
	return (struct tc_predict_xstats){
		.detections	= p->detections,
		.doubling	= ns_to_us(predict_doubling(&p->transient) * p->bin_ns),
		.load		= predict_load(p),
		.rate		= min_t(u64, predict_rate(p), U32_MAX),
		.ecn_mark	= q->marks,
		.early		= q->drops,
		.standing	= q->codel.ecn_mark + q->standing_drops,
		.overlimit	= q->overlimit,
	};
}

static int predict_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct tc_predict_xstats stats;
	spinlock_t *lock;	/* of the whole tree of qdiscs */

	rcu_read_lock();
	lock = qdisc_tree_lock(sch);
	spin_lock_bh(lock);
	stats = predict_stats(sch);
	spin_unlock_bh(lock);
	rcu_read_unlock();
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops predict_ops __read_mostly = {
	.id		= "predict",
	.priv_size	= sizeof(struct predict_sched),
	.enqueue	= predict_enqueue,
	.dequeue	= predict_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= predict_init,
	.reset		= predict_reset,
	.destroy	= predict_destroy,
	.change		= predict_change,
	.dump		= predict_dump,
	.dump_stats	= predict_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init predict_module_init(void)
{
	return register_qdisc(&predict_ops);
}

static void __exit predict_module_exit(void)
{
	unregister_qdisc(&predict_ops);
}

module_init(predict_module_init);
module_exit(predict_module_exit);

MODULE_DESCRIPTION("Predict: AQM for exponential load transients");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-predict");
