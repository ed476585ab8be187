/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A NIC for tests, for no emulated one takes ntuple rules and RSS contexts. It has up to eight
 * channels, each with one NAPI context and one interrupt that goes where its affinity says. A cable
 * joins it to a plain device, "simfar": what that sends comes in on the queue that the rules, the
 * RSS contexts and the RSS table say; what the NIC sends arrives there.
 *
 * A rule matches TCP or UDP over IPv4 or IPv6 by its destination port, and by nothing else. With
 * accelerated RFS, flows go where the kernel sends them, and that is counted as mlx5 does.
 */
#ifndef __NICSIM_H
#define __NICSIM_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/smp.h>

#define NAME	 "nicsim"
#define CHANNELS 8
#define RULES	 64
#define TABLE	 128
#define CONTEXTS 8
#define FLOWS	 1024

struct channel {
	struct napi_struct napi;
	struct sk_buff_head arrived;
	call_single_data_t raise; /* the interrupt, on its way to its CPU */
	struct sim *sim;
	int irq;
	u32 cpu; /* that takes the interrupt */
	char name[IFNAMSIZ + 8];
};

struct rule {
	bool used;
	struct ethtool_rx_flow_spec spec;
	u32 context;
};

struct sim {
	struct channel channels[CHANNELS];
	spinlock_t lock; /* the rules and tables, which packets read */
	struct rule rules[RULES];
	u32 table[TABLE];
	u32 tables[CONTEXTS][TABLE]; /* of contexts */
	u8 flows[FLOWS];	     /* accelerated RFS: queue + 1 of flows by hash; 0: none */
	u64 flows_added;
};

/* device.c */
int sim_start(struct net_device *dev);
int sim_stop(struct net_device *dev);

/* ethtool.c */
extern const struct ethtool_ops sim_ethtool;
void sim_spread(u32 *table, u32 queues);

/* rules.c */
u32 sim_queue_for(struct sim *sim, struct sk_buff *skb);
bool sim_names_queues_from(const struct sim *sim, u32 queue);
bool sim_names_context(const struct sim *sim, u32 context);
int sim_get_rules(struct net_device *dev, struct ethtool_rxnfc *asked, u32 *places);
int sim_set_rules(struct net_device *dev, struct ethtool_rxnfc *asked);
int sim_steer_flow(struct net_device *dev, const struct sk_buff *skb, u16 queue, u32 flow);
int sim_set_features(struct net_device *dev, netdev_features_t features);

#endif /* __NICSIM_H */
