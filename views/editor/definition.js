// Where a name of the text is declared, by the syntax tree of the editor's own grammar.

const NAMES = ['Identifier', 'FieldIdentifier', 'TypeIdentifier'];
const DECLARES = /Declarator$|^(?:Declaration|ParameterDeclaration|OptionalParameterDeclaration|FieldDeclaration|InitDeclarator|FunctionDefinition|StructSpecifier|ClassSpecifier|EnumSpecifier|Enumerator|TypeParameterDeclaration|AliasDeclaration|TypeDefinition)$/;
const SCOPE = /^(?:CompoundStatement|FunctionDefinition|ForStatement|ForRangeLoop|LambdaExpression|TemplateDeclaration|Program|FieldDeclarationList)$/;

// The position of the declaration of the name at `at`: the last one before it of a scope around it, else the first of
// the text, else a macro; null if there is none.
export function definitionOf(cm, state, at) {
  const tree = cm.syntaxTree(state), text = (node) => state.sliceDoc(node.from, node.to);
  const here = [tree.resolveInner(at, -1), tree.resolveInner(at, 1)].find((node) => NAMES.includes(node.name));
  if (!here) return null;
  const name = text(here), declared = [];
  tree.iterate({ enter: ({ node }) => {
    if (!NAMES.includes(node.name) || text(node) !== name || !DECLARES.test(node.parent?.name ?? '')) return;
    if (node.parent.name === 'InitDeclarator' && node.prevSibling) return; // the value, not the name
    declared.push(node.from);
  } });
  const around = (from) => {
    let scope = tree.resolveInner(from, 1);
    while (scope.parent && !SCOPE.test(scope.name)) scope = scope.parent;
    if (scope.name === 'FunctionDefinition' && from > (scope.getChild('CompoundStatement')?.from ?? from)) scope = scope.getChild('CompoundStatement');
    return scope.from <= here.from && here.to <= scope.to;
  };
  const near = declared.filter((from) => from <= here.from && around(from)).pop();
  if (near !== undefined) return near;
  if (declared.length) return declared[0];
  const macro = new RegExp(`^[ \\t]*#[ \\t]*define[ \\t]+(${name})\\b`, 'm').exec(state.doc.toString());
  return macro ? macro.index + macro[0].length - name.length : null;
}
