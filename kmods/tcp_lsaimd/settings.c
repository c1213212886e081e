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
 *
 * The thesis gives k0 and k1 for an SMSS of 1448 and of 8948 bytes. Where
 * between them the second begins to hold is ours: at the geometric mean.
 */
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "lsaimd.h"

#define LARGE_SMSS	3600	/* sqrt(1448 * 8948) */

/* Small segments and large ones. */
#define SIZES		2

enum setting {
	SETTING_C,
	SETTING_K0,
	SETTING_K1,
	SETTINGS,
};

/* Since Linux 6.6 the length is given; before, an empty entry ends a table. */
#ifdef register_net_sysctl
#define TABLE_SIZE	SETTINGS
#else
#define TABLE_SIZE	(SETTINGS + 1)
#endif

/**
 * struct lsaimd_net - what a network namespace has of its own
 * @value:	the settings, by size of segments
 * @table:	which files they are
 * @header:	of the registered table
 */
struct lsaimd_net {
	int			value[SETTINGS][SIZES];
	struct ctl_table	table[TABLE_SIZE];
	struct ctl_table_header	*header;
};

static unsigned int lsaimd_net_id __read_mostly;

/**
 * struct description - of a setting
 * @name:	of its file
 * @values:	how many numbers the file has
 * @most:	what each is at most; the least is 1
 * @normal:	what each is at first
 */
struct description {
	const char	*name;
	int		values;
	int		most;
	int		normal[SIZES];
};

static const struct description descriptions[SETTINGS] = {
	[SETTING_C]	= { "c", 1, LSAIMD_C_ONE, { LSAIMD_C_ONE } },
	[SETTING_K0]	= { "k0", SIZES, U16_MAX, { 256, 1024 } },
	[SETTING_K1]	= { "k1", SIZES, U16_MAX, { 512, 2048 } },
};

/**
 * lsaimd_law() - the constants that hold for a connection
 * @sk:		the socket; its network namespace and its SMSS decide
 * @law:	filled with them
 */
void lsaimd_law(const struct sock *sk, struct lsaimd_law *law)
{
	const struct lsaimd_net *own = net_generic(sock_net(sk), lsaimd_net_id);
	int size = tcp_sk(sk)->mss_cache >= LARGE_SMSS;

	law->c = READ_ONCE(own->value[SETTING_C][0]);
	law->k0 = READ_ONCE(own->value[SETTING_K0][size]);
	law->k1 = READ_ONCE(own->value[SETTING_K1][size]);
}

static int __net_init lsaimd_net_init(struct net *net)
{
	struct lsaimd_net *own = net_generic(net, lsaimd_net_id);
	unsigned int i;

	for (i = 0; i < SETTINGS; i++) {
		const struct description *d = &descriptions[i];

		memcpy(own->value[i], d->normal, sizeof(d->normal));
		own->table[i] = (struct ctl_table) {
			.procname	= d->name,
			.data		= own->value[i],
			.maxlen		= d->values * sizeof(int),
			.mode		= 0644,
			.proc_handler	= proc_dointvec_minmax,
			.extra1		= SYSCTL_ONE,
			.extra2		= (void *)&d->most,
		};
	}
	own->header = register_net_sysctl(net, "net/ipv4/tcp_lsaimd", own->table);
	return own->header ? 0 : -ENOMEM;
}

static void __net_exit lsaimd_net_exit(struct net *net)
{
	struct lsaimd_net *own = net_generic(net, lsaimd_net_id);

	unregister_net_sysctl_table(own->header);
}

static struct pernet_operations lsaimd_net_ops = {
	.init	= lsaimd_net_init,
	.exit	= lsaimd_net_exit,
	.id	= &lsaimd_net_id,
	.size	= sizeof(struct lsaimd_net),
};

static int __init lsaimd_register(void)
{
	int ret;

	ret = register_pernet_subsys(&lsaimd_net_ops);
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
	unregister_pernet_subsys(&lsaimd_net_ops);
	return ret;
}

static void __exit lsaimd_unregister(void)
{
	tcp_unregister_congestion_control(&lsaimd_dctcp);
	tcp_unregister_congestion_control(&lsaimd_reno);
	unregister_pernet_subsys(&lsaimd_net_ops);
}

module_init(lsaimd_register);
module_exit(lsaimd_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Logarithmically scaled AIMD (LS-AIMD) for Reno and DCTCP");
MODULE_ALIAS("tcp_lsaimd_reno");
MODULE_ALIAS("tcp_lsaimd_dctcp");
