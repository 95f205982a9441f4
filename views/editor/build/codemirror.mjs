// What the editor uses of CodeMirror, by its own names.
export { autocompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { defaultKeymap, history, historyKeymap, indentWithTab, undo } from '@codemirror/commands';
export { cpp } from '@codemirror/lang-cpp';
export { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree } from '@codemirror/language';
export { forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
export { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from '@codemirror/search';
export { ChangeSet, EditorState, Prec, RangeSet, StateEffect, StateField } from '@codemirror/state';
export {
  Decoration, EditorView, GutterMarker, MatchDecorator, ViewPlugin, drawSelection, gutter,
  highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers,
} from '@codemirror/view';
export { tags } from '@lezer/highlight';
