"""Reads of textures for the emulator and for a GPU: the textures, the coordinates and the kernel."""

import numpy as np

COUNT = 256  # coordinates of a case

# (sizes, element type, channels, filter, address mode, normalized coordinates, read mode)
CASES = {
    "points": ((7,), "float32", 1, "point", "clamp", False, "element"),
    "line": ((7,), "float32", 1, "linear", "clamp", False, "element"),
    "line in a border": ((7,), "float32", 1, "linear", "border", False, "element"),
    "points in a border": ((5, 7), "float32", 1, "point", "border", False, "element"),
    "plane": ((5, 7), "float32", 1, "linear", "clamp", False, "element"),
    "normalized plane": ((5, 7), "float32", 1, "linear", "clamp", True, "element"),
    "wrapped points": ((8, 6), "float32", 1, "point", "wrap", True, "element"),
    "wrapped plane": ((8, 6), "float32", 1, "linear", "wrap", True, "element"),
    "mirrored points": ((8, 6), "float32", 1, "point", "mirror", True, "element"),
    "mirrored plane": ((8, 6), "float32", 1, "linear", "mirror", True, "element"),
    "plane in a border": ((5, 7), "float32", 1, "linear", "border", True, "element"),
    "space": ((3, 4, 5), "float32", 1, "linear", "clamp", False, "element"),
    "points of space": ((3, 4, 5), "int32", 1, "point", "clamp", False, "element"),
    "pairs": ((4, 6), "float32", 2, "linear", "clamp", False, "element"),
    "colours": ((4, 6), "uint8", 4, "point", "clamp", False, "element"),
    "blended colours": ((4, 6), "uint8", 4, "linear", "clamp", False, "normalized"),
    "signed colours": ((4, 6), "int8", 4, "point", "clamp", False, "normalized"),
    "short words": ((9,), "int16", 1, "point", "border", False, "element"),
    "fractions": ((9,), "uint16", 2, "linear", "wrap", True, "normalized"),
    "halves": ((4, 6), "float16", 1, "linear", "clamp", False, "element"),
}


def texels_of(name):
    """The array of a case."""
    sizes, dtype, channels, *_ = CASES[name]
    shape = (*sizes, channels) if channels > 1 else sizes
    draw = np.random.default_rng(list(CASES).index(name))
    if dtype.startswith("float"):
        return draw.uniform(-4, 4, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return draw.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def coordinates_of(name):
    """float32[3, COUNT]: x, y, z; near and far from the texture, and at steps of a 1024th of a texel."""
    sizes, *_, normalized, _ = CASES[name]
    draw = np.random.default_rng(99)
    made = np.zeros((3, COUNT), np.float32)
    for axis, size in enumerate(reversed(sizes)):
        far = draw.uniform(-1.7 * size, 2.7 * size, COUNT // 2)
        fine = draw.integers(0, size * 1024, COUNT // 2) / 1024
        made[axis] = np.concatenate([far, fine]) / (size if normalized else 1)
    return made


def kernel_of(name):
    """The text of a kernel `f(texture, coordinates, out)` with out[COUNT][4]: floats, or the bits of whole numbers."""
    sizes, dtype, channels, *_, read = CASES[name]
    floating = dtype.startswith("float") or read == "normalized"
    plain = {"int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int"}
    number = "float" if floating else plain[dtype]
    kind = number if channels == 1 else f"{number}{channels}"
    kind = kind if channels > 1 or number in ("float", "int", "short") else {"uchar": "unsigned char"}[kind]
    place = ", ".join(f"at[{axis * COUNT} + i]" for axis in range(len(sizes)))
    parts = ["v"] if channels == 1 else [f"v.{part}" for part in "xyzw"[:channels]]
    stores = " ".join(f"out[4 * i + {number}] = {part};" for number, part in enumerate(parts))
    result = "float" if floating else "int"
    return f"""extern "C" __global__ void f(cudaTextureObject_t t, const float *at, {result} *out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {kind} v = tex{len(sizes)}D<{kind}>(t, {place});
    {stores}
}}"""
