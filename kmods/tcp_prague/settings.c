// SPDX-License-Identifier: GPL-2.0
/* The settings of prague; all hold for running flows too. */
#include <linux/sysctl.h>
#include <net/net_namespace.h>

#include "../settings.h"
#include "arithmetic.h"
#include "settings.h"

/* Those of L4STeam's module, version 0.6, which is the one that was evaluated. */
static struct prague_settings prague_defaults = {
	.rtt_mode	= PRAGUE_RTT_MAX,
	.rtt_target	= 25000,
	.transition	= 500,
	.alpha_start	= 1,
	.loss_percent	= 50,
	.loss_credit	= PRAGUE_CREDIT_NONE,
};

static int prague_most_percent = 100;
static int prague_million = 1000000;

static const struct ctl_table prague_files[] = {
	SETTING("rtt_mode", prague_defaults.rtt_mode, SYSCTL_ZERO, SYSCTL_TWO),
	SETTING("rtt_target", prague_defaults.rtt_target, SYSCTL_ONE, &prague_million),
	SETTING("transition", prague_defaults.transition, SYSCTL_ZERO, &prague_million),
	SETTING("alpha_start", prague_defaults.alpha_start, SYSCTL_ZERO, SYSCTL_ONE),
	SETTING("loss_percent", prague_defaults.loss_percent, SYSCTL_ONE, &prague_most_percent),
	SETTING("loss_credit", prague_defaults.loss_credit, SYSCTL_ZERO, SYSCTL_TWO),
};

static const struct settings prague_sysctls = {
	.path		= "net/ipv4/tcp_prague",
	.files		= prague_files,
	.n_files	= ARRAY_SIZE(prague_files),
	.defaults	= &prague_defaults,
	.size		= sizeof(prague_defaults),
};

/**
 * prague_settings() - the settings of a network namespace
 * @net:	the namespace
 *
 * Return: its settings, which may change at any time.
 */
const struct prague_settings *prague_settings(const struct net *net)
{
	return settings_of(net);
}

int __init prague_settings_register(void)
{
	return settings_register(&prague_sysctls);
}

void prague_settings_unregister(void)
{
	settings_unregister();
}
