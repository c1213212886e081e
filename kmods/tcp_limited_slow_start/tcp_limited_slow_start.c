// SPDX-License-Identifier: GPL-2.0
/*
 * limited_reno - Reno with Limited Slow-Start (RFC 3742)
 *
 * The RFC's window is in bytes and Linux's in segments, so what is beyond the
 * last whole segment is kept here. Linux's Reno grows by what an ACK
 * acknowledges (RFC 3465, without its limit), and so does this: one that
 * acknowledges several segments counts as so many of the RFC's.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../settings.h"
#include "arithmetic.h"

/**
 * struct limited_settings - net.ipv4.tcp_limited_slow_start.* of a network namespace
 * @max_ssthresh: window up to which slow start is not limited, in segments
 */
struct limited_settings {
	int	max_ssthresh;
};

/* That of the RFC's examples. */
static struct limited_settings limited_defaults = {
	.max_ssthresh	= 100,
};

static const struct ctl_table limited_files[] = {
	SETTING("max_ssthresh", limited_defaults.max_ssthresh, SYSCTL_ONE, SYSCTL_INT_MAX),
};

static const struct settings limited_sysctls = {
	.path		= "net/ipv4/tcp_limited_slow_start",
	.files		= limited_files,
	.n_files	= ARRAY_SIZE(limited_files),
	.defaults	= &limited_defaults,
	.size		= sizeof(limited_defaults),
};

/**
 * struct limited_reno - a flow's state
 * @rest:	bytes of the window beyond its whole segments
 */
struct limited_reno {
	u32	rest;
};

static void limited_reno_init(struct sock *sk)
{
	struct limited_reno *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	ca->rest = 0;
}

/* Slow start by the segments of an ACK; returns those left when it ends. */
static u32 limited_reno_slow_start(struct sock *sk, u32 acked)
{
	const struct limited_settings *own = settings_of(sock_net(sk));
	struct limited_reno *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 mss = tp->mss_cache;
	const u64 max_ssthresh = (u64)READ_ONCE(own->max_ssthresh) * mss;
	u32 cwnd = tcp_snd_cwnd(tp);

	for (; acked && cwnd < tp->snd_ssthresh; acked--) {
		ca->rest += limited_slow_start((u64)cwnd * mss + ca->rest, max_ssthresh, mss);
		if (ca->rest >= mss) {
			ca->rest -= mss;
			cwnd++;
		}
	}
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

static void limited_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = limited_reno_slow_start(sk, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

/* The reduced window is of whole segments. */
static u32 limited_reno_ssthresh(struct sock *sk)
{
	struct limited_reno *ca = inet_csk_ca(sk);

	ca->rest = 0;
	return tcp_reno_ssthresh(sk);
}

static struct tcp_congestion_ops limited_reno __read_mostly = {
	.init		= limited_reno_init,
	.ssthresh	= limited_reno_ssthresh,
	.cong_avoid	= limited_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "limited_reno",
};

static int __init limited_register(void)
{
	int ret;

	ret = settings_register(&limited_sysctls);
	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&limited_reno);
	if (ret)
		settings_unregister();
	return ret;
}

static void __exit limited_unregister(void)
{
	tcp_unregister_congestion_control(&limited_reno);
	settings_unregister();
}

module_init(limited_register);
module_exit(limited_unregister);

MODULE_DESCRIPTION("Limited Slow-Start (RFC 3742) for Reno");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_limited_reno");
