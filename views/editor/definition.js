// Where a name of the text is declared, by the syntax tree of the editor's own grammar.

const TYPES = /^(?:StructSpecifier|ClassSpecifier|UnionSpecifier|EnumSpecifier|TypeDefinition|AliasDeclaration|TypeParameterDeclaration)$/;
const DECLARES = /Declarator$|^(?:Declaration|ParameterDeclaration|OptionalParameterDeclaration|ForRangeLoop|Enumerator)$/;
const SCOPE = /^(?:CompoundStatement|FunctionDefinition|ForStatement|ForRangeLoop|LambdaExpression|TemplateDeclaration|Program)$/;

// The position of the declaration of the name at `at`: the last one before it in a scope around it, else the first one
// of the text, else a macro; null if there is none.
export function definitionOf(cm, state, at) {
  const tree = cm.syntaxTree(state), { from: start, text: line } = state.doc.lineAt(at);
  const word = [...line.matchAll(/[A-Za-z_]\w*/g)].find(({ 0: name, index }) => index <= at - start && at - start <= index + name.length);
  if (!word) return null;
  const [name] = word, from = start + word.index, member = /(?:\.|->)\s*$/.test(line.slice(0, word.index));
  const declared = [];
  tree.iterate({ enter: ({ node }) => {
    if (node.firstChild || state.sliceDoc(node.from, node.to).trim() !== name) return;
    if (declares(node, member)) declared.push(node.from);
  } });
  const near = declared.filter((place) => place <= from && scopeOf(tree, place).to >= from).pop() ?? declared[0];
  if (near !== undefined) return near;
  const macro = new RegExp(`^[ \\t]*#[ \\t]*define[ \\t]+(${name})\\b`, 'm').exec(state.doc.toString());
  return macro ? macro.index + macro[0].length - name.length : null;
}

// Whether a node is a name where it is declared. `member`: of a struct, else of anything but a struct.
function declares({ name, parent, prevSibling }, member) {
  if (name === 'FieldIdentifier') return member && parent.name !== 'FieldExpression';
  if (member) return false;
  if (name === 'TypeIdentifier') return TYPES.test(parent.name);
  if (name !== 'Identifier' || !DECLARES.test(parent.name)) return false;
  return !/^(?:InitDeclarator|ArrayDeclarator)$/.test(parent.name) || !prevSibling; // not the value, nor the size
}

// The part of the text in which a name that is declared at `place` is known.
function scopeOf(tree, place) {
  let scope = tree.resolveInner(place, 1);
  while (scope.parent && !SCOPE.test(scope.name)) scope = scope.parent;
  // A function's own name, which stands before its parameters, is known after it, too.
  const own = scope.name === 'FunctionDefinition' && scope.getChild('FunctionDeclarator')?.firstChild?.from === place;
  return own ? tree.topNode : scope;
}
