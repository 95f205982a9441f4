"""Record what a GPU reads from textures: `python -m tests.gpu.record_textures tests/golden/textures.npz`."""

import sys

import cupy
import numpy as np
from cupy.cuda import runtime, texture

from tests.backends.emulator.texture_cases import CASES, COUNT, coordinates_of, kernel_of, texels_of

_MODES = {"clamp": runtime.cudaAddressModeClamp, "border": runtime.cudaAddressModeBorder,
          "wrap": runtime.cudaAddressModeWrap, "mirror": runtime.cudaAddressModeMirror}  # fmt: skip


def read(name):
    """The values that the GPU reads in a case: [COUNT, 4]."""
    sizes, dtype, channels, filtered, address, normalized, mode = CASES[name]
    texels, kind = texels_of(name), np.dtype(dtype)
    formats = {"f": runtime.cudaChannelFormatKindFloat, "i": runtime.cudaChannelFormatKindSigned,
               "u": runtime.cudaChannelFormatKindUnsigned}  # fmt: skip
    bits = [8 * kind.itemsize if channel < channels else 0 for channel in range(4)]
    held = texture.CUDAarray(texture.ChannelFormatDescriptor(*bits, formats[kind.kind]), *reversed(sizes))
    held.copy_from(texels.reshape(*sizes[:-1], -1))
    about = texture.TextureDescriptor(
        (_MODES[address],) * len(sizes),
        runtime.cudaFilterModeLinear if filtered == "linear" else runtime.cudaFilterModePoint,
        runtime.cudaReadModeNormalizedFloat if mode == "normalized" else runtime.cudaReadModeElementType,
        normalizedCoords=int(normalized),
    )
    there = texture.TextureObject(texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=held), about)
    floating = dtype.startswith("float") or mode == "normalized"
    out = cupy.zeros((COUNT, 4), "f4" if floating else "i4")
    cupy.RawKernel(kernel_of(name), "f")((COUNT // 64,), (64,), (there, cupy.asarray(coordinates_of(name)), out))
    return out.get()


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **{name.replace(" ", "_"): read(name) for name in CASES})
