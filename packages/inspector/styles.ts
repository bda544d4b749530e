// The style sheet of the inspector's shadow root. Light and dark colours follow `color-scheme`.

export const STYLES = `
:host { color-scheme: inherit; container-type: inline-size; }
.inspector {
  --ground: light-dark(#ffffff, #15181b);
  --sunken: light-dark(#f4f6f6, #0f1214);
  --line: light-dark(#dde2e3, #2c3338);
  --line-strong: light-dark(#7f8a8f, #69757b);
  --text: light-dark(#171c1e, #e7ecec);
  --soft: light-dark(#556065, #a1adb1);
  --accent: light-dark(#0b6b57, #5ccbaf);
  --accent-text: light-dark(#ffffff, #06221b);
  --chosen: light-dark(#e2f1ed, #17342d);
  --mark: light-dark(#ffe89a, #5c4a08);
  --bad: light-dark(#a5281f, #ff9a8d);
  box-sizing: border-box;
  display: flex;
  flex-direction: column;
  height: 100%;
  min-height: 0;
  background: var(--ground);
  color: var(--text);
  font: 14px / 1.5 system-ui, 'Segoe UI', Roboto, sans-serif;
}
.inspector *, .inspector *::before, .inspector *::after { box-sizing: border-box; }
h2, p, ul { margin: 0; padding: 0; }
h2 { margin: 0.75rem 0 0.25rem; font-size: 1em; }
ul { list-style: none; }
button, input, select, textarea { font: inherit; color: inherit; }
button {
  padding: 0.25rem 0.6rem;
  border: 1px solid var(--line-strong);
  border-radius: 5px;
  background: var(--ground);
  cursor: pointer;
  white-space: nowrap;
}
button:hover:not(:disabled) { background: var(--sunken); }
button:disabled { color: var(--soft); border-color: var(--line); cursor: default; }
button.primary { border-color: var(--accent); background: var(--accent); color: var(--accent-text); }
button.primary:hover:not(:disabled) { background: color-mix(in srgb, var(--accent), var(--text) 12%); }
button.primary:disabled { background: var(--sunken); color: var(--soft); border-color: var(--line); }
button.danger:not(:disabled) { border-color: var(--bad); color: var(--bad); }
button.plain { padding: 0; border: 0; background: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
input { accent-color: var(--accent); }
input, select, textarea {
  padding: 0.25rem 0.5rem;
  border: 1px solid var(--line-strong);
  border-radius: 5px;
  background: var(--ground);
  max-width: 100%;
}
textarea { width: 100%; resize: vertical; }
.code, code, .mono { font-family: ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace; font-size: 0.93em; }
.mono { overflow-wrap: anywhere; }
/* Names and values in right-to-left scripts must not reorder the text around them. */
code, span, label { unicode-bidi: isolate; }
.type, .soft, .empty { color: var(--soft); }
.type { font-size: 0.85em; }
.empty { padding: 0.5rem 0; }
.number { font-variant-numeric: tabular-nums; text-align: right; }
[role='alert'] { color: var(--bad); padding: 0.25rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.changed, .changed > * { background: var(--mark); }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: 0 0.5rem; padding: 0.4rem 0.6rem 0; border-bottom: 1px solid var(--line); }
.changed .type, .changed .soft, .changed .row-number { color: var(--text); }
.tabs { display: flex; flex-wrap: wrap; gap: 0.25rem; }
.tabs [role='tab'] { border: 0; border-bottom: 3px solid transparent; border-radius: 0; background: none; }
.tabs [aria-selected='true'] { border-bottom-color: var(--accent); font-weight: 600; }
.open-name { margin-left: auto; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 50%; }
.content { flex: 1; min-height: 0; display: flex; flex-direction: column; overflow: auto; }
.kept { flex: 1; min-height: 0; display: flex; flex-direction: column; }
.kept[hidden] { display: none; }
.drop { padding: 0.75rem; border: 2px dashed var(--line-strong); border-radius: 5px; align-items: flex-start; }
.drop-over .drop { border-color: var(--accent); background: var(--chosen); }
progress { accent-color: var(--accent); width: 10rem; max-width: 100%; }
.panel { flex: 1; min-height: 0; display: flex; flex-direction: column; gap: 0.5rem; padding: 0.6rem; }
.split { display: grid; grid-template-columns: minmax(10rem, 2fr) minmax(0, 3fr); gap: 0.8rem; }
.side, .main { min-height: 0; min-width: 0; display: flex; flex-direction: column; gap: 0.5rem; }
.side { overflow: auto; }
.main { overflow: auto; }
.row .type { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 60%; }
.list li { border-radius: 5px; }
.row { display: flex; justify-content: space-between; gap: 0.5rem; width: 100%; border: 0; background: none; text-align: left; white-space: normal; }
.row[aria-pressed='true'], td [aria-pressed='true'] { background: var(--chosen); }
.columns { padding: 0 0 0.3rem 1.2rem; }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
.field { display: flex; flex-direction: column; gap: 0.15rem; }
.field.inline { flex-flow: row wrap; align-items: center; gap: 0.4rem; }
.field.inline { max-width: 100%; }
.field.inline select { max-width: min(20rem, 100%); }
.new-entry form { display: flex; flex-direction: column; gap: 0.4rem; padding-top: 0.4rem; align-items: flex-start; }
.new-entry .field { width: 100%; }
summary { cursor: pointer; }
.tree ul { padding-left: 1rem; border-left: 1px solid var(--line); }
.leaf { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem; padding: 0.1rem 0; }
.leaf code { overflow-wrap: anywhere; }
.tree-name { font-weight: 600; }
.scroll { min-height: 0; overflow: auto; }
table { border-collapse: collapse; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
.grid { flex: 1; min-height: 10rem; overflow: auto; border: 1px solid var(--line); border-radius: 5px; }
.grid-height { position: relative; min-width: max-content; }
.grid-view { position: sticky; top: 0; }
.grid-row { display: grid; height: 28px; border-bottom: 1px solid var(--line); }
.grid-row > * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding: 0.2rem 0.5rem; }
.grid-head { background: var(--sunken); }
.grid-head > * { font-weight: 600; }
.grid-row:has(.cell-editor) > * { overflow: visible; }
.row-number { color: var(--soft); text-align: right; font-variant-numeric: tabular-nums; }
.cell { width: 100%; overflow: hidden; text-align: inherit; text-overflow: ellipsis; }
.cell-editor { display: flex; gap: 0.25rem; position: relative; z-index: 1; width: max-content; padding: 0.25rem; margin: -0.25rem; background: var(--ground); border: 1px solid var(--line-strong); border-radius: 5px; }
.sql-input { position: relative; }
.suggestions { position: absolute; z-index: 2; top: 100%; left: 0; min-width: 14rem; max-width: 100%; border: 1px solid var(--line-strong); border-radius: 5px; background: var(--ground); }
.suggestions [role='option'] { display: flex; justify-content: space-between; gap: 1rem; padding: 0.2rem 0.6rem; cursor: pointer; }
.suggestions [aria-selected='true'] { background: var(--chosen); }
.drawing { display: block; width: 100%; max-height: 14rem; font-size: 12px; }
.drawing text { fill: var(--soft); }
.chart-line { stroke: var(--line); }
.chart-curve { fill: none; stroke: var(--accent); stroke-width: 2; }
.bars { flex: none; width: 100%; height: 56px; background: var(--sunken); border-radius: 5px; }
.bar { fill: var(--line-strong); }
.bar.restore { fill: var(--bad); }
.bar.chosen { fill: var(--accent); }
.span { fill: var(--chosen); }
.timeline { overflow: auto; }
.timeline > * { flex: none; }
.told { padding: 0.35rem 0.6rem; border-radius: 5px; background: var(--chosen); }
.on-branch { padding: 0.35rem 0.6rem; background: var(--mark); justify-content: space-between; }
.branches ul { display: flex; flex-direction: column; }
.branch { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.3rem 1rem; padding: 0.3rem 0; border-bottom: 1px solid var(--line); }
.branches form { padding-top: 0.6rem; }
.lane { flex: none; width: 100%; height: 6px; overflow: hidden; }
.lane-line { display: block; height: 6px; border-left: 3px solid var(--accent); border-bottom: 3px solid var(--accent); border-bottom-left-radius: 6px; }
.count { font-weight: 400; font-size: 0.93em; }
.compare { max-height: 60vh; }
.compare td.mono { max-width: 26rem; overflow-wrap: break-word; }
.conflict td.mono { max-width: 26rem; overflow-wrap: break-word; }
.compare tbody tr:not(:last-child) > :not([rowspan]) { border-bottom-style: dotted; }
.compare tr:has(+ tr) > th[scope='row'] ~ td { vertical-align: top; }
del, ins, mark { background: var(--mark); color: var(--text); border-radius: 3px; padding: 0 0.15rem; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
ins, mark { text-decoration: none; font-weight: 600; }
.conflicts { display: flex; flex-direction: column; gap: 0.6rem; }
.conflict { padding: 0.4rem 0.7rem 0.6rem; border: 1px solid var(--line-strong); border-radius: 5px; }
.conflict legend { font-weight: 600; padding: 0 0.3rem; overflow-wrap: anywhere; }
.conflict dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 0.8rem; margin: 0.3rem 0; }
.conflict dt { color: var(--soft); }
.conflict dd { margin: 0; }
.conflict table { margin: 0.3rem 0; }
.scroll-x { overflow-x: auto; }
.slider input { width: 100%; padding: 0; }
.kind { font-size: 0.85em; padding: 0 0.35rem; border-radius: 4px; background: var(--sunken); font-weight: 400; }
.kind.added { color: var(--accent); }
.kind.removed { color: var(--bad); }
@container (max-width: 480px) {
  .drawing { font-size: 20px; }
  .branch button { padding: 0.25rem 0.4rem; }
  .compare { max-height: none; }
  .compare td.mono, .conflict td.mono { max-width: 14rem; }
  .compare th, .compare td, .conflict th, .conflict td { padding: 0.2rem 0.4rem; }
  .conflict dl { grid-template-columns: minmax(0, 1fr); }
  .conflict dd { padding-left: 0.6rem; }
  .split { grid-template-columns: minmax(0, 1fr); grid-auto-rows: min-content; }
  .side { max-height: 40vh; }
  .main { overflow: visible; }
  .grid { height: 60vh; }
}
`;
