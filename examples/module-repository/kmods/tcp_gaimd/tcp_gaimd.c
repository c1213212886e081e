// SPDX-License-Identifier: GPL-2.0
/*
 * gaimd - AIMD(alpha, beta) that shares with Reno, and is smoother
 *
 * Yang, Lam: General AIMD Congestion Control, ICNP 2000. A sender that keeps
 * beta of its window after a loss, and grows by alpha = 4 (1 - beta^2) / 3
 * segments per round trip, is as fast as Reno at the same rate of loss: 5/16
 * for 7/8, and 1 for 1/2, which is Reno itself.
 *
 * Each network namespace has its own net.ipv4.tcp_gaimd.beta, in 1/8, which
 * holds for running connections too.
 */
#include <linux/build_bug.h>
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../settings.h"

/* What beta is a multiple of. */
#define GAIMD_ONE	8

/**
 * struct gaimd_settings - net.ipv4.tcp_gaimd.* of a network namespace
 * @beta:	of the window that a reduction leaves, in 1/GAIMD_ONE
 */
struct gaimd_settings {
	int	beta;
};

static struct gaimd_settings gaimd_defaults = {
	.beta	= 7,
};

static int gaimd_most_beta = GAIMD_ONE - 1;

static const struct ctl_table gaimd_files[] = {
	SETTING("beta", gaimd_defaults.beta, SYSCTL_ONE, &gaimd_most_beta),
};

static const struct settings gaimd_sysctls = {
	.path		= "net/ipv4/tcp_gaimd",
	.files		= gaimd_files,
	.n_files	= ARRAY_SIZE(gaimd_files),
	.defaults	= &gaimd_defaults,
	.size		= sizeof(gaimd_defaults),
};

/**
 * struct gaimd - counters of a connection, which getsockopt(TCP_CC_INFO) hands out
 * @reductions:	of the window so far
 * @undone:	of these taken back, as nothing was lost
 */
struct gaimd {
	u32	reductions;
	u32	undone;
};

static void gaimd_init(struct sock *sk)
{
	struct gaimd *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(*ca) > sizeof(union tcp_cc_info));
	memset(ca, 0, sizeof(*ca));
}

static u32 gaimd_beta(const struct sock *sk)
{
	const struct gaimd_settings *own = settings_of(sock_net(sk));

	return READ_ONCE(own->beta);
}

static u32 gaimd_ssthresh(struct sock *sk)
{
	struct gaimd *ca = inet_csk_ca(sk);

	ca->reductions++;
	return max(tcp_snd_cwnd(tcp_sk(sk)) * gaimd_beta(sk) / GAIMD_ONE, 2U);
}

static u32 gaimd_undo_cwnd(struct sock *sk)
{
	struct gaimd *ca = inet_csk_ca(sk);

	ca->undone++;
	return tcp_reno_undo_cwnd(sk);
}

/* How many acknowledged segments add one to the window: cwnd / alpha, but never 0. */
static u32 gaimd_per_segment(u32 cwnd, u32 beta)
{
	return max(cwnd * 3 * GAIMD_ONE * GAIMD_ONE /
		   (4 * (GAIMD_ONE * GAIMD_ONE - beta * beta)), 1U);
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
	tcp_cong_avoid_ai(tp, gaimd_per_segment(tcp_snd_cwnd(tp), gaimd_beta(sk)), acked);
}

/* What ss(8) asks for has no place for ours. */
static size_t gaimd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct gaimd *ca = inet_csk_ca(sk);

	if (ext != ~0U)
		return 0;
	memcpy(info, ca, sizeof(*ca));
	return sizeof(*ca);
}

static struct tcp_congestion_ops gaimd __read_mostly = {
	.init		= gaimd_init,
	.ssthresh	= gaimd_ssthresh,
	.cong_avoid	= gaimd_cong_avoid,
	.undo_cwnd	= gaimd_undo_cwnd,
	.get_info	= gaimd_get_info,
	.owner		= THIS_MODULE,
	.name		= "gaimd",
};

static int __init gaimd_module_init(void)
{
	int ret;

	ret = settings_register(&gaimd_sysctls);
	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&gaimd);
	if (ret)
		settings_unregister();
	return ret;
}

static void __exit gaimd_module_exit(void)
{
	tcp_unregister_congestion_control(&gaimd);
	settings_unregister();
}

module_init(gaimd_module_init);
module_exit(gaimd_module_exit);

MODULE_DESCRIPTION("AIMD(alpha, beta) that shares with Reno");
MODULE_LICENSE("GPL");
