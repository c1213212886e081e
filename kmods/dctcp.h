/* SPDX-License-Identifier: GPL-2.0 */
/* What each kind of DCTCP needs of both ends (RFC 8257), with Accurate ECN too (RFC 9768). */
#ifndef SANDGLASS_DCTCP_H
#define SANDGLASS_DCTCP_H

#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

/**
 * struct dctcp_receiver - what a receiver remembers
 * @rcv_nxt:	what it expected before the packet that came last
 * @ce:		whether that packet was marked
 */
struct dctcp_receiver {
	u32	rcv_nxt;
	bool	ce;
};

/* Whether both ends use ECN, of any kind. */
static inline bool dctcp_has_ecn(const struct tcp_sock *tp)
{
#ifdef HAVE_ECN_MODE
	return tcp_ecn_mode_any(tp);
#else
	return tp->ecn_flags & TCP_ECN_OK;
#endif
}

/* Whether both ends use Accurate ECN: each ACK then counts the marks. */
static inline bool dctcp_has_accecn(const struct tcp_sock *tp)
{
#ifdef HAVE_ECN_MODE
	return tcp_ecn_mode_accecn(tp);
#else
	return false;
#endif
}

/**
 * dctcp_receiver_init() - nothing has come yet
 * @sk:	the socket
 * @r:	its receiver
 */
static inline void dctcp_receiver_init(const struct sock *sk, struct dctcp_receiver *r)
{
	r->rcv_nxt = tcp_sk(sk)->rcv_nxt;
	r->ce = false;
}

static inline void dctcp_echo(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

static inline void dctcp_send_ack(struct sock *sk, u32 rcv_nxt)
{
#ifdef HAVE_SEND_ACK_FLAGS
	__tcp_send_ack(sk, rcv_nxt, 0);
#else
	__tcp_send_ack(sk, rcv_nxt);
#endif
}

/**
 * dctcp_receive() - answer a packet so that an ACK stands for packets all marked, or none of them
 * @sk:		the socket
 * @r:		its receiver
 * @event:	from ->cwnd_event(); others than the two of ECN do nothing
 *
 * RFC 8257, section 3.2: an ACK that is being delayed is sent before the state changes, and the
 * next is not delayed. Accurate ECN does without: Linux counts, and acknowledges each change.
 */
static inline void dctcp_receive(struct sock *sk, struct dctcp_receiver *r,
				 enum tcp_ca_event event)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool ce = event == CA_EVENT_ECN_IS_CE;

	if ((!ce && event != CA_EVENT_ECN_NO_CE) || dctcp_has_accecn(tp))
		return;
	if (r->ce != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			dctcp_echo(tp, r->ce);
			dctcp_send_ack(sk, r->rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	r->rcv_nxt = tp->rcv_nxt;
	r->ce = ce;
	dctcp_echo(tp, ce);
}

#endif
