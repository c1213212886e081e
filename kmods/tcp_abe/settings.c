// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_abe - Alternative Backoff with ECN (RFC 8511): settings and registration
 *
 * Each network namespace has its own net.ipv4.tcp_abe.*, in percent, from 1 to
 * 100, which hold for running flows too.
 */
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "abe.h"

#define N_SETTINGS	(ABE_CONTROLS * ABE_CAUSES)

/* Since Linux 6.6 the length is given; before, an empty entry ends a table. */
#ifdef register_net_sysctl
#define TABLE_SIZE	N_SETTINGS
#else
#define TABLE_SIZE	(N_SETTINGS + 1)
#endif

/**
 * struct abe_net - what a network namespace has of its own
 * @percent:	the settings
 * @table:	which files they are
 * @header:	of the registered table
 */
struct abe_net {
	int			percent[ABE_CONTROLS][ABE_CAUSES];
	struct ctl_table	table[TABLE_SIZE];
	struct ctl_table_header	*header;
};

static unsigned int abe_net_id __read_mostly;

/* RFC 8511 for Reno; its 0.85 for CUBIC; the factors for losses are mainline's. */
static const int defaults[ABE_CONTROLS][ABE_CAUSES] = {
	[ABE_RENO]	= { [ABE_LOSS] = 50, [ABE_MARK] = 80 },
	[ABE_CUBIC]	= { [ABE_LOSS] = 70, [ABE_MARK] = 85 },
};

static const char * const names[ABE_CONTROLS][ABE_CAUSES] = {
	[ABE_RENO]	= { [ABE_LOSS] = "beta_loss", [ABE_MARK] = "beta_ecn" },
	[ABE_CUBIC]	= { [ABE_LOSS] = "cubic_beta_loss", [ABE_MARK] = "cubic_beta_ecn" },
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
	const struct abe_net *abe = net_generic(sock_net(sk), abe_net_id);

	return abe_factor(READ_ONCE(abe->percent[control][cause]));
}

static int __net_init abe_net_init(struct net *net)
{
	struct abe_net *abe = net_generic(net, abe_net_id);
	unsigned int i;

	for (i = 0; i < N_SETTINGS; i++) {
		unsigned int control = i / ABE_CAUSES, cause = i % ABE_CAUSES;

		abe->percent[control][cause] = defaults[control][cause];
		abe->table[i] = (struct ctl_table) {
			.procname	= names[control][cause],
			.data		= &abe->percent[control][cause],
			.maxlen		= sizeof(int),
			.mode		= 0644,
			.proc_handler	= proc_dointvec_minmax,
			.extra1		= SYSCTL_ONE,
			.extra2		= SYSCTL_ONE_HUNDRED,
		};
	}
	abe->header = register_net_sysctl(net, "net/ipv4/tcp_abe", abe->table);
	return abe->header ? 0 : -ENOMEM;
}

static void __net_exit abe_net_exit(struct net *net)
{
	struct abe_net *abe = net_generic(net, abe_net_id);

	unregister_net_sysctl_table(abe->header);
}

static struct pernet_operations abe_net_ops = {
	.init	= abe_net_init,
	.exit	= abe_net_exit,
	.id	= &abe_net_id,
	.size	= sizeof(struct abe_net),
};

static int __init abe_register(void)
{
	int ret;

	ret = register_pernet_subsys(&abe_net_ops);
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
	unregister_pernet_subsys(&abe_net_ops);
	return ret;
}

static void __exit abe_unregister(void)
{
	tcp_unregister_congestion_control(&abe_cubic);
	tcp_unregister_congestion_control(&abe_reno);
	unregister_pernet_subsys(&abe_net_ops);
}

module_init(abe_register);
module_exit(abe_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Alternative Backoff with ECN (RFC 8511) for Reno and CUBIC");
MODULE_ALIAS("tcp_abe_reno");
MODULE_ALIAS("tcp_abe_cubic");
