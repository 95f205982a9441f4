"""The lab's editor: CodeMirror 6, CUDA's words, marks and counts at the lines, drafts that the browser keeps."""
