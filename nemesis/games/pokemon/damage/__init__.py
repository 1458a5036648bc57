"""The damage formula on view records, and matchup features for the network."""
