# SPDX-License-Identifier: GPL-2.0
# What differs between kernels, for every module's Kbuild: include $(src)/../compat.mk
#
# It is looked up in their headers: distributions and stable series backport such changes, so that a
# version number does not tell. compat.h and dctcp.h are made of what is found.

header_has = $(if $(shell grep -s '$(2)' $(srctree)/include/$(1)),-D$(3))
ccflags-y += $(call header_has,linux/hrtimer.h,void hrtimer_setup,HAVE_HRTIMER_SETUP)
ccflags-y += $(call header_has,net/tcp.h,__tcp_send_ack.*flags,HAVE_SEND_ACK_FLAGS)
ccflags-y += $(call header_has,net/tcp.h,cong_control.*int flag,HAVE_CONG_CONTROL_ACK)
ccflags-y += $(call header_has,net/tcp.h,cwnd_event_tx_start,HAVE_CWND_EVENT_TX_START)
ccflags-y += $(call header_has,net/tcp.h,tcp_ecn_mode_any,HAVE_ECN_MODE)
ccflags-y += $(call header_has,trace/events/qdisc.h,qdisc_drop_reason reason,HAVE_QDISC_DROP_EVENT)
ccflags-y += $(call header_has,trace/events/skb.h,TP_PROTO(struct sk_buff [*]skb, void [*]location),HAVE_CONSUME_SKB_LOCATION)
ccflags-y += $(call header_has,trace/events/skb.h,rx_sk,HAVE_KFREE_SKB_SOCKET)

# The oldest that they are built for, and tried on.
ifneq ($(shell test $(VERSION) -gt 6 || test $(VERSION) -eq 6 -a $(PATCHLEVEL) -ge 1 || echo older),)
$(error Sandglass's modules need Linux 6.1 or newer, and this is $(VERSION).$(PATCHLEVEL))
endif
