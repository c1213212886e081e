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

static bool ecn_negotiated(const struct tcp_sock *tp)
{
#ifdef HAVE_ECN_MODE
	return tcp_ecn_mode_any(tp);
#else
	return tp->ecn_flags & TCP_ECN_OK;
#endif
}

static void begin_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	ca->round = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->marked = tp->delivered_ce;
}

static void dctcp_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	lsaimd_init(sk);
	if (ecn_negotiated(tp) || sk->sk_state == TCP_LISTEN ||
	    sk->sk_state == TCP_CLOSE) {
		begin_round(sk);
		return;
	}
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &lsaimd_reno);
	INET_ECN_dontxmit(sk);
}

/* Before the ACK's own mark is answered. */
static void dctcp_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	if (before(tp->snd_una, ca->round))
		return;
	ca->alpha = lsaimd_alpha(ca->alpha, tp->delivered - ca->delivered,
				 tp->delivered_ce - ca->marked);
	begin_round(sk);
}

static void demand_echo(struct sock *sk, bool ce)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * The receiver, RFC 8257 section 3.2: an ACK that is being delayed is sent
 * before the state changes, so that it tells of its own packets, and the next
 * one is not delayed.
 */
static void receive(struct sock *sk, bool ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	if (ca->ce != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			demand_echo(sk, ca->ce);
#ifdef SEND_ACK_TAKES_FLAGS
			__tcp_send_ack(sk, ca->seen, 0);
#else
			__tcp_send_ack(sk, ca->seen);
#endif
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->seen = tcp_sk(sk)->rcv_nxt;
	ca->ce = ce;
	demand_echo(sk, ce);
}

static void dctcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		receive(sk, event == CA_EVENT_ECN_IS_CE);
		break;
#ifndef HAVE_CWND_EVENT_TX_START
	case CA_EVENT_TX_START:
		lsaimd_tx_start(sk);
		break;
#endif
	default:
		break;
	}
}

struct tcp_congestion_ops lsaimd_dctcp __read_mostly = {
	.init		= dctcp_init,
	.release	= lsaimd_release,
	.in_ack_event	= dctcp_in_ack_event,
	.ssthresh	= lsaimd_ssthresh,
	.set_state	= lsaimd_set_state,
	.cong_control	= lsaimd_cong_control,
	.cwnd_event	= dctcp_cwnd_event,
#ifdef HAVE_CWND_EVENT_TX_START
	.cwnd_event_tx_start = lsaimd_tx_start,
#endif
	.undo_cwnd	= lsaimd_undo_cwnd,
	.get_info	= lsaimd_get_info,
	.flags		= TCP_CONG_NEEDS_ECN,
	.owner		= THIS_MODULE,
	.name		= "lsaimd_dctcp",
};
