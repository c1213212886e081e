// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_abe - Alternative Backoff with ECN (RFC 8511): settings and registration
 *
 * Each network namespace has its own net.ipv4.tcp_abe.*, in percent, from 1 to
 * 100, which hold for running flows too.
 */
#include <linux/module.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../settings.h"
#include "abe.h"

/**
 * struct abe_settings - net.ipv4.tcp_abe.* of a network namespace
 * @percent:	of the window that a reduction leaves
 */
struct abe_settings {
	int	percent[ABE_CONTROLS][ABE_CAUSES];
};

/* RFC 8511 for Reno; its 0.85 for CUBIC; the factors for losses are mainline's. */
static struct abe_settings abe_defaults = {
	.percent = {
		[ABE_RENO]	= { [ABE_LOSS] = 50, [ABE_MARK] = 80 },
		[ABE_CUBIC]	= { [ABE_LOSS] = 70, [ABE_MARK] = 85 },
	},
};

#define ABE_FILE(name, control, cause) \
	SETTING(name, abe_defaults.percent[control][cause], SYSCTL_ONE, SYSCTL_ONE_HUNDRED)

static const struct ctl_table abe_files[] = {
	ABE_FILE("beta_loss", ABE_RENO, ABE_LOSS),
	ABE_FILE("beta_ecn", ABE_RENO, ABE_MARK),
	ABE_FILE("cubic_beta_loss", ABE_CUBIC, ABE_LOSS),
	ABE_FILE("cubic_beta_ecn", ABE_CUBIC, ABE_MARK),
};

static const struct settings abe_settings = {
	.path		= "net/ipv4/tcp_abe",
	.files		= abe_files,
	.n_files	= ARRAY_SIZE(abe_files),
	.defaults	= &abe_defaults,
	.size		= sizeof(abe_defaults),
};

/**
 * abe_beta() - the factor of a reduction
 * @sk:		a socket; its network namespace decides
 * @control:	which congestion control
 * @cause:	of the reduction
 *
 * Return: the factor in 1/1024.
 */
u32 abe_beta(const struct sock *sk, enum abe_control control, enum abe_cause cause)
{
	const struct abe_settings *abe = settings_of(sock_net(sk));

	return abe_factor(READ_ONCE(abe->percent[control][cause]));
}

static int __init abe_register(void)
{
	int ret;

	ret = settings_register(&abe_settings);
	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&abe_reno);
	if (ret)
		goto no_reno;
	ret = tcp_register_congestion_control(&abe_cubic);
	if (ret)
		goto no_cubic;
	return 0;
no_cubic:
	tcp_unregister_congestion_control(&abe_reno);
no_reno:
	settings_unregister();
	return ret;
}

static void __exit abe_unregister(void)
{
	tcp_unregister_congestion_control(&abe_cubic);
	tcp_unregister_congestion_control(&abe_reno);
	settings_unregister();
}

module_init(abe_register);
module_exit(abe_unregister);

MODULE_DESCRIPTION("Alternative Backoff with ECN (RFC 8511) for Reno and CUBIC");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_abe_reno");
MODULE_ALIAS("tcp_abe_cubic");
