// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_cut_at_once - a sender that falls silent when a mark reduces its window
 *
 * Linux spreads a reduction over a round trip (Proportional Rate Reduction, RFC
 * 6937): while more is in flight than the new window, it sends ssthresh of
 * each prior_cwnd packets that are acknowledged. BSD's TCP sets cwnd to the new
 * window with the ACK that echoes the mark (RFC 3168, section 6.1.2), and so
 * sends nothing until that much has been acknowledged.
 *
 * tcp_cwnd_reduction() takes off what has been sent since the reduction began.
 * If that is a billion packets it sends nothing, until less is in flight than
 * ssthresh; then it goes on with the clock of ACKs. tcp_enter_cwr() has set that
 * count to 0 when it sets the state, of which a tracepoint tells, whichever the
 * congestion control. Nothing else reads the count, and when CWR ends it becomes
 * what it would be without this module: should Linux go on to Recovery, that
 * repairs as ever, and does not make up for what was held back.
 */
#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/tcp.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../settings.h"

#define CUT_HELD_BACK	BIT(30)	/* in prr_out: more than ever is sent in a round trip */

/**
 * struct cut_settings - net.ipv4.tcp_cut_at_once.* of a network namespace
 * @marks:	whether reductions for marks are made at once
 */
struct cut_settings {
	int	marks;
};

static struct cut_settings cut_defaults;

static const struct ctl_table cut_files[] = {
	SETTING("marks", cut_defaults.marks, SYSCTL_ZERO, SYSCTL_ONE),
};

static const struct settings cut_settings = {
	.path		= "net/ipv4/tcp_cut_at_once",
	.files		= cut_files,
	.n_files	= ARRAY_SIZE(cut_files),
	.defaults	= &cut_defaults,
	.size		= sizeof(cut_defaults),
};

static struct tracepoint *cut_state_set;

/* What PRR would have sent until now, or what was sent where that is more. */
static u32 cut_prr_out(const struct tcp_sock *tp)
{
	const u64 spread = div_u64((u64)tp->snd_ssthresh * tp->prr_delivered,
				   max(tp->prior_cwnd, 1U));

	return max_t(u64, tp->prr_out & ~CUT_HELD_BACK, min_t(u64, spread, tp->prr_delivered));
}

static void cut_on_state_set(void *unused, struct sock *sk, const u8 state)
{
	const struct cut_settings *cut = settings_of(sock_net(sk));
	struct tcp_sock *tp = tcp_sk(sk);

	if (state != TCP_CA_CWR) {
		if (tp->prr_out & CUT_HELD_BACK)
			tp->prr_out = cut_prr_out(tp);
	} else if (READ_ONCE(cut->marks) && !inet_csk(sk)->icsk_ca_ops->cong_control) {
		tp->prr_out |= CUT_HELD_BACK;
	}
}

static void cut_find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "tcp_cong_state_set"))
		cut_state_set = tp;
}

static int __init cut_module_init(void)
{
	int err;

	for_each_kernel_tracepoint(cut_find_tracepoint, NULL);
	if (!cut_state_set) {
		pr_err("tcp_cut_at_once: this kernel has no tracepoint tcp_cong_state_set\n");
		return -ENOENT;
	}
	err = settings_register(&cut_settings);
	if (err)
		return err;
	err = tracepoint_probe_register(cut_state_set, cut_on_state_set, NULL);
	if (err)
		settings_unregister();
	return err;
}

static void __exit cut_module_exit(void)
{
	tracepoint_probe_unregister(cut_state_set, cut_on_state_set, NULL);
	tracepoint_synchronize_unregister();
	settings_unregister();
}

module_init(cut_module_init);
module_exit(cut_module_exit);

MODULE_DESCRIPTION("Reductions of the window for marks at once, without PRR");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
