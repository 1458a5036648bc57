"""The damage formula on view records, and matchups estimated with it."""
