// SPDX-License-Identifier: GPL-2.0
/*
 * noise - a FIFO from which each packet leaves when noise.h says
 *
 * It stands where packets leave a host, or where they reach one, and has no limit
 * of its own: it never drops.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sock.h>

#include "../compat.h"
#include "../qdisc.h"
#include "noise.h"

/**
 * struct noise_sched - private data of the qdisc
 * @params:	of the arithmetic
 * @vars:	of the arithmetic
 * @seed:	of the draws
 * @start:	when the steps of the long path begin, in ns of CLOCK_MONOTONIC
 * @stats:	counters; the other members are filled in when asked for
 * @watchdog:	wakes it when the head is to leave
 */
struct noise_sched {
	struct noise_params	params;
	struct noise_vars	vars;
	u64			seed;
	s64			start;
	struct tc_noise_xstats	stats;
	struct qdisc_watchdog	watchdog;
};

/**
 * struct noise_stamp - what the qdisc notes on a packet
 * @release:	when it leaves, in ns
 */
struct noise_stamp {
	s64	release;
};

static struct noise_stamp *noise_stamp_of(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct noise_stamp));
	return (struct noise_stamp *)qdisc_skb_cb(skb)->data;
}

static u32 noise_draw(const struct noise_sched *q, enum noise_kind kind, u64 number)
{
	const siphash_key_t key = { .key = { q->seed, kind } };

	return siphash_1u64(number, &key);
}

static s64 noise_delayed(const struct noise_sched *q, s64 time)
{
	s64 since = max_t(s64, time - q->start, 0);
	u32 into;
	u64 step;

	if (!q->params.wan)
		return time;
	step = div_u64_rem(since, q->params.wan_step, &into);
	return time + noise_path(&q->params, noise_draw(q, NOISE_WAN, step),
				 noise_draw(q, NOISE_WAN, step + 1), into);
}

static int noise_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct noise_sched *q = qdisc_priv(sch);
	const s64 now = ktime_get_ns();
	s64 release;

	release = noise_sent(&q->params, &q->vars, now, qdisc_pkt_len(skb),
			     noise_draw(q, NOISE_PHASE, q->vars.packets),
			     noise_draw(q, NOISE_HOST, q->vars.wakeups));
	release = noise_handed_up(&q->params, &q->vars, noise_delayed(q, release));
	noise_stamp_of(skb)->release = release;
	q->stats.added_ns += release - now;
	q->stats.most_ns = max_t(u64, q->stats.most_ns, release - now);
	/* TCP must not take for sent more, or less, than without the noise: as netem does. */
	skb_orphan_partial(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *noise_dequeue(struct Qdisc *sch)
{
	struct noise_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);

	if (!skb)
		return NULL;
	if (noise_stamp_of(skb)->release > ktime_get_ns()) {
		qdisc_watchdog_schedule_ns(&q->watchdog, noise_stamp_of(skb)->release);
		return NULL;
	}
	return qdisc_dequeue_head(sch);
}

/* Linux 6.1 takes no pointers to constants here. */
static struct netlink_range_validation noise_phases = { .max = NOISE_MOST_PHASE };
static struct netlink_range_validation noise_means = { .max = NOISE_MOST_WAN };
static struct netlink_range_validation noise_steps = { 1, NOISE_MOST_WAN_STEP };
static struct netlink_range_validation noise_interrupts = { .max = NOISE_MOST_NIC };

static const struct nla_policy noise_policy[TCA_NOISE_MAX + 1] = {
	[TCA_NOISE_SEED]	= { .type = NLA_U64 },
	[TCA_NOISE_START]	= { .type = NLA_U64 },
	[TCA_NOISE_RATE]	= { .type = NLA_U64 },
	[TCA_NOISE_PHASE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &noise_phases),
	[TCA_NOISE_HOST]	= NLA_POLICY_MIN_LEN(2 * sizeof(u32)),
	[TCA_NOISE_WAN]		= NLA_POLICY_FULL_RANGE(NLA_U32, &noise_means),
	[TCA_NOISE_WAN_STEP]	= NLA_POLICY_FULL_RANGE(NLA_U32, &noise_steps),
	[TCA_NOISE_NIC]		= NLA_POLICY_FULL_RANGE(NLA_U32, &noise_interrupts),
};

/* A copy of an attribute's quantiles, or an error. */
static u32 *noise_quantiles(const struct nlattr *given, struct netlink_ext_ack *extack)
{
	const u32 count = nla_len(given) / sizeof(u32);
	const u32 *values = nla_data(given);
	u32 i;

	if (count > NOISE_MOST_QUANTILES) {
		NL_SET_ERR_MSG(extack, "too many quantiles");
		return ERR_PTR(-E2BIG);
	}
	for (i = 1; i < count; i++) {
		if (values[i] < values[i - 1]) {
			NL_SET_ERR_MSG(extack, "a quantile is below the one before it");
			return ERR_PTR(-EINVAL);
		}
	}
	return kmemdup(values, count * sizeof(u32), GFP_KERNEL);
}

static int noise_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_NOISE_MAX + 1];
	struct noise_sched *q = qdisc_priv(sch);
	struct noise_params params = q->params;
	const u32 *old = NULL;
	int err;

	err = nla_parse_nested(tb, TCA_NOISE_MAX, opt, noise_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_NOISE_RATE])
		params.rate = nla_get_u64(tb[TCA_NOISE_RATE]);
	if (tb[TCA_NOISE_PHASE])
		params.phase = nla_get_u32(tb[TCA_NOISE_PHASE]);
	if (tb[TCA_NOISE_WAN])
		params.wan = nla_get_u32(tb[TCA_NOISE_WAN]);
	if (tb[TCA_NOISE_WAN_STEP])
		params.wan_step = nla_get_u32(tb[TCA_NOISE_WAN_STEP]);
	if (tb[TCA_NOISE_NIC])
		params.nic = nla_get_u32(tb[TCA_NOISE_NIC]);
	if ((u64)params.wan * NOISE_WAN_CUT > params.wan_step) {
		NL_SET_ERR_MSG(extack, "wan_step is below 20 times wan: packets would overtake");
		return -EINVAL;
	}
	if (tb[TCA_NOISE_HOST]) {
		params.host = noise_quantiles(tb[TCA_NOISE_HOST], extack);
		if (IS_ERR_OR_NULL(params.host))
			return params.host ? PTR_ERR(params.host) : -ENOMEM;
		params.quantiles = nla_len(tb[TCA_NOISE_HOST]) / sizeof(u32);
	}

	sch_tree_lock(sch);
	if (tb[TCA_NOISE_HOST])
		old = q->params.host;
	q->params = params;
	if (tb[TCA_NOISE_SEED])
		q->seed = nla_get_u64(tb[TCA_NOISE_SEED]);
	if (tb[TCA_NOISE_START])
		q->start = nla_get_u64(tb[TCA_NOISE_START]);
	sch_tree_unlock(sch);
	kfree(old);
	return 0;
}

/* The card's clock was at any point when the noise began. */
static void noise_begin(struct noise_sched *q)
{
	const u32 phase = noise_uniform(noise_draw(q, NOISE_NIC, 0), q->params.nic);

	q->vars = (struct noise_vars){ .interrupt = q->start - phase };
}

static int noise_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct noise_sched *q = qdisc_priv(sch);
	int err = 0;

	qdisc_watchdog_init(&q->watchdog, sch);
	q->start = ktime_get_ns();
	q->params.wan_step = 10 * NSEC_PER_MSEC;
	sch->limit = U32_MAX;
	if (opt)
		err = noise_change(sch, opt, extack);
	if (err)
		return err;
	noise_begin(q);
	return 0;
}

static void noise_reset(struct Qdisc *sch)
{
	struct noise_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
	noise_begin(q);
}

static void noise_destroy(struct Qdisc *sch)
{
	struct noise_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	kfree(q->params.host);
}

static int noise_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct noise_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_NOISE_SEED, q->seed, TCA_NOISE_UNSPEC) ||
	    nla_put_u64_64bit(skb, TCA_NOISE_START, q->start, TCA_NOISE_UNSPEC) ||
	    nla_put_u64_64bit(skb, TCA_NOISE_RATE, q->params.rate, TCA_NOISE_UNSPEC) ||
	    nla_put_u32(skb, TCA_NOISE_PHASE, q->params.phase) ||
	    nla_put_u32(skb, TCA_NOISE_WAN, q->params.wan) ||
	    nla_put_u32(skb, TCA_NOISE_WAN_STEP, q->params.wan_step) ||
	    nla_put_u32(skb, TCA_NOISE_NIC, q->params.nic)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int noise_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct noise_sched *q = qdisc_priv(sch);
	struct tc_noise_xstats stats = q->stats;

	stats.wakeups = q->vars.wakeups;
	stats.interrupts = q->vars.interrupts;
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc_ops noise_ops __read_mostly = {
	.id		= "noise",
	.priv_size	= sizeof(struct noise_sched),
	.enqueue	= noise_enqueue,
	.dequeue	= noise_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= noise_init,
	.reset		= noise_reset,
	.destroy	= noise_destroy,
	.change		= noise_change,
	.dump		= noise_dump,
	.dump_stats	= noise_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init noise_module_init(void)
{
	return register_qdisc(&noise_ops);
}

static void __exit noise_module_exit(void)
{
	unregister_qdisc(&noise_ops);
}

module_init(noise_module_init);
module_exit(noise_module_exit);

MODULE_DESCRIPTION("The small random delays of hosts, network cards and long paths");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("net-sch-noise");
