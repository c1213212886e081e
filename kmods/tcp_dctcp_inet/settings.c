// SPDX-License-Identifier: GPL-2.0
/* The settings of dctcp_inet; all but alpha_start hold for running flows too. */
#include <linux/sysctl.h>
#include <net/net_namespace.h>

#include "../settings.h"
#include "arithmetic.h"
#include "settings.h"

/* The paper's; the patch that it builds on leaves alpha 0 at the start. */
static struct dctcp_inet_settings dctcp_inet_defaults = {
	.shift_g	= 8,
	.alpha_bits	= 20,
	.alpha_per_ack	= 1,
	.alpha_start	= 0,
	.slow_start_at_ssthresh = 0,
	.reduce_after_rtt = 0,
};

static int dctcp_inet_most_bits = DCTCP_INET_BITS;
static int dctcp_inet_most_start = 1024;

/* A g finer than alpha could not be told from 0. */
static const struct ctl_table dctcp_inet_files[] = {
	SETTING("shift_g", dctcp_inet_defaults.shift_g,
		SYSCTL_ZERO, &dctcp_inet_defaults.alpha_bits),
	SETTING("alpha_bits", dctcp_inet_defaults.alpha_bits,
		&dctcp_inet_defaults.shift_g, &dctcp_inet_most_bits),
	SETTING("alpha_per_ack", dctcp_inet_defaults.alpha_per_ack, SYSCTL_ZERO, SYSCTL_ONE),
	SETTING("alpha_start", dctcp_inet_defaults.alpha_start,
		SYSCTL_ZERO, &dctcp_inet_most_start),
	SETTING("slow_start_at_ssthresh", dctcp_inet_defaults.slow_start_at_ssthresh,
		SYSCTL_ZERO, SYSCTL_ONE),
	SETTING("reduce_after_rtt", dctcp_inet_defaults.reduce_after_rtt,
		SYSCTL_ZERO, SYSCTL_ONE),
};

static const struct settings dctcp_inet_sysctls = {
	.path		= "net/ipv4/tcp_dctcp_inet",
	.files		= dctcp_inet_files,
	.n_files	= ARRAY_SIZE(dctcp_inet_files),
	.defaults	= &dctcp_inet_defaults,
	.size		= sizeof(dctcp_inet_defaults),
};

/**
 * dctcp_inet_settings() - the settings of a network namespace
 * @net:	the namespace
 *
 * Return: its settings, which may change at any time.
 */
const struct dctcp_inet_settings *dctcp_inet_settings(const struct net *net)
{
	return settings_of(net);
}

int __init dctcp_inet_settings_register(void)
{
	return settings_register(&dctcp_inet_sysctls);
}

void dctcp_inet_settings_unregister(void)
{
	settings_unregister();
}
