"""Where everything lies: address maps, pools, rings, occupancy."""
