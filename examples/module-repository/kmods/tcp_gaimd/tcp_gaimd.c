// SPDX-License-Identifier: GPL-2.0
/*
 * gaimd - AIMD(5/16, 7/8), smoother than Reno and made to share with it
 *
 * Yang, Lam: General AIMD Congestion Control, ICNP 2000. A sender that keeps
 * b of its window after a loss, and grows by 4 (1 - b^2) / 3 segments per round
 * trip, is as fast as Reno at the same rate of loss: 5/16 for b = 7/8.
 */
#include <linux/module.h>
#include <net/tcp.h>

static u32 gaimd_ssthresh(struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max(cwnd - cwnd / 8, 2U);
}

static void gaimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* a segment for each 16/5 windows */
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp) * 16 / 5, acked);
}

static struct tcp_congestion_ops gaimd __read_mostly = {
	.ssthresh	= gaimd_ssthresh,
	.cong_avoid	= gaimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "gaimd",
};

static int __init gaimd_module_init(void)
{
	return tcp_register_congestion_control(&gaimd);
}

static void __exit gaimd_module_exit(void)
{
	tcp_unregister_congestion_control(&gaimd);
}

module_init(gaimd_module_init);
module_exit(gaimd_module_exit);

MODULE_DESCRIPTION("AIMD(5/16, 7/8)");
MODULE_LICENSE("GPL");
