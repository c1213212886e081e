// SPDX-License-Identifier: GPL-2.0
/*
 * dualred - the qdisc of "Using Data Center TCP (DCTCP) in the Internet"
 *
 * A FIFO with two REDs that signal at enqueue. One drops packets without ECN,
 * the other marks ECN-capable ones. The law is in dual.h and ../red.h.
 */
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "../compat.h"
#include "../qdisc.h"
#include "../red.h"
#include "../red_link.h"
#include "dual.h"
#include "uapi.h"

#define DUALRED_LIMIT	1000

/**
 * struct dualred_options - as they were given
 * @params:	of the algorithm; 0 as a maximum threshold that was not given
 * @rate:	of the link, in byte/s
 * @limit:	in packets
 * @avpkt:	in bytes
 * @bytes:	whether thresholds and averages count bytes; else packets
 */
struct dualred_options {
	struct dual_params	params;
	u64			rate;
	u32			limit;
	u32			avpkt;
	bool			bytes;
};

/**
 * struct dualred_sched - private data of the qdisc
 * @options:	as given
 * @params:	in force
 * @vars:	of the algorithm
 * @link:	below the queue
 * @stats:	counters; the other members are filled in when asked for
 */
struct dualred_sched {
	struct dualred_options	options;
	struct dual_params	params;
	struct dual_vars	vars;
	struct red_link		link;
	struct tc_dualred_xstats stats;
};

static enum dual_kind dualred_kind(struct sk_buff *skb)
{
	const int dsfield = skb_get_dsfield(skb);	/* below 0: no IP */

	return dsfield < 0 || INET_ECN_is_not_ect(dsfield) ? DUAL_DROP : DUAL_MARK;
}

/* Count a packet by its kind and its verdict; returns whether to keep it, marked if need be. */
static bool dualred_keeps(struct tc_dualred_xstats *stats, struct sk_buff *skb,
			  enum dual_kind kind, enum red_verdict verdict)
{
	if (kind == DUAL_DROP) {
		stats->drop_packets++;
		stats->early += verdict == RED_SIGNAL;
		stats->forced += verdict == RED_CUT;
		return verdict == RED_PASS;
	}
	stats->mark_packets++;
	stats->ecn_mark += verdict == RED_SIGNAL;
	stats->ecn_forced += verdict == RED_CUT;
	return verdict == RED_PASS || INET_ECN_set_ce(skb);
}

static int dualred_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct dualred_sched *q = qdisc_priv(sch);
	enum red_verdict verdict;
	enum dual_kind kind;

	if (!qdisc_qlen(sch))
		dual_idle(&q->params, &q->vars, red_link_phantoms(&q->link));
	dual_average(&q->params, &q->vars,
		     q->options.bytes ? sch->qstats.backlog : qdisc_qlen(sch));

	if (unlikely(qdisc_qlen(sch) >= sch->limit)) {
		q->stats.overlimit++;
		return qdisc_drop(skb, sch, to_free);
	}
	kind = dualred_kind(skb);
	verdict = dual_arrival(&q->params, &q->vars, kind, get_random_u32());
	if (!dualred_keeps(&q->stats, skb, kind, verdict))
		return qdisc_drop(skb, sch, to_free);
	q->stats.maxq = max_t(u32, q->stats.maxq, qdisc_qlen(sch) + 1);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *dualred_dequeue(struct Qdisc *sch)
{
	struct dualred_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb && !qdisc_qlen(sch))
		red_link_takes_last(&q->link, skb);
	return skb;
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation dualred_rates = { DUALRED_LEAST_RATE, DUALRED_MOST_RATE };
static struct netlink_range_validation dualred_limits = { DUALRED_LEAST_LIMIT, DUALRED_MOST_LIMIT };
static struct netlink_range_validation dualred_sizes = { DUALRED_LEAST_AVPKT, DUALRED_MOST_AVPKT };
static struct netlink_range_validation dualred_fractions = { 0, RED_ONE };
static struct netlink_range_validation dualred_weights = {
	DUALRED_LEAST_WEIGHT, DUALRED_MOST_WEIGHT
};

static const struct nla_policy dualred_policy[TCA_DUALRED_MAX + 1] = {
	[TCA_DUALRED_RATE]		= NLA_POLICY_FULL_RANGE(NLA_U64, &dualred_rates),
	[TCA_DUALRED_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_limits),
	[TCA_DUALRED_AVPKT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_sizes),
	[TCA_DUALRED_BYTES]		= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_DUALRED_INDEPENDENT]	= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_DUALRED_DROP_MIN]		= { .type = NLA_U32 },
	[TCA_DUALRED_DROP_MAX]		= { .type = NLA_U32 },
	[TCA_DUALRED_DROP_PROBABILITY]	= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_fractions),
	[TCA_DUALRED_DROP_WEIGHT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_weights),
	[TCA_DUALRED_MARK_MIN]		= { .type = NLA_U32 },
	[TCA_DUALRED_MARK_MAX]		= { .type = NLA_U32 },
	[TCA_DUALRED_MARK_PROBABILITY]	= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_fractions),
	[TCA_DUALRED_MARK_WEIGHT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &dualred_weights),
};

/* One RED's settings when those of a request, from attribute @min on, have replaced some. */
static void dualred_replace_red(struct red_params *red, struct nlattr *tb[], int min)
{
	u32 *const values[] = { &red->th_min, &red->th_max, &red->max_p, &red->weight };
	int i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (tb[min + i])
			*values[i] = nla_get_u32(tb[min + i]);
}

/* Options as they are when those of a request have replaced what was before. */
static struct dualred_options dualred_replaced(struct dualred_options options,
					       struct nlattr *tb[])
{
	if (tb[TCA_DUALRED_RATE])
		options.rate = nla_get_u64(tb[TCA_DUALRED_RATE]);
	if (tb[TCA_DUALRED_LIMIT])
		options.limit = nla_get_u32(tb[TCA_DUALRED_LIMIT]);
	if (tb[TCA_DUALRED_AVPKT])
		options.avpkt = nla_get_u32(tb[TCA_DUALRED_AVPKT]);
	if (tb[TCA_DUALRED_BYTES])
		options.bytes = nla_get_u32(tb[TCA_DUALRED_BYTES]);
	if (tb[TCA_DUALRED_INDEPENDENT])
		options.params.independent = nla_get_u32(tb[TCA_DUALRED_INDEPENDENT]);
	dualred_replace_red(&options.params.red[DUAL_DROP], tb, TCA_DUALRED_DROP_MIN);
	dualred_replace_red(&options.params.red[DUAL_MARK], tb, TCA_DUALRED_MARK_MIN);
	return options;
}

/* Fill in what is derived, and check it; 0, or an error with its message. */
static int dualred_prepare(struct dual_params *params, struct netlink_ext_ack *extack)
{
	int kind;

	for (kind = 0; kind < DUAL_KINDS; kind++) {
		struct red_params *red = &params->red[kind];

		red->th_max = red->th_max ?: dual_th_max(kind, red->th_min);
		if (!red->th_max) {
			NL_SET_ERR_MSG_MOD(extack, "with a min of 0 its max is needed, at least 1");
			return -EINVAL;
		}
		if (red->th_min > red->th_max) {
			if (kind == DUAL_DROP)
				NL_SET_ERR_MSG_MOD(extack, "drop_min is above drop_max");
			else
				NL_SET_ERR_MSG_MOD(extack, "mark_min is above mark_max");
			return -EINVAL;
		}
		red_prepare(red);
	}
	return 0;
}

static int dualred_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_DUALRED_MAX + 1];
	struct dualred_sched *q = qdisc_priv(sch);
	struct dualred_options options;
	struct dual_params params;
	int err;

	err = nla_parse_nested(tb, TCA_DUALRED_MAX, opt, dualred_policy, extack);
	if (err < 0)
		return err;
	options = dualred_replaced(q->options, tb);
	params = options.params;
	/* the queue has no rate until it has all that is needed */
	if (!q->options.rate && !(tb[TCA_DUALRED_RATE] && tb[TCA_DUALRED_DROP_MIN] &&
				  tb[TCA_DUALRED_MARK_MIN])) {
		NL_SET_ERR_MSG_MOD(extack, "rate, drop_min and mark_min are needed");
		return -EINVAL;
	}
	err = dualred_prepare(&params, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	if (options.bytes != q->options.bytes)	/* averages of another unit mean nothing */
		q->vars = (struct dual_vars){ };
	q->options = options;
	q->params = params;
	red_link_set(&q->link, options.rate, options.avpkt);
	sch->limit = options.limit;
	qdisc_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int dualred_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct dualred_sched *q = qdisc_priv(sch);

	if (!opt) {
		NL_SET_ERR_MSG_MOD(extack, "rate, drop_min and mark_min are needed");
		return -EINVAL;
	}
	q->options = (struct dualred_options){
		.params.red = {
			/* section IV-A: 0.1 and 0.002 */
			[DUAL_DROP] = { .max_p = (RED_ONE + 5) / 10, .weight = RED_ONE / 500 },
			/* section IV-B */
			[DUAL_MARK] = { .max_p = RED_ONE, .weight = RED_ONE },
		},
		.limit = DUALRED_LIMIT,
		.avpkt = clamp_t(u32, psched_mtu(qdisc_dev(sch)), dualred_sizes.min,
				 dualred_sizes.max),
	};
	return dualred_change(sch, opt, extack);
}

static void dualred_reset(struct Qdisc *sch)
{
	struct dualred_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	q->vars = (struct dual_vars){ };
}

static int dualred_put_red(struct sk_buff *skb, const struct red_params *red, int min)
{
	const u32 values[] = { red->th_min, red->th_max, red->max_p, red->weight };
	int i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (nla_put_u32(skb, min + i, values[i]))
			return -EMSGSIZE;
	return 0;
}

static int dualred_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct dualred_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_DUALRED_RATE, q->options.rate, TCA_DUALRED_UNSPEC) ||
	    nla_put_u32(skb, TCA_DUALRED_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_DUALRED_AVPKT, q->options.avpkt) ||
	    nla_put_u32(skb, TCA_DUALRED_BYTES, q->options.bytes) ||
	    nla_put_u32(skb, TCA_DUALRED_INDEPENDENT, q->params.independent) ||
	    dualred_put_red(skb, &q->params.red[DUAL_DROP], TCA_DUALRED_DROP_MIN) ||
	    dualred_put_red(skb, &q->params.red[DUAL_MARK], TCA_DUALRED_MARK_MIN)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* A RED's probability now, in 1/2^64. */
static u64 dualred_probability(const struct dualred_sched *q, enum dual_kind kind)
{
	return red_share(red_probability(&q->params.red[kind], q->vars.red[kind].avg));
}

static int dualred_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct dualred_sched *q = qdisc_priv(sch);
	struct tc_dualred_xstats stats = q->stats;

	stats.drop_prob = dualred_probability(q, DUAL_DROP);
	stats.mark_prob = dualred_probability(q, DUAL_MARK);
	stats.drop_avg = q->vars.red[DUAL_DROP].avg;
	stats.mark_avg = q->vars.red[DUAL_MARK].avg;
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops dualred_ops __read_mostly = {
	.id		= "dualred",
	.priv_size	= sizeof(struct dualred_sched),
	.enqueue	= dualred_enqueue,
	.dequeue	= dualred_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= dualred_init,
	.reset		= dualred_reset,
	.change		= dualred_change,
	.dump		= dualred_dump,
	.dump_stats	= dualred_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init dualred_module_init(void)
{
	return register_qdisc(&dualred_ops);
}

static void __exit dualred_module_exit(void)
{
	unregister_qdisc(&dualred_ops);
}

module_init(dualred_module_init);
module_exit(dualred_module_exit);

MODULE_DESCRIPTION("Two REDs over one queue, for packets with and without ECN");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-dualred");
