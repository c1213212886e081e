"""Linux's own tests in the lab: built, run, and compared with what is known of them."""
