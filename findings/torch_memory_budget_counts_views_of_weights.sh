#!/usr/bin/env bash
# torch 2.13.0
# activation_memory_budget behaves as if the transposed weights, which are views of the parameters and
# take nothing, were among what is kept for the backward pass. Of eight products of 256 by 256 with a
# batch of 16, whose maps are small beside the weights, a budget of 0.1 keeps all seven maps; with a
# batch of 64 a budget of 0.99 keeps three of the seven and computes five products more. Of the same
# network as convolutions of one by one, whose backward pass wants no transposed weight, 0.99 keeps
# all seven and 0.1 none, with either batch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/python" -W ignore - >"$folder/seen" 2>"$folder/log" <<'PYTHON'
import torch
import torch._functorch.config
from functorch.compile import aot_function, min_cut_rematerialization_partition

WIDTH, LAYERS = 256, 8


def products(x, *weights):
    for weight in weights:
        x = torch.relu(x @ weight)
    return x


def convolutions(x, *weights):
    for weight in weights:
        x = torch.relu(torch.conv2d(x, weight))
    return x


def maps_kept(network, inputs, budget):
    """How many new maps the forward pass hands to the backward pass, and the products of both."""
    found = {"products": 0}

    def count(graph):
        names = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
        found["products"] += sum("aten.mm" in name or "convolution" in name for name in names)

    def forward(graph, _):
        count(graph)

        def run(arguments):
            results = graph(*arguments)
            old = {x.untyped_storage().data_ptr() for x in (*arguments, results[0])}
            sizes = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in results[1:]}
            found["bytes"] = sum(size for at, size in sizes.items() if at not in old)
            return results

        run._boxed_call = True
        return run

    def backward(graph, _):
        count(graph)
        return graph

    with torch._functorch.config.patch(activation_memory_budget=budget):
        traced = aot_function(network, forward, backward, partition_fn=min_cut_rematerialization_partition)
        traced(*inputs).sum().backward()
    return found["bytes"] / inputs[0].nbytes, found["products"]


for network, shape, tail in ((products, (WIDTH, WIDTH), ()), (convolutions, (WIDTH, WIDTH, 1, 1), (1, 1))):
    for batch in (16, 64):
        weights = [torch.zeros(shape, requires_grad=True) for _ in range(LAYERS)]
        inputs = [torch.zeros(batch, WIDTH, *tail), *weights]
        for budget in (1.0, 0.99, 0.5, 0.1):
            kept, computed = maps_kept(network, inputs, budget)
            print(f"{network.__name__}, batch {batch}, budget {budget}: {kept:g} maps kept, {computed} products")
PYTHON
grep maps "$folder/seen" | diff - <(cat <<'SEEN'
products, batch 16, budget 1.0: 7 maps kept, 23 products
products, batch 16, budget 0.99: 7 maps kept, 23 products
products, batch 16, budget 0.5: 7 maps kept, 23 products
products, batch 16, budget 0.1: 7 maps kept, 23 products
products, batch 64, budget 1.0: 7 maps kept, 23 products
products, batch 64, budget 0.99: 3 maps kept, 28 products
products, batch 64, budget 0.5: 2 maps kept, 29 products
products, batch 64, budget 0.1: 1 maps kept, 30 products
convolutions, batch 16, budget 1.0: 7 maps kept, 16 products
convolutions, batch 16, budget 0.99: 7 maps kept, 17 products
convolutions, batch 16, budget 0.5: 4 maps kept, 20 products
convolutions, batch 16, budget 0.1: 0 maps kept, 24 products
convolutions, batch 64, budget 1.0: 7 maps kept, 16 products
convolutions, batch 64, budget 0.99: 7 maps kept, 17 products
convolutions, batch 64, budget 0.5: 4 maps kept, 20 products
convolutions, batch 64, budget 0.1: 0 maps kept, 24 products
SEEN
)
echo "as it was seen"
