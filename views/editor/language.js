// CUDA on top of C++: its keywords, and the colours of the page's other sources.

const WORDS = /\b(?:__(?:global|device|host|shared|constant|managed|restrict|launch_bounds|forceinline|noinline|grid_constant)__|(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|(?:__(?:sync|shfl|ballot|all|any|match|activemask|popc|ffs|clz|ld|st|thread)\w*|atomic[A-Z]\w*)(?=\s*\())/g;
const NAMES = /^(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)$/;

export function cuda(cm) {
  const kinds = Object.fromEntries(['keyword', 'name', 'function'].map((kind) => [kind, cm.Decoration.mark({ class: `cuda-${kind}` })]));
  const kind = (word) => (NAMES.test(word) ? kinds.name : word.startsWith('__') && word.endsWith('__') ? kinds.keyword : kinds.function);
  const spoken = (state, at) => /Comment|String/.test(cm.syntaxTree(state).resolveInner(at, 1).name);
  const matcher = new cm.MatchDecorator({
    regexp: WORDS,
    decorate: (add, from, to, match, view) => { if (!spoken(view.state, from)) add(from, to, kind(match[0])); },
  });
  const words = cm.ViewPlugin.define((view) => ({
    decorations: matcher.createDeco(view),
    update(update) { this.decorations = matcher.updateDeco(update, this.decorations); },
  }), { decorations: (plugin) => plugin.decorations });
  return [cm.cpp(), words, cm.syntaxHighlighting(colours(cm)), cm.indentUnit.of('    '), cm.indentOnInput(), cm.bracketMatching(), cm.closeBrackets()];
}

// The classes that views/editor/editor.css colours.
function colours({ HighlightStyle, tags }) {
  const { keyword, typeName, modifier, comment, string, character, number, bool, meta, processingInstruction } = tags;
  return HighlightStyle.define([
    { tag: [keyword, typeName, modifier, bool], class: 'cpp-keyword' },
    { tag: comment, class: 'cpp-comment' },
    { tag: [string, character], class: 'cpp-text' },
    { tag: number, class: 'cpp-number' },
    { tag: [meta, processingInstruction], class: 'cpp-directive' },
  ]);
}
