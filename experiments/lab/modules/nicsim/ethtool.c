// SPDX-License-Identifier: GPL-2.0-only
/* What ethtool asks of the simulated NIC, but for the rules. */
#include "nicsim.h"

/* Spreads a table evenly over the first @queues. */
void sim_spread(u32 *table, u32 queues)
{
	u32 at;

	for (at = 0; at < TABLE; at++)
		table[at] = ethtool_rxfh_indir_default(at, queues);
}

static void get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	channels->max_combined = CHANNELS;
	channels->combined_count = dev->real_num_rx_queues;
}

static int set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct sim *sim = netdev_priv(dev);
	u32 count = channels->combined_count;
	bool runs = netif_running(dev);
	int error;

	if (sim_names_queues_from(sim, count))
		return -EINVAL;
	if (runs)
		sim_stop(dev);
	/* the kernel sends them anew, to queues that are there */
	memset(sim->flows, 0, sizeof(sim->flows));
	error = netif_set_real_num_queues(dev, count, count);
	if (!error && !netif_is_rxfh_configured(dev))
		sim_spread(sim->table, count);
	if (runs)
		sim_start(dev);
	return error;
}

static int count_of(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? 2 : -EOPNOTSUPP;
}

static void names_of(struct net_device *dev, u32 set, u8 *names)
{
	ethtool_puts(&names, "rx_arfs_add");
	ethtool_puts(&names, "rx_arfs_err");
}

static void statistics(struct net_device *dev, struct ethtool_stats *asked, u64 *counts)
{
	const struct sim *sim = netdev_priv(dev);

	counts[0] = sim->flows_added;
	counts[1] = 0;
}

static u32 rx_rings(struct net_device *dev)
{
	return dev->real_num_rx_queues;
}

static u32 table_size(struct net_device *dev)
{
	return TABLE;
}

static int get_rss(struct net_device *dev, struct ethtool_rxfh_param *rss)
{
	struct sim *sim = netdev_priv(dev);

	rss->hfunc = ETH_RSS_HASH_TOP;
	if (rss->indir)
		memcpy(rss->indir, sim->table, sizeof(sim->table));
	return 0;
}

static void set_table(struct sim *sim, u32 *table, const u32 *wanted)
{
	spin_lock_bh(&sim->lock);
	memcpy(table, wanted, sizeof(sim->table));
	spin_unlock_bh(&sim->lock);
}

static int set_rss(struct net_device *dev, struct ethtool_rxfh_param *rss,
		   struct netlink_ext_ack *extack)
{
	struct sim *sim = netdev_priv(dev);

	if (rss->indir)
		set_table(sim, sim->table, rss->indir);
	return 0;
}

static int make_context(struct net_device *dev, struct ethtool_rxfh_context *context,
			const struct ethtool_rxfh_param *rss, struct netlink_ext_ack *extack)
{
	struct sim *sim = netdev_priv(dev);
	u32 *own = ethtool_rxfh_context_indir(context);

	if (!rss->indir)
		sim_spread(own, dev->real_num_rx_queues);
	set_table(sim, sim->tables[rss->rss_context], rss->indir ?: own);
	return 0;
}

static int change_context(struct net_device *dev, struct ethtool_rxfh_context *context,
			  const struct ethtool_rxfh_param *rss, struct netlink_ext_ack *extack)
{
	struct sim *sim = netdev_priv(dev);

	if (rss->indir)
		set_table(sim, sim->tables[rss->rss_context], rss->indir);
	return 0;
}

static int remove_context(struct net_device *dev, struct ethtool_rxfh_context *context, u32 number,
			  struct netlink_ext_ack *extack)
{
	return sim_names_context(netdev_priv(dev), number) ? -EBUSY : 0;
}

const struct ethtool_ops sim_ethtool = {
	.cap_rss_rxnfc_adds = true,
	.rxfh_indir_space = TABLE,
	.rxfh_max_num_contexts = CONTEXTS,
	.get_channels = get_channels,
	.set_channels = set_channels,
	.get_sset_count = count_of,
	.get_strings = names_of,
	.get_ethtool_stats = statistics,
	.get_rx_ring_count = rx_rings,
	.get_rxfh_indir_size = table_size,
	.get_rxfh = get_rss,
	.set_rxfh = set_rss,
	.create_rxfh_context = make_context,
	.modify_rxfh_context = change_context,
	.remove_rxfh_context = remove_context,
	.get_rxnfc = sim_get_rules,
	.set_rxnfc = sim_set_rules,
};
