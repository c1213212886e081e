// SPDX-License-Identifier: GPL-2.0
/*
 * reno_acks - Reno that counts ACKs, as before Appropriate Byte Counting
 *
 * Linux's Reno grows by what an ACK acknowledges (RFC 3465, without its limit).
 * This one grows as RFC 5681 recommends for slow start, by one segment per ACK
 * at most, so that a receiver that delays ACKs slows it down.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "../compat.h"

static void reno_acks_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, 1);
	else
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), 1);
}

static struct tcp_congestion_ops reno_acks __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= reno_acks_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "reno_acks",
};

static int __init reno_acks_module_init(void)
{
	return tcp_register_congestion_control(&reno_acks);
}

static void __exit reno_acks_module_exit(void)
{
	tcp_unregister_congestion_control(&reno_acks);
}

module_init(reno_acks_module_init);
module_exit(reno_acks_module_exit);

MODULE_DESCRIPTION("Reno that counts ACKs");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
