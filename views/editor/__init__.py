"""The lab's editor: CodeMirror 6 with CUDA's keywords, marks and counts at the lines, and drafts in the browser's
storage."""
