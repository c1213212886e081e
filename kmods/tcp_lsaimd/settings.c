// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_lsaimd - LS-AIMD: settings and registration
 *
 * Each network namespace has its own net.ipv4.tcp_lsaimd.*, which hold for
 * running connections too:
 *
 *   c	C in 1/128, from 1 to 128: a share of the increase
 *   k0	k0 in bytes, for small and for large segments
 *   k1	k1 in bytes, for small and for large segments
 *   wait_after_ack	1: a segment waits for d after the ACK, too
 *   srtt_shift	an RTT's weight in SRTT_pace, 1/2^srtt_shift
 *   burst	segments that leave at once after a wait, from 1 to 10
 *
 * The thesis gives k0 and k1 for an SMSS of 1448 and of 8948 bytes. Where
 * between them the second begins to hold is ours: at the geometric mean.
 */
#include <linux/module.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../settings.h"
#include "lsaimd.h"

#define LSAIMD_LARGE_SMSS	3600	/* sqrt(1448 * 8948) */

/* Small segments and large ones. */
#define LSAIMD_SIZES		2

/**
 * struct lsaimd_settings - net.ipv4.tcp_lsaimd.* of a network namespace
 * @c:	C, in 1/128
 * @k0:	k0 in bytes, by size of segments
 * @k1:	k1 in bytes, by size of segments
 * @wait_after_ack: 1: a segment waits for d after the ACK, too
 * @srtt_shift:	an RTT's weight in SRTT_pace, 1/2^@srtt_shift
 * @burst:	segments that leave at once after a wait
 */
struct lsaimd_settings {
	int	c;
	int	k0[LSAIMD_SIZES];
	int	k1[LSAIMD_SIZES];
	int	wait_after_ack;
	int	srtt_shift;
	int	burst;
};

static struct lsaimd_settings lsaimd_defaults = {
	.c	= LSAIMD_C_ONE,
	.k0	= { 256, 1024 },
	.k1	= { 512, 2048 },
	.srtt_shift = 3,	/* RFC 6298's alpha */
	.burst	= 1,
};

static int lsaimd_most_c = LSAIMD_C_ONE;
static int lsaimd_most_k = U16_MAX;
static int lsaimd_most_shift = 7;
static int lsaimd_most_burst = TCP_INIT_CWND;	/* a wait is no idle time then */

static const struct ctl_table lsaimd_files[] = {
	SETTING("c", lsaimd_defaults.c, SYSCTL_ONE, &lsaimd_most_c),
	SETTING("k0", lsaimd_defaults.k0, SYSCTL_ONE, &lsaimd_most_k),
	SETTING("k1", lsaimd_defaults.k1, SYSCTL_ONE, &lsaimd_most_k),
	SETTING("wait_after_ack", lsaimd_defaults.wait_after_ack, SYSCTL_ZERO, SYSCTL_ONE),
	SETTING("srtt_shift", lsaimd_defaults.srtt_shift, SYSCTL_ZERO, &lsaimd_most_shift),
	SETTING("burst", lsaimd_defaults.burst, SYSCTL_ONE, &lsaimd_most_burst),
};

static const struct settings lsaimd_settings = {
	.path		= "net/ipv4/tcp_lsaimd",
	.files		= lsaimd_files,
	.n_files	= ARRAY_SIZE(lsaimd_files),
	.defaults	= &lsaimd_defaults,
	.size		= sizeof(lsaimd_defaults),
};

/**
 * lsaimd_law() - the constants that hold for a connection
 * @sk:		the socket; its network namespace and its SMSS decide
 * @law:	filled with them
 */
void lsaimd_law(const struct sock *sk, struct lsaimd_law *law)
{
	const struct lsaimd_settings *own = settings_of(sock_net(sk));
	int size = tcp_sk(sk)->mss_cache >= LSAIMD_LARGE_SMSS;

	law->c = READ_ONCE(own->c);
	law->k0 = READ_ONCE(own->k0[size]);
	law->k1 = READ_ONCE(own->k1[size]);
}

/**
 * lsaimd_clock() - how a connection's segments wait
 * @sk:		the socket; its network namespace decides
 * @clock:	filled with it
 */
void lsaimd_clock(const struct sock *sk, struct lsaimd_clock *clock)
{
	const struct lsaimd_settings *own = settings_of(sock_net(sk));

	clock->after_ack = READ_ONCE(own->wait_after_ack);
	clock->srtt_shift = READ_ONCE(own->srtt_shift);
	clock->burst = READ_ONCE(own->burst);
}

static int __init lsaimd_register(void)
{
	int ret;

	ret = settings_register(&lsaimd_settings);
	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&lsaimd_reno);
	if (ret)
		goto no_reno;
	ret = tcp_register_congestion_control(&lsaimd_dctcp);
	if (ret)
		goto no_dctcp;
	return 0;
no_dctcp:
	tcp_unregister_congestion_control(&lsaimd_reno);
no_reno:
	settings_unregister();
	return ret;
}

static void __exit lsaimd_unregister(void)
{
	tcp_unregister_congestion_control(&lsaimd_dctcp);
	tcp_unregister_congestion_control(&lsaimd_reno);
	settings_unregister();
}

module_init(lsaimd_register);
module_exit(lsaimd_unregister);

MODULE_DESCRIPTION("Logarithmically scaled AIMD (LS-AIMD) for Reno and DCTCP");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_lsaimd_reno");
MODULE_ALIAS("tcp_lsaimd_dctcp");
