"""Questions over many plans: budgets, sweeps and Pareto fronts."""
