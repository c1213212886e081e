// SPDX-License-Identifier: GPL-2.0
/*
 * lsaimd_dctcp - LS-AIMD that reduces by the share of marks (DCTCP, RFC 8257)
 *
 * Both ends need it, or one lsaimd_dctcp and the other dctcp: the receiver
 * tells of each change between marked and unmarked packets at once. Without
 * ECN on the connection it is lsaimd_reno.
 *
 * A lost segment halves, in all once per round trip. Of a loss that a tail
 * loss probe repaired Linux tells as of a mark.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "lsaimd.h"

static void lsaimd_dctcp_begin_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	ca->round = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->marked = tp->delivered_ce;
}

static void lsaimd_dctcp_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	lsaimd_init(sk);
	if (dctcp_has_ecn(tp) || sk->sk_state == TCP_LISTEN ||
	    sk->sk_state == TCP_CLOSE) {
		lsaimd_dctcp_begin_round(sk);
		return;
	}
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &lsaimd_reno);
	INET_ECN_dontxmit(sk);
}

/* Before the ACK's own mark is answered. */
static void lsaimd_dctcp_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	if (before(tp->snd_una, ca->round))
		return;
	ca->alpha = lsaimd_alpha(ca->alpha, tp->delivered - ca->delivered,
				 tp->delivered_ce - ca->marked);
	lsaimd_dctcp_begin_round(sk);
}

static void lsaimd_dctcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct lsaimd *ca = inet_csk_ca(sk);

	dctcp_receive(sk, &ca->receiver, event);
#ifndef HAVE_CWND_EVENT_TX_START
	if (event == CA_EVENT_TX_START)
		lsaimd_tx_start(sk);
#endif
}

static void lsaimd_dctcp_cong_control(CONG_CONTROL_PARAMETERS)
{
	lsaimd_take_in(sk, sample);
}

struct tcp_congestion_ops lsaimd_dctcp __read_mostly = {
	.init		= lsaimd_dctcp_init,
	.release	= lsaimd_release,
	.in_ack_event	= lsaimd_dctcp_in_ack_event,
	.ssthresh	= lsaimd_ssthresh,
	.set_state	= lsaimd_set_state,
	.cong_control	= lsaimd_dctcp_cong_control,
	.cwnd_event	= lsaimd_dctcp_cwnd_event,
#ifdef HAVE_CWND_EVENT_TX_START
	.cwnd_event_tx_start = lsaimd_tx_start,
#endif
	.undo_cwnd	= lsaimd_undo_cwnd,
	.get_info	= lsaimd_get_info,
	.flags		= TCP_CONG_NEEDS_ECN,
	.owner		= THIS_MODULE,
	.name		= "lsaimd_dctcp",
};
