// SPDX-License-Identifier: GPL-2.0
/*
 * sch_faulty - qdiscs with one fault each, which the debug lab has to find
 *
 * Each is a FIFO that does its mistake with every packet that arrives. Most of
 * them go unnoticed on a kernel that does not look.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <net/pkt_sched.h>

#define FULL 1000	/* bytes */

static DEFINE_MUTEX(slow);
static DEFINE_SPINLOCK(one);
static DEFINE_SPINLOCK(other);
static u32 __rcu *guarded;
static u32 sink;
static u32 bits = 32;	/* read so that the compiler does not know */

static int faulty_sleeping(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	mutex_lock(&slow);
	mutex_unlock(&slow);
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_stale(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u32 *gone = kzalloc(sizeof(*gone), GFP_ATOMIC);

	kfree(gone);
	WRITE_ONCE(sink, READ_ONCE(*gone));
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_overrun(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u32 *pair = kcalloc(2, sizeof(*pair), GFP_ATOMIC);

	WRITE_ONCE(sink, READ_ONCE(pair[READ_ONCE(bits) / 16]));
	kfree(pair);
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_leaking(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (skb->len < FULL)	/* echoes and handshakes shall go through */
		return qdisc_enqueue_tail(skb, sch);
	return NET_XMIT_DROP;
}

static int faulty_circular(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	spin_lock(&one);
	spin_lock(&other);
	spin_unlock(&other);
	spin_unlock(&one);
	spin_lock(&other);
	spin_lock(&one);
	spin_unlock(&one);
	spin_unlock(&other);
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_unguarded(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (rcu_dereference_protected(guarded, lockdep_is_held(&one)))
		WRITE_ONCE(sink, 1);
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_shifting(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	WRITE_ONCE(sink, 1U << READ_ONCE(bits));
	return qdisc_enqueue_tail(skb, sch);
}

static void faulty_expire(struct timer_list *timer)
{
}

static int faulty_ticking(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct timer_list *own = kzalloc(sizeof(*own), GFP_ATOMIC);

	timer_setup(own, faulty_expire, 0);
	mod_timer(own, jiffies + HZ);
	kfree(own);
	return qdisc_enqueue_tail(skb, sch);
}

static int faulty_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	return 0;
}

#define FAULTY(name) {				\
	.id		= #name,		\
	.enqueue	= faulty_##name,	\
	.dequeue	= qdisc_dequeue_head,	\
	.peek		= qdisc_peek_head,	\
	.init		= faulty_init,		\
	.reset		= qdisc_reset_queue,	\
	.owner		= THIS_MODULE,		\
}

static struct Qdisc_ops faulty_ops[] = {
	FAULTY(sleeping),
	FAULTY(stale),
	FAULTY(overrun),
	FAULTY(leaking),
	FAULTY(circular),
	FAULTY(unguarded),
	FAULTY(shifting),
	FAULTY(ticking),
};

static void faulty_forget(size_t count)
{
	while (count)
		unregister_qdisc(&faulty_ops[--count]);
}

static int __init faulty_module_init(void)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(faulty_ops); n++) {
		int err = register_qdisc(&faulty_ops[n]);

		if (err) {
			faulty_forget(n);
			return err;
		}
	}
	return 0;
}

static void __exit faulty_module_exit(void)
{
	faulty_forget(ARRAY_SIZE(faulty_ops));
}

module_init(faulty_module_init);
module_exit(faulty_module_exit);
MODULE_ALIAS("sch_sleeping");
MODULE_ALIAS("sch_stale");
MODULE_ALIAS("sch_overrun");
MODULE_ALIAS("sch_leaking");
MODULE_ALIAS("sch_circular");
MODULE_ALIAS("sch_unguarded");
MODULE_ALIAS("sch_shifting");
MODULE_ALIAS("sch_ticking");
MODULE_DESCRIPTION("qdiscs with a fault each");
MODULE_LICENSE("GPL");
