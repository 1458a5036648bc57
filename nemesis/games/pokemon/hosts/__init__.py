"""Node processes that simulate battles, and the match pool that runs them."""
