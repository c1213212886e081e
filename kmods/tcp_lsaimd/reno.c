// SPDX-License-Identifier: GPL-2.0
/*
 * lsaimd_reno - LS-AIMD that halves, for marks and losses alike
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "lsaimd.h"

#ifndef HAVE_CWND_EVENT_TX_START
static void lsaimd_reno_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		lsaimd_tx_start(sk);
}
#endif

static void lsaimd_reno_cong_control(CONG_CONTROL_PARAMETERS)
{
	lsaimd_take_in(sk, sample);
}

struct tcp_congestion_ops lsaimd_reno __read_mostly = {
	.init		= lsaimd_init,
	.release	= lsaimd_release,
	.ssthresh	= lsaimd_ssthresh,
	.set_state	= lsaimd_set_state,
	.cong_control	= lsaimd_reno_cong_control,
#ifdef HAVE_CWND_EVENT_TX_START
	.cwnd_event_tx_start = lsaimd_tx_start,
#else
	.cwnd_event	= lsaimd_reno_cwnd_event,
#endif
	.undo_cwnd	= lsaimd_undo_cwnd,
	.get_info	= lsaimd_get_info,
	.owner		= THIS_MODULE,
	.name		= "lsaimd_reno",
};
