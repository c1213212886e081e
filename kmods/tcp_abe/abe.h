/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alternative Backoff with ECN (RFC 8511): what both congestion controls share
 *
 * The kernel calls ->ssthresh() for every reduction and does not say why. The
 * congestion state does not tell either, since it changes afterwards. So each
 * ACK's ECN-Echo is kept until the next ACK, and the caller is known by what
 * it leaves in the socket before the call. All callers in net/ipv4 of Linux
 * 6.1, 6.12 and 7.2:
 *
 *   tcp_enter_loss()          a retransmission timeout; lost_out counts at
 *                             least the first segment
 *   tcp_enter_recovery()      a loss found by an ACK, which may carry ECN-Echo
 *                             too, or by RACK's timer; undo_marker is set to
 *                             a sequence number, and lost_out, unless dupacks
 *                             are counted, covers that this may be 0
 *   tcp_process_tlp_ack()     a loss that a tail loss probe repaired; comes
 *                             before the ACK's own ECN-Echo is answered, and
 *                             its condition can be seen when the ACK arrives
 *   tcp_enter_cwr()           a local queue took a segment with NET_XMIT_CN or
 *                             dropped it; segs_out has counted that segment
 *   tcp_enter_cwr()           ECN-Echo; undo_marker and lost_out are 0, and
 *                             nothing was sent since the ACK arrived
 *
 * Only the last is a mark. tcp_enter_cwr() reduces in the states Open and
 * Disorder alone, so a loss after a mark, or a mark after a loss, within one
 * window does not come here a second time. An ACK with ECN-Echo that changes
 * nothing, such as one with nothing in flight, leaves nothing behind that a
 * later call could take for a mark.
 *
 * One case is decided for loss without being certain: an ACK that carries
 * ECN-Echo, acknowledges data beyond a tail loss probe and reports that very
 * probe as a duplicate (DSACK), which the kernel does not let us see.
 */
#ifndef TCP_ABE_H
#define TCP_ABE_H

#include <linux/tcp.h>
#include <net/tcp.h>

#include "arithmetic.h"

/**
 * enum abe_control - a congestion control with factors of its own
 * @ABE_RENO:		abe_reno
 * @ABE_CUBIC:		abe_cubic
 * @ABE_CONTROLS:	how many there are
 */
enum abe_control {
	ABE_RENO,
	ABE_CUBIC,
	ABE_CONTROLS,
};

/**
 * enum abe_cause - why the window is reduced
 * @ABE_LOSS:	a lost segment, or congestion in the host's own queue
 * @ABE_MARK:	an ECN mark that the receiver echoed
 * @ABE_CAUSES:	how many there are
 */
enum abe_cause {
	ABE_LOSS,
	ABE_MARK,
	ABE_CAUSES,
};

/**
 * struct abe_ack - what the last ACK said
 * @segs_out:	the socket's count of sent segments when it came
 * @ece:	whether it carried ECN-Echo
 * @tlp_loss:	whether it shows that a tail loss probe repaired a loss
 */
struct abe_ack {
	u32	segs_out;
	bool	ece;
	bool	tlp_loss;
};

u32 abe_beta(const struct sock *sk, enum abe_control control, enum abe_cause cause);

/**
 * abe_ack_arrives() - take down what an ACK says, from ->in_ack_event()
 * @sk:		the socket; its snd_una is up to date
 * @ack:	where to
 * @flags:	of enum tcp_ca_ack_event_flags
 */
static inline void abe_ack_arrives(const struct sock *sk, struct abe_ack *ack, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ack->segs_out = tp->segs_out;
	ack->ece = flags & CA_ACK_ECE;
	ack->tlp_loss = tp->tlp_high_seq && tp->tlp_retrans &&
			after(tp->snd_una, tp->tlp_high_seq);
}

/**
 * abe_cause_of_cut() - tell a mark from everything else, once in ->ssthresh()
 * @sk:		the socket that reduces its window
 * @ack:	the last ACK
 *
 * Return: the cause.
 */
static inline enum abe_cause abe_cause_of_cut(const struct sock *sk, struct abe_ack *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (ack->tlp_loss) {
		ack->tlp_loss = false;
		return ABE_LOSS;
	}
	if (ack->ece && tp->segs_out == ack->segs_out &&
	    !tp->undo_marker && !tp->lost_out)
		return ABE_MARK;
	return ABE_LOSS;
}

extern struct tcp_congestion_ops abe_reno;
extern struct tcp_congestion_ops abe_cubic;

#endif
