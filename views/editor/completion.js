// Completion: the names of the text itself, and CUDA's own with their meaning in a line.

const BUILT_IN = [
  ['threadIdx', 'variable', 'this thread within its block: .x .y .z'],
  ['blockIdx', 'variable', 'this block within the grid: .x .y .z'],
  ['blockDim', 'variable', 'threads of a block: .x .y .z'],
  ['gridDim', 'variable', 'blocks of the grid: .x .y .z'],
  ['warpSize', 'variable', 'lanes of a warp: 32'],
  ['__global__', 'keyword', 'a kernel: launched by the host, runs on the GPU'],
  ['__device__', 'keyword', 'a function or variable of the GPU'],
  ['__shared__', 'keyword', 'memory that the threads of a block share'],
  ['__constant__', 'keyword', 'memory that kernels only read, with a cache of its own'],
  ['__restrict__', 'keyword', 'no other pointer leads to this array'],
  ['__launch_bounds__', 'keyword', 'the most threads of a block, for the compiler'],
  ['__forceinline__', 'keyword', 'always inlined'],
  ['__syncthreads', 'function', 'all threads of the block wait here for each other'],
  ['__syncthreads_count', 'function', 'a barrier that counts the threads with a true value'],
  ['__syncthreads_and', 'function', 'a barrier: is the value true for all threads?'],
  ['__syncthreads_or', 'function', 'a barrier: is the value true for any thread?'],
  ['__syncwarp', 'function', 'the lanes of a warp wait here, and see each other\'s writes'],
  ['__threadfence', 'function', 'own writes come before later ones, for the whole GPU'],
  ['__threadfence_block', 'function', 'own writes come before later ones, for the block'],
  ['__threadfence_system', 'function', 'own writes come before later ones, for the host too'],
  ['__shfl_sync', 'function', `(mask, value, lane): the value of that lane`],
  ['__shfl_down_sync', 'function', `(mask, value, d): the value of the lane d above`],
  ['__shfl_up_sync', 'function', `(mask, value, d): the value of the lane d below`],
  ['__shfl_xor_sync', 'function', `(mask, value, x): the value of lane ^ x`],
  ['__ballot_sync', 'function', `(mask, p): one bit for each lane with a true value`],
  ['__any_sync', 'function', `(mask, p): true if it is for any lane`],
  ['__all_sync', 'function', `(mask, p): true if it is for all lanes`],
  ['__match_any_sync', 'function', `(mask, value): the lanes with the same value`],
  ['__reduce_add_sync', 'function', `(mask, value): the sum`],
  ['__reduce_max_sync', 'function', `(mask, value): the largest`],
  ['__reduce_min_sync', 'function', `(mask, value): the smallest`],
  ['__activemask', 'function', 'the lanes that are here now; it makes none of them wait'],
  ['__popc', 'function', 'the number of set bits'],
  ['__ffs', 'function', 'the place of the lowest set bit, from 1; 0 without one'],
  ['__clz', 'function', 'the number of zero bits above the highest set one'],
  ['__brev', 'function', 'the bits in reverse order'],
  ['__ldg', 'function', 'read through the read-only cache'],
  ['__ldcs', 'function', 'read what is read only once'],
  ['__fmaf_rn', 'function', '(a, b, c): a * b + c with one rounding'],
  ['__fdividef', 'function', 'a fast division with less precision'],
  ['__expf', 'function', 'a fast exponential with less precision'],
  ['__sinf', 'function', 'a fast sine with less precision'],
  ['__cosf', 'function', 'a fast cosine with less precision'],
  ['atomicAdd', 'function', '(address, value): add in one step; returns the old value'],
  ['atomicSub', 'function', '(address, value): subtract in one step; returns the old value'],
  ['atomicMax', 'function', '(address, value): keep the larger; returns the old value'],
  ['atomicMin', 'function', '(address, value): keep the smaller; returns the old value'],
  ['atomicExch', 'function', '(address, value): store in one step; returns the old value'],
  ['atomicCAS', 'function', '(address, compare, value): store if it equals compare; returns the old value'],
  ['atomicInc', 'function', '(address, limit): count up to the limit, then from 0; returns the old value'],
  ['atomicDec', 'function', '(address, limit): count down, then from the limit; returns the old value'],
  ['atomicAnd', 'function', '(address, bits): and in one step; returns the old value'],
  ['atomicOr', 'function', '(address, bits): or in one step; returns the old value'],
  ['atomicXor', 'function', '(address, bits): exclusive or in one step; returns the old value'],
  ['cooperative_groups', 'namespace', 'groups of threads with a sync of their own'],
  ['__pipeline_memcpy_async', 'function', '(shared, global, bytes): a copy that goes on in the background'],
  ['__nanosleep', 'function', 'wait about so many nanoseconds'],
  ['__trap', 'function', 'end the kernel with an error'],
  ['__float2half', 'function', 'a float as a half'],
  ['__half2float', 'function', 'a half as a float'],
  ...['float2', 'float4', 'int2', 'int4', 'double2'].map((name) => [name, 'type', 'several numbers in one access: .x .y …']),
  ['dim3', 'type', 'sizes of a grid or a block'],
  ['unsigned', 'keyword', ''], ['volatile', 'keyword', 'read and write memory each time'], ['constexpr', 'keyword', 'known to the compiler'],
  ['template', 'keyword', ''], ['typename', 'keyword', ''], ['struct', 'keyword', ''], ['return', 'keyword', ''], ['continue', 'keyword', ''],
].map(([label, type, detail]) => ({ label, type, detail }));
const KNOWN = new Set(BUILT_IN.map(({ label }) => label));
const MOST = 20_000; // letters of a text whose names are offered

export function completion(cm) {
  // The names of the text, but for the one at the cursor.
  const own = (context, word) => {
    if (context.state.doc.length > MOST) return [];
    const text = context.state.doc.toString().replace(/\/\/.*|\/\*[^]*?\*\/|"[^"\n]*"/g, (part) => ' '.repeat(part.length));
    const found = new Map();
    for (const { 0: name, index } of text.matchAll(/\b[A-Za-z_]\w{2,}\b/g)) {
      if (index !== word.from && !KNOWN.has(name)) found.set(name, /^\s*[<(]/.test(text.slice(index + name.length, index + name.length + 3)) ? 'function' : 'variable');
    }
    return [...found].map(([label, type]) => ({ label, type, boost: 1 }));
  };
  const source = (context) => {
    const word = context.matchBefore(/[A-Za-z_]\w*/);
    if (!word || (!context.explicit && word.to - word.from < 2)) return null;
    if (/Comment|String/.test(cm.syntaxTree(context.state).resolveInner(context.pos, -1).name)) return null;
    return { from: word.from, options: [...BUILT_IN, ...own(context, word)], validFor: /^\w*$/ };
  };
  return [cm.autocompletion({ override: [source], icons: false, maxRenderedOptions: 40 })];
}
