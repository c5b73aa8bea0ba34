"""vMCU: outputs over dying inputs, its tables and figures computed anew."""
