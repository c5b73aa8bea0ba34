"""The four papers reproduced: each folder has what a paper states, what comes out here, and a
report."""
