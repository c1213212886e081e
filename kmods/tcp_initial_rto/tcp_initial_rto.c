// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_initial_rto - another initial retransmission timeout than the kernel's
 *
 * Linux waits 1 s (RFC 6298) for the answer to a SYN or a SYN-ACK before it
 * sends it again, and has no setting for that; until 2011 it was 3 s (RFC 1122).
 * A hook of netfilter sees the first of them leave:
 *
 * - tcp_connect() arms the timer after it has sent the SYN, with icsk_rto, which
 *   the socket's lock guards all the while. What follows doubles icsk_rto.
 * - tcp_conn_request() arms the timer of the request before it sends the SYN-ACK;
 *   it is moved, if it still runs. What follows doubles the request's timeout.
 *
 * Neither outlives the handshake: then the timeout is that of the measured round
 * trip or, where a repetition lets none be measured, 3 s (RFC 6298, section 5.7).
 */
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/skbuff.h>
#include <linux/sysctl.h>
#include <linux/tcp.h>
#include <linux/timer.h>
#include <net/net_namespace.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../settings.h"

/**
 * struct rto_settings - net.ipv4.tcp_initial_rto.* of a network namespace
 * @ms:	the timeout; 0: the kernel's own
 */
struct rto_settings {
	int	ms;
};

static struct rto_settings rto_defaults;

static int rto_most = TCP_RTO_MAX / HZ * MSEC_PER_SEC;

static const struct ctl_table rto_files[] = {
	SETTING("ms", rto_defaults.ms, SYSCTL_ZERO, &rto_most),
};

static const struct settings rto_settings = {
	.path		= "net/ipv4/tcp_initial_rto",
	.files		= rto_files,
	.n_files	= ARRAY_SIZE(rto_files),
	.defaults	= &rto_defaults,
	.size		= sizeof(rto_defaults),
};

static void rto_of_syn(struct sock *sk, unsigned long timeout)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (sk_is_tcp(sk) && !icsk->icsk_retransmits)
		icsk->icsk_rto = timeout;
}

static void rto_of_syn_ack(struct request_sock *req, unsigned long timeout)
{
	if (!sk_is_tcp(req->rsk_listener) || req->num_retrans || req->num_timeout)
		return;
	if (mod_timer_pending(&req->rsk_timer, jiffies + timeout))
		req->timeout = timeout;
}

static unsigned int rto_on_sent(void *unused, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	const struct rto_settings *rto = settings_of(state->net);
	const unsigned long timeout = msecs_to_jiffies(READ_ONCE(rto->ms));
	struct sock *sk = skb->sk;

	if (!timeout || !sk)
		return NF_ACCEPT;
	if (sk->sk_state == TCP_SYN_SENT)
		rto_of_syn(sk, timeout);
	else if (sk->sk_state == TCP_NEW_SYN_RECV)
		rto_of_syn_ack(inet_reqsk(sk), timeout);
	return NF_ACCEPT;
}

/* The first of all, since others may take the packet away. */
static const struct nf_hook_ops rto_hook = {
	.hook		= rto_on_sent,
	.pf		= NFPROTO_INET,
	.hooknum	= NF_INET_LOCAL_OUT,
	.priority	= NF_IP_PRI_FIRST,
};

static int __net_init rto_net_init(struct net *net)
{
	return nf_register_net_hook(net, &rto_hook);
}

static void __net_exit rto_net_exit(struct net *net)
{
	nf_unregister_net_hook(net, &rto_hook);
}

static struct pernet_operations rto_net_ops = {
	.init	= rto_net_init,
	.exit	= rto_net_exit,
};

static int __init rto_module_init(void)
{
	int err = settings_register(&rto_settings);

	if (err)
		return err;
	err = register_pernet_subsys(&rto_net_ops);
	if (err)
		settings_unregister();
	return err;
}

static void __exit rto_module_exit(void)
{
	unregister_pernet_subsys(&rto_net_ops);
	settings_unregister();
}

module_init(rto_module_init);
module_exit(rto_module_exit);

MODULE_DESCRIPTION("The retransmission timeout of SYNs and SYN-ACKs");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
