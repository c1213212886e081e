// SPDX-License-Identifier: GPL-2.0
/*
 * sfq_codel - the qdisc SFQ-CoDel: stochastic fair queueing, CoDel on each queue
 *
 * A hash puts each flow into one of many queues, which take turns by plain
 * deficit round robin: fq_codel without its list of new flows, so that a queue
 * that has just got its first packet waits for all others. CoDel is mainline's;
 * if wanted, the packet that comes next carries its signal.
 */
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "../compat.h"
#include "../qdisc.h"
#include "codel_law.h"
#include "drr.h"
#include "uapi.h"

/**
 * struct flow_queue - the packets of the flows that share a hash value
 * @drr:	its turns
 * @packets:	in order of arrival
 * @backlog:	their size in bytes
 * @codel:	state of its CoDel
 * @due:	whether the packet that comes next carries a signal
 */
struct flow_queue {
	struct drr_queue	drr;
	struct qdisc_skb_head	packets;
	u32			backlog;
	struct codel_vars	codel;
	bool			due;
};

/**
 * struct sfq_codel_sched - private data of the qdisc
 * @queues:	all of them
 * @flows:	how many they are
 * @perturbation: key of the hash, drawn when the qdisc is made
 * @drr:	the round of those with packets
 * @codel:	settings of every CoDel
 * @tail:	whether signals are given at the tail
 * @codel_stats: sums over every CoDel
 * @drop_overlimit: packets dropped for want of room
 */
struct sfq_codel_sched {
	struct flow_queue	*queues;
	u32			flows;
	siphash_key_t		perturbation;
	struct drr		drr;
	struct codel_params	codel;
	bool			tail;
	struct codel_stats	codel_stats;
	u32			drop_overlimit;
};

static struct flow_queue *sfq_codel_queue_of(const struct sfq_codel_sched *q,
					     const struct sk_buff *skb)
{
	return &q->queues[reciprocal_scale(skb_get_hash_perturb(skb, &q->perturbation),
					   q->flows)];
}

static struct sk_buff *sfq_codel_take_head(struct Qdisc *sch, struct flow_queue *queue)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&queue->packets);

	if (skb) {
		queue->backlog -= qdisc_pkt_len(skb);
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
	}
	return skb;
}

/* Cut the head of the queue with most bytes: its sender learns of it soonest. */
static struct sk_buff *sfq_codel_cut(struct Qdisc *sch)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);
	struct flow_queue *queue, *longest = NULL;

	list_for_each_entry(queue, &q->drr.round, drr.place)
		if (queue->backlog > (longest ? longest->backlog : 0))
			longest = queue;
	if (!longest)	/* all there is has been peeked at */
		return NULL;
	q->drop_overlimit++;
	return sfq_codel_take_head(sch, longest);
}

/* Whether a packet that comes goes on; a signal that it cannot carry takes it. */
static bool sfq_codel_goes_on(struct sfq_codel_sched *q, struct flow_queue *queue,
			      struct sk_buff *skb)
{
	if (!queue->due)
		return true;
	queue->due = false;
	if (!q->codel.ecn || !INET_ECN_set_ce(skb))
		return false;
	q->codel_stats.ecn_mark++;
	return true;
}

static int sfq_codel_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);
	struct flow_queue *queue = sfq_codel_queue_of(q, skb);
	struct sk_buff *excess = NULL;

	if (!sfq_codel_goes_on(q, queue, skb))
		return qdisc_drop(skb, sch, to_free);
	if (sch->q.qlen >= sch->limit) {
		excess = sfq_codel_cut(sch);
		if (!excess)
			return qdisc_drop(skb, sch, to_free);
	}
	codel_set_enqueue_time(skb);
	__qdisc_enqueue_tail(skb, &queue->packets);
	queue->backlog += qdisc_pkt_len(skb);
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	drr_join(&q->drr, &queue->drr);
	if (excess) {
		qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(excess));
		qdisc_drop(excess, sch, to_free);
	}
	return NET_XMIT_SUCCESS;
}

/* For CoDel. */

static struct sk_buff *sfq_codel_take(struct codel_vars *vars, void *sch)
{
	return sfq_codel_take_head(sch, container_of(vars, struct flow_queue, codel));
}

static void sfq_codel_drop(struct sk_buff *skb, void *sch)
{
	kfree_skb(skb);
	qdisc_qstats_drop(sch);
}

/* The backlog that CoDel leaves alone is the whole qdisc's, as in fq_codel. */
static struct sk_buff *sfq_codel_next_of(struct Qdisc *sch, struct flow_queue *queue)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (!q->tail)
		return codel_dequeue(sch, &sch->qstats.backlog, &q->codel, &queue->codel,
				     &q->codel_stats, qdisc_pkt_len, codel_get_enqueue_time,
				     sfq_codel_drop, sfq_codel_take);
	skb = sfq_codel_take_head(sch, queue);
	queue->due |= codel_is_due(skb, &sch->qstats.backlog, &q->codel, &queue->codel,
				   &q->codel_stats, qdisc_pkt_len, codel_get_enqueue_time);
	return skb;
}

static struct sk_buff *sfq_codel_next_packet(struct Qdisc *sch)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);
	struct drr_queue *turn;

	while ((turn = drr_turn(&q->drr))) {
		struct flow_queue *queue = container_of(turn, struct flow_queue, drr);
		struct sk_buff *skb = sfq_codel_next_of(sch, queue);

		if (skb) {
			drr_sent(turn, qdisc_pkt_len(skb));
			qdisc_bstats_update(sch, skb);
			return skb;
		}
		drr_leave(&q->drr, turn);
	}
	return NULL;
}

/* Tell the qdiscs above what CoDel has dropped; @skb is about to leave. */
static void sfq_codel_report_drops(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);

	qdisc_report_drops(sch, skb, q->codel_stats.drop_count, q->codel_stats.drop_len);
	q->codel_stats.drop_count = 0;
	q->codel_stats.drop_len = 0;
}

static struct sk_buff *sfq_codel_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = sfq_codel_next_packet(sch);

	sfq_codel_report_drops(sch, skb);
	return skb;
}

/* Drops are reported when the packet counts again: to the qdiscs above it never left. */
static struct sk_buff *sfq_codel_peek(struct Qdisc *sch)
{
	struct sk_buff *skb = skb_peek(&sch->gso_skb);

	if (skb)
		return skb;
	skb = sfq_codel_next_packet(sch);
	if (skb) {
		__skb_queue_head(&sch->gso_skb, skb);
		qdisc_qstats_backlog_inc(sch, skb);
		sch->q.qlen++;
	}
	sfq_codel_report_drops(sch, NULL);
	return skb;
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation sfq_codel_targets = { .max = SFQ_CODEL_MOST_TARGET };

static struct netlink_range_validation sfq_codel_flow_counts = {
	SFQ_CODEL_LEAST_FLOWS, SFQ_CODEL_MOST_FLOWS
};

static struct netlink_range_validation sfq_codel_quanta = {
	SFQ_CODEL_LEAST_QUANTUM, SFQ_CODEL_MOST_QUANTUM
};

static struct netlink_range_validation sfq_codel_intervals = {
	SFQ_CODEL_LEAST_INTERVAL, SFQ_CODEL_MOST_INTERVAL
};

static const struct nla_policy sfq_codel_policy[TCA_SFQ_CODEL_MAX + 1] = {
	[TCA_SFQ_CODEL_LIMIT]		= NLA_POLICY_MIN(NLA_U32, SFQ_CODEL_LEAST_LIMIT),
	[TCA_SFQ_CODEL_FLOWS]		= NLA_POLICY_FULL_RANGE(NLA_U32, &sfq_codel_flow_counts),
	[TCA_SFQ_CODEL_QUANTUM]		= NLA_POLICY_FULL_RANGE(NLA_U32, &sfq_codel_quanta),
	[TCA_SFQ_CODEL_TARGET]		= NLA_POLICY_FULL_RANGE(NLA_U32, &sfq_codel_targets),
	[TCA_SFQ_CODEL_INTERVAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &sfq_codel_intervals),
	[TCA_SFQ_CODEL_ECN]		= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_SFQ_CODEL_TAIL]		= NLA_POLICY_MAX(NLA_U32, 1),
};

static codel_time_t sfq_codel_time(u32 us)
{
	return ((u64)us * NSEC_PER_USEC) >> CODEL_SHIFT;
}

/* Drop what a shorter limit leaves no room for. */
static void sfq_codel_drop_excess(struct Qdisc *sch)
{
	unsigned int packets = 0, bytes = 0;
	struct sk_buff *skb;

	while (sch->q.qlen > sch->limit) {
		skb = sfq_codel_cut(sch);
		if (!skb)
			break;
		packets++;
		bytes += qdisc_pkt_len(skb);
		rtnl_qdisc_drop(skb, sch);
	}
	qdisc_tree_reduce_backlog(sch, packets, bytes);
}

static int sfq_codel_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_SFQ_CODEL_MAX + 1];
	struct sfq_codel_sched *q = qdisc_priv(sch);
	int err;

	err = nla_parse_nested(tb, TCA_SFQ_CODEL_MAX, opt, sfq_codel_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_SFQ_CODEL_FLOWS] && q->queues) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SFQ_CODEL_FLOWS],
				    "the number of queues cannot change");
		return -EINVAL;
	}

	sch_tree_lock(sch);
	if (tb[TCA_SFQ_CODEL_LIMIT])
		sch->limit = nla_get_u32(tb[TCA_SFQ_CODEL_LIMIT]);
	if (tb[TCA_SFQ_CODEL_FLOWS])
		q->flows = nla_get_u32(tb[TCA_SFQ_CODEL_FLOWS]);
	if (tb[TCA_SFQ_CODEL_QUANTUM])
		q->drr.quantum = nla_get_u32(tb[TCA_SFQ_CODEL_QUANTUM]);
	if (tb[TCA_SFQ_CODEL_TARGET])
		q->codel.target = sfq_codel_time(nla_get_u32(tb[TCA_SFQ_CODEL_TARGET]));
	if (tb[TCA_SFQ_CODEL_INTERVAL])
		q->codel.interval = sfq_codel_time(nla_get_u32(tb[TCA_SFQ_CODEL_INTERVAL]));
	if (tb[TCA_SFQ_CODEL_ECN])
		q->codel.ecn = nla_get_u32(tb[TCA_SFQ_CODEL_ECN]);
	if (tb[TCA_SFQ_CODEL_TAIL])
		q->tail = nla_get_u32(tb[TCA_SFQ_CODEL_TAIL]);
	sfq_codel_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

static void sfq_codel_forget(struct sfq_codel_sched *q)
{
	u32 i;

	drr_empty(&q->drr);
	for (i = 0; i < q->flows; i++) {
		struct flow_queue *queue = &q->queues[i];

		drr_outside(&queue->drr);
		__qdisc_reset_queue(&queue->packets);
		queue->backlog = 0;
		codel_vars_init(&queue->codel);
		queue->due = false;
	}
}

static int sfq_codel_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);
	const u32 mtu = psched_mtu(qdisc_dev(sch));
	int err = 0;

	sch->limit = 10240;
	q->flows = 1024;
	q->drr.quantum = clamp_t(u32, mtu, 256, 1 << 20);
	codel_params_init(&q->codel);
	codel_stats_init(&q->codel_stats);
	q->codel.mtu = mtu;
	get_random_bytes(&q->perturbation, sizeof(q->perturbation));
	if (opt)
		err = sfq_codel_change(sch, opt, extack);
	if (err)
		return err;
	q->queues = kvcalloc(q->flows, sizeof(*q->queues), GFP_KERNEL);
	if (!q->queues)
		return -ENOMEM;
	sfq_codel_forget(q);
	return 0;
}

static void sfq_codel_reset(struct Qdisc *sch)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);

	if (q->queues)	/* qdisc_create_dflt() resets what it could not make, too */
		sfq_codel_forget(q);
}

static void sfq_codel_destroy(struct Qdisc *sch)
{
	struct sfq_codel_sched *q = qdisc_priv(sch);

	kvfree(q->queues);
}

static int sfq_codel_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct sfq_codel_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_SFQ_CODEL_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_FLOWS, q->flows) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_QUANTUM, q->drr.quantum) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_TARGET, codel_time_to_us(q->codel.target)) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_INTERVAL, codel_time_to_us(q->codel.interval)) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_ECN, q->codel.ecn) ||
	    nla_put_u32(skb, TCA_SFQ_CODEL_TAIL, q->tail)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int sfq_codel_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct sfq_codel_sched *q = qdisc_priv(sch);
	struct tc_sfq_codel_xstats stats = {
		.maxpacket	= q->codel_stats.maxpacket,
		.drop_overlimit	= q->drop_overlimit,
		.ecn_mark	= q->codel_stats.ecn_mark,
		.flows_len	= q->drr.length,
	};

	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops sfq_codel_ops __read_mostly = {
	.id		= "sfq_codel",
	.priv_size	= sizeof(struct sfq_codel_sched),
	.enqueue	= sfq_codel_enqueue,
	.dequeue	= sfq_codel_dequeue,
	.peek		= sfq_codel_peek,
	.init		= sfq_codel_init,
	.reset		= sfq_codel_reset,
	.destroy	= sfq_codel_destroy,
	.change		= sfq_codel_change,
	.dump		= sfq_codel_dump,
	.dump_stats	= sfq_codel_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init sfq_codel_module_init(void)
{
	return register_qdisc(&sfq_codel_ops);
}

static void __exit sfq_codel_module_exit(void)
{
	unregister_qdisc(&sfq_codel_ops);
}

module_init(sfq_codel_module_init);
module_exit(sfq_codel_module_exit);

MODULE_DESCRIPTION("Stochastic fair queueing with CoDel on each queue");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-sfq_codel");
