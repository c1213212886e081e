// SPDX-License-Identifier: GPL-2.0
/*
 * hred - the qdisc Harsh RED: RED that must have signalled before it is too late
 *
 * A FIFO that signals at enqueue. The law is RED's (../red.h); thresholds,
 * probability and weight follow from the link's rate, the RTT and the buffer
 * (derive.h) unless they are given.
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
#include "derive.h"
#include "uapi.h"

/**
 * struct hred_options - as they were given; 0 where nothing was
 * @rate:	of the link, in byte/s
 * @rtt:	in us
 * @limit:	in packets
 * @th_min:	in packets
 * @th_max:	in packets
 * @max_p:	in 1/RED_ONE
 * @weight:	in 1/RED_ONE
 * @avpkt:	in bytes
 * @gentle:	see struct red_params
 * @ecn:	whether signals are marks where they can be
 */
struct hred_options {
	u64	rate;
	u32	rtt;
	u32	limit;
	u32	th_min;
	u32	th_max;
	u32	max_p;
	u32	weight;
	u32	avpkt;
	bool	gentle;
	bool	ecn;
};

/**
 * struct hred_sched - private data of the qdisc
 * @options:	as given
 * @params:	of the algorithm
 * @vars:	of the algorithm
 * @link:	below the queue
 * @stats:	counters; the other members are filled in when asked for
 */
struct hred_sched {
	struct hred_options	options;
	struct red_params	params;
	struct red_vars		vars;
	struct red_link		link;
	struct tc_hred_xstats	stats;
};

static int hred_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct hred_sched *q = qdisc_priv(sch);

	if (!qdisc_qlen(sch))
		q->vars.avg = red_idle(q->vars.avg, q->params.weight,
				       red_link_phantoms(&q->link));
	q->vars.avg = red_average(q->vars.avg, q->params.weight, qdisc_qlen(sch));

	if (unlikely(qdisc_qlen(sch) >= sch->limit)) {
		q->stats.overlimit++;
		return qdisc_drop(skb, sch, to_free);
	}
	switch (red_arrival(&q->params, &q->vars, get_random_u32())) {
	case RED_PASS:
		break;
	case RED_SIGNAL:
		if (q->options.ecn && INET_ECN_set_ce(skb)) {
			q->stats.ecn_mark++;
			break;
		}
		q->stats.early++;
		return qdisc_drop(skb, sch, to_free);
	case RED_CUT:
		q->stats.forced++;
		return qdisc_drop(skb, sch, to_free);
	}
	q->stats.maxq = max_t(u32, q->stats.maxq, qdisc_qlen(sch) + 1);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *hred_dequeue(struct Qdisc *sch)
{
	struct hred_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (skb && !qdisc_qlen(sch))
		red_link_takes_last(&q->link, skb);
	return skb;
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation hred_rates = { HRED_LEAST_RATE, HRED_MOST_RATE };
static struct netlink_range_validation hred_rtts = { HRED_LEAST_RTT, HRED_MOST_RTT };
static struct netlink_range_validation hred_sizes = { HRED_LEAST_AVPKT, HRED_MOST_AVPKT };
static struct netlink_range_validation hred_limits = { HRED_LEAST_LIMIT, HRED_MOST_LIMIT };
static struct netlink_range_validation hred_fractions = { 0, RED_ONE };

static const struct nla_policy hred_policy[TCA_HRED_MAX + 1] = {
	[TCA_HRED_RATE]		= NLA_POLICY_FULL_RANGE(NLA_U64, &hred_rates),
	[TCA_HRED_RTT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &hred_rtts),
	[TCA_HRED_LIMIT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &hred_limits),
	[TCA_HRED_TH_MIN]	= { .type = NLA_U32 },
	[TCA_HRED_TH_MAX]	= { .type = NLA_U32 },
	[TCA_HRED_PROBABILITY]	= NLA_POLICY_FULL_RANGE(NLA_U32, &hred_fractions),
	[TCA_HRED_WEIGHT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &hred_fractions),
	[TCA_HRED_AVPKT]	= NLA_POLICY_FULL_RANGE(NLA_U32, &hred_sizes),
	[TCA_HRED_GENTLE]	= NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_HRED_ECN]		= NLA_POLICY_MAX(NLA_U32, 1),
};

/* Options as they are when those of a request have replaced what was before. */
static struct hred_options hred_replaced(struct hred_options options, struct nlattr *tb[])
{
	if (tb[TCA_HRED_RATE])
		options.rate = nla_get_u64(tb[TCA_HRED_RATE]);
	if (tb[TCA_HRED_RTT])
		options.rtt = nla_get_u32(tb[TCA_HRED_RTT]);
	if (tb[TCA_HRED_LIMIT])
		options.limit = nla_get_u32(tb[TCA_HRED_LIMIT]);
	if (tb[TCA_HRED_TH_MIN])
		options.th_min = nla_get_u32(tb[TCA_HRED_TH_MIN]);
	if (tb[TCA_HRED_TH_MAX])
		options.th_max = nla_get_u32(tb[TCA_HRED_TH_MAX]);
	if (tb[TCA_HRED_PROBABILITY])
		options.max_p = nla_get_u32(tb[TCA_HRED_PROBABILITY]);
	if (tb[TCA_HRED_WEIGHT])
		options.weight = nla_get_u32(tb[TCA_HRED_WEIGHT]);
	if (tb[TCA_HRED_AVPKT])
		options.avpkt = nla_get_u32(tb[TCA_HRED_AVPKT]);
	if (tb[TCA_HRED_GENTLE])
		options.gentle = nla_get_u32(tb[TCA_HRED_GENTLE]);
	if (tb[TCA_HRED_ECN])
		options.ecn = nla_get_u32(tb[TCA_HRED_ECN]);
	return options;
}

/* What is derived where nothing is given; 0, or an error with its message. */
static int hred_fill_in(const struct hred_options *options, struct red_params *params,
			struct netlink_ext_ack *extack)
{
	u32 bdp;

	if (!options->rtt) {
		NL_SET_ERR_MSG_MOD(extack, "rtt is needed, or min, max, probability and weight");
		return -EINVAL;
	}
	bdp = hred_bdp(options->rate, options->rtt, options->avpkt);
	switch (hred_derive(bdp, options->limit, params)) {
	case HRED_ENOUGH:
		break;
	case HRED_EARLY:
		NL_SET_ERR_MSG_MOD(extack, "small buffer: signals begin before saturation");
		break;
	case HRED_SHORT:
		NL_SET_ERR_MSG_MOD(extack, "buffer too small: a load that doubles may overflow it");
		break;
	}
	return 0;
}

/* The algorithm's settings; 0, or an error with its message. */
static int hred_params(const struct hred_options *options, struct red_params *params,
		       struct netlink_ext_ack *extack)
{
	int err;

	if (!options->rate || !options->limit) {
		NL_SET_ERR_MSG_MOD(extack, "rate and limit are needed");
		return -EINVAL;
	}
	*params = (struct red_params){ .gentle = options->gentle };
	if (!options->th_min || !options->th_max || !options->max_p || !options->weight) {
		err = hred_fill_in(options, params, extack);
		if (err < 0)
			return err;
	}
	params->th_min = options->th_min ?: params->th_min;
	params->th_max = options->th_max ?: params->th_max;
	params->max_p = options->max_p ?: params->max_p;
	params->weight = options->weight ?: params->weight;
	if (params->th_min > params->th_max) {
		NL_SET_ERR_MSG_MOD(extack, "min is above max");
		return -EINVAL;
	}
	red_prepare(params);
	return 0;
}

static int hred_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_HRED_MAX + 1];
	struct hred_sched *q = qdisc_priv(sch);
	struct hred_options options;
	struct red_params params;
	int err;

	err = nla_parse_nested(tb, TCA_HRED_MAX, opt, hred_policy, extack);
	if (err < 0)
		return err;
	options = hred_replaced(q->options, tb);
	err = hred_params(&options, &params, extack);
	if (err < 0)
		return err;

	sch_tree_lock(sch);
	q->options = options;
	q->params = params;
	red_link_set(&q->link, options.rate, options.avpkt);
	sch->limit = options.limit;
	qdisc_drop_excess(sch);
	sch_tree_unlock(sch);
	return 0;
}

static int hred_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct hred_sched *q = qdisc_priv(sch);

	if (!opt) {
		NL_SET_ERR_MSG_MOD(extack, "rate and limit are needed");
		return -EINVAL;
	}
	q->options.avpkt = clamp_t(u32, psched_mtu(qdisc_dev(sch)), hred_sizes.min, hred_sizes.max);
	return hred_change(sch, opt, extack);
}

static void hred_reset(struct Qdisc *sch)
{
	struct hred_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	q->vars = (struct red_vars){ };
}

static int hred_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct hred_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_HRED_RATE, q->options.rate, TCA_HRED_UNSPEC) ||
	    nla_put_u32(skb, TCA_HRED_RTT, q->options.rtt) ||
	    nla_put_u32(skb, TCA_HRED_LIMIT, sch->limit) ||
	    nla_put_u32(skb, TCA_HRED_TH_MIN, q->params.th_min) ||
	    nla_put_u32(skb, TCA_HRED_TH_MAX, q->params.th_max) ||
	    nla_put_u32(skb, TCA_HRED_PROBABILITY, q->params.max_p) ||
	    nla_put_u32(skb, TCA_HRED_WEIGHT, q->params.weight) ||
	    nla_put_u32(skb, TCA_HRED_AVPKT, q->options.avpkt) ||
	    nla_put_u32(skb, TCA_HRED_GENTLE, q->options.gentle) ||
	    nla_put_u32(skb, TCA_HRED_ECN, q->options.ecn)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int hred_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct hred_sched *q = qdisc_priv(sch);
	struct tc_hred_xstats stats = q->stats;

	stats.prob = red_share(red_probability(&q->params, q->vars.avg));
	stats.avg = q->vars.avg;
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops hred_ops __read_mostly = {
	.id		= "hred",
	.priv_size	= sizeof(struct hred_sched),
	.enqueue	= hred_enqueue,
	.dequeue	= hred_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= hred_init,
	.reset		= hred_reset,
	.change		= hred_change,
	.dump		= hred_dump,
	.dump_stats	= hred_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init hred_module_init(void)
{
	return register_qdisc(&hred_ops);
}

static void __exit hred_module_exit(void)
{
	unregister_qdisc(&hred_ops);
}

module_init(hred_module_init);
module_exit(hred_module_exit);

MODULE_DESCRIPTION("Harsh RED");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-hred");
