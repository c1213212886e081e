// SPDX-License-Identifier: GPL-2.0
/*
 * sch_above - a qdisc above another one, which believes what that tells it
 *
 * It keeps a list of the queues that hold packets, of one here, as HTB, HFSC
 * and others do. What comes empty is taken off when its last packet leaves, or
 * when it tells of drops and nothing is left. Linux before the spring of 2025
 * corrupts such lists when both happen; this one counts how often they do.
 */
#include <linux/module.h>
#include <net/pkt_sched.h>

/**
 * struct above_sched - private data of the qdisc
 * @below:	the queue below
 * @listed:	whether it is on the list
 */
struct above_sched {
	struct Qdisc	*below;
	bool		listed;
};

static unsigned int twice;
module_param(twice, uint, 0444);
MODULE_PARM_DESC(twice, "how often a queue was taken off that was off already");

static void above_take_off(struct above_sched *q)
{
	twice += !q->listed;
	q->listed = false;
}

static int above_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct above_sched *q = qdisc_priv(sch);
	const unsigned int bytes = qdisc_pkt_len(skb);
	const int ret = qdisc_enqueue(skb, q->below, to_free);

	if (ret != NET_XMIT_SUCCESS)
		return ret;
	q->listed = true;
	sch->qstats.backlog += bytes;
	sch->q.qlen++;
	return ret;
}

static struct sk_buff *above_dequeue(struct Qdisc *sch)
{
	struct above_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = q->below->dequeue(q->below);

	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	if (!q->below->q.qlen)
		above_take_off(q);
	return skb;
}

static int above_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct above_sched *q = qdisc_priv(sch);

	q->below = &noop_qdisc;
	return 0;
}

static void above_reset(struct Qdisc *sch)
{
	struct above_sched *q = qdisc_priv(sch);

	qdisc_reset(q->below);
	q->listed = false;
}

static void above_destroy(struct Qdisc *sch)
{
	struct above_sched *q = qdisc_priv(sch);

	qdisc_put(q->below);
}

static int above_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *below,
		       struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct above_sched *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, below ?: &noop_qdisc, &q->below);
	return 0;
}

static struct Qdisc *above_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct above_sched *q = qdisc_priv(sch);

	return q->below;
}

static unsigned long above_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void above_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
}

static void above_qlen_notify(struct Qdisc *sch, unsigned long cl)
{
	above_take_off(qdisc_priv(sch));
}

static const struct Qdisc_class_ops above_class_ops = {
	.graft		= above_graft,
	.leaf		= above_leaf,
	.find		= above_find,
	.walk		= above_walk,
	.qlen_notify	= above_qlen_notify,
};

static struct Qdisc_ops above_ops __read_mostly = {
	.id		= "above",
	.cl_ops		= &above_class_ops,
	.priv_size	= sizeof(struct above_sched),
	.enqueue	= above_enqueue,
	.dequeue	= above_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= above_init,
	.reset		= above_reset,
	.destroy	= above_destroy,
	.owner		= THIS_MODULE,
};

static int __init above_module_init(void)
{
	return register_qdisc(&above_ops);
}

static void __exit above_module_exit(void)
{
	unregister_qdisc(&above_ops);
}

module_init(above_module_init);
module_exit(above_module_exit);
MODULE_DESCRIPTION("A qdisc that counts how often the one below is empty twice");
MODULE_LICENSE("GPL");
