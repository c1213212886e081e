// SPDX-License-Identifier: GPL-2.0
/* The settings of dctcp_inet; those of alpha's update hold for running flows too. */
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "arithmetic.h"
#include "settings.h"

#define N_SETTINGS	4

/* Since Linux 6.6 the length is given; before, an empty entry ends a table. */
#ifdef register_net_sysctl
#define TABLE_SIZE	N_SETTINGS
#else
#define TABLE_SIZE	(N_SETTINGS + 1)
#endif

/**
 * struct dctcp_inet_net - what a network namespace has of its own
 * @settings:	their values
 * @table:	which files they are
 * @header:	of the registered table
 */
struct dctcp_inet_net {
	struct dctcp_inet_settings	settings;
	struct ctl_table		table[TABLE_SIZE];
	struct ctl_table_header		*header;
};

static unsigned int dctcp_inet_net_id __read_mostly;
static int most_bits = DCTCP_INET_BITS;
static int most_start = 1024;

/* The paper's; the patch that it builds on leaves alpha 0 at the start. */
static const struct dctcp_inet_settings defaults = {
	.shift_g	= 8,
	.alpha_bits	= 20,
	.alpha_per_ack	= 1,
	.alpha_start	= 0,
};

/**
 * dctcp_inet_settings() - the settings of a network namespace
 * @net:	the namespace
 *
 * Return: its settings, which may change at any time.
 */
const struct dctcp_inet_settings *dctcp_inet_settings(const struct net *net)
{
	const struct dctcp_inet_net *own = net_generic(net, dctcp_inet_net_id);

	return &own->settings;
}

static struct ctl_table setting(const char *name, int *value, int *least, int *most)
{
	return (struct ctl_table) {
		.procname	= name,
		.data		= value,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= least,
		.extra2		= most,
	};
}

static int __net_init dctcp_inet_net_init(struct net *net)
{
	struct dctcp_inet_net *own = net_generic(net, dctcp_inet_net_id);
	struct dctcp_inet_settings *values = &own->settings;

	*values = defaults;
	/* A g finer than alpha could not be told from 0. */
	own->table[0] = setting("shift_g", &values->shift_g, SYSCTL_ZERO, &values->alpha_bits);
	own->table[1] = setting("alpha_bits", &values->alpha_bits, &values->shift_g, &most_bits);
	own->table[2] = setting("alpha_per_ack", &values->alpha_per_ack, SYSCTL_ZERO, SYSCTL_ONE);
	own->table[3] = setting("alpha_start", &values->alpha_start, SYSCTL_ZERO, &most_start);
	own->header = register_net_sysctl(net, "net/ipv4/tcp_dctcp_inet", own->table);
	return own->header ? 0 : -ENOMEM;
}

static void __net_exit dctcp_inet_net_exit(struct net *net)
{
	struct dctcp_inet_net *own = net_generic(net, dctcp_inet_net_id);

	unregister_net_sysctl_table(own->header);
}

static struct pernet_operations dctcp_inet_net_ops = {
	.init	= dctcp_inet_net_init,
	.exit	= dctcp_inet_net_exit,
	.id	= &dctcp_inet_net_id,
	.size	= sizeof(struct dctcp_inet_net),
};

int __init dctcp_inet_settings_register(void)
{
	return register_pernet_subsys(&dctcp_inet_net_ops);
}

void dctcp_inet_settings_unregister(void)
{
	unregister_pernet_subsys(&dctcp_inet_net_ops);
}
