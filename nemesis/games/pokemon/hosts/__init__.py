"""Node processes that simulate battles, and the match pool over them."""
