// SPDX-License-Identifier: GPL-2.0
/* A FIFO that drops ever sooner while its packets wait for too long. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <net/pkt_sched.h>

#define LIMIT 1000	/* packets */
#define TARGET_NS (5 * NSEC_PER_MSEC)
#define INTERVAL_NS (100 * NSEC_PER_MSEC)

/* What the qdisc remembers. */
struct mine {
	u64 next_ns;	/* not before this the next signal */
	u32 count;	/* signals since the delay was last below the target */
};

/* What it remembers of a packet: each has room for a little of its queue's own. */
struct mine_packet {
	u64 arrived_ns;
};

static struct mine_packet *of(struct sk_buff *skb)
{
	return (struct mine_packet *)qdisc_skb_cb(skb)->data;
}

/* Whether to tell a sender to slow down. The packet at the head has waited for waited_ns. */
static bool mine_signals(struct mine *mine, u64 now_ns, u64 waited_ns)
{
	if (waited_ns < TARGET_NS) {
		mine->count = 0;
		mine->next_ns = now_ns + INTERVAL_NS;
	}
	if (now_ns < mine->next_ns)
		return false;
	mine->count++;
	mine->next_ns = now_ns + INTERVAL_NS / int_sqrt(mine->count);
	return true;
}

static int mine_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			struct sk_buff **to_free)
{
	u64 now_ns = ktime_get_ns();
	u64 waited_ns = sch->q.head ? now_ns - of(sch->q.head)->arrived_ns : 0;

	if (sch->q.qlen >= LIMIT)
		return qdisc_drop(skb, sch, to_free);
	if (mine_signals(qdisc_priv(sch), now_ns, waited_ns))
		return qdisc_drop(skb, sch, to_free);
	of(skb)->arrived_ns = now_ns;
	return qdisc_enqueue_tail(skb, sch);
}

static struct Qdisc_ops mine_ops __read_mostly = {
	.id = "mine",
	.priv_size = sizeof(struct mine),
	.owner = THIS_MODULE,
	.enqueue = mine_enqueue,
	.dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head,
	.reset = qdisc_reset_queue,
};

static int __init mine_start(void)
{
	return register_qdisc(&mine_ops);
}

static void __exit mine_stop(void)
{
	unregister_qdisc(&mine_ops);
}

module_init(mine_start)
module_exit(mine_stop)
MODULE_DESCRIPTION("An AQM of one's own");
MODULE_LICENSE("GPL");
