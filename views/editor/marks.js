// The findings of a check at their lines: marks with sentences, and counts as heat in the gutter.

const SEVERITY = { error: 'error', warning: 'warning', finding: 'error' };

export function gutters(cm) {
  const setHeat = cm.StateEffect.define();
  class Count extends cm.GutterMarker {
    constructor(said, share) { super(); Object.assign(this, { said, share }); }
    eq(other) { return other.said === this.said && other.share === this.share; }
    toDOM() {
      const cell = document.createElement('span');
      cell.textContent = this.said;
      cell.style.setProperty('--heat', this.share);
      return cell;
    }
  }
  const heat = cm.StateField.define({
    create: () => cm.RangeSet.empty,
    update(counts, transaction) {
      for (const effect of transaction.effects) if (effect.is(setHeat)) return effect.value;
      return counts.map(transaction.changes);
    },
  });
  const shown = cm.gutter({ class: 'heat', markers: (view) => view.state.field(heat) });

  const lineOf = (doc, number) => doc.line(Math.min(Math.max(1, number), doc.lines));
  const placed = (doc, marks) => marks.map(({ line, kind, message }) => {
    const { from, to, text } = lineOf(doc, line);
    return { from: from + text.search(/\S|$/), to, severity: SEVERITY[kind], source: kind, message };
  });

  // Show what the compiler says of the text as it stands, beside the findings of the last check.
  function typed(view, marks, doc) {
    const found = [];
    cm.forEachDiagnostic(view.state, (mark, from, to) => { if (mark.source === 'finding') found.push({ ...mark, from, to }); });
    view.dispatch(cm.setDiagnostics(view.state, [...found, ...placed(doc, marks)]));
  }

  // Show `told`, the findings for the text `checked`, at its lines; `since`: the changes after the check.
  function show(view, told, checked, since) {
    const line = (number) => lineOf(checked, number);
    const marks = placed(checked, told.marks)
      .map((mark) => ({ ...mark, from: since.mapPos(mark.from, 1), to: since.mapPos(mark.to, -1) }))
      .map((mark) => ({ ...mark, to: Math.max(mark.from, mark.to) }));
    const counts = told.heat.map(([number, said, share]) => new Count(said, share).range(since.mapPos(line(number).from)));
    view.dispatch({ effects: setHeat.of(cm.RangeSet.of(counts, true)) });
    view.dispatch(cm.setDiagnostics(view.state, marks));
  }

  // The sentences for the line of the cursor, shown below the editor.
  function saidAt(view, counter) {
    const { from, to, number } = view.state.doc.lineAt(view.state.selection.main.head), said = [];
    view.state.field(heat).between(from, from, (_, __, count) => { if (count.said) said.push(`${counter}: ${count.said}`); });
    cm.forEachDiagnostic(view.state, (mark, begin) => { if (begin >= from && begin <= to) said.push(mark.message); });
    return said.length ? `Line ${number}. ${said.join(' ')}` : '';
  }
  return { extensions: [heat, shown, cm.lintGutter()], show, typed, saidAt };
}
