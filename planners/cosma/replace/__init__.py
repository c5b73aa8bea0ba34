"""What leaves the chip and comes back, for a schedule that is given."""
