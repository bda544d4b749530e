// The schedule as a Markdown document, the latest date first.

import { SCHEDULE } from './data.ts';
import type { Operation, Schedule, ScheduleEntry } from './entry.ts';
import { datesOf } from './lookup.ts';

/** The text of docs/management-schedule.md, for any schedule. */
export function scheduleMarkdown(schedule: Schedule = SCHEDULE): string {
  const dates = [...datesOf(schedule)].reverse();
  const counts = `${schedule.length} entries on ${dates.length} dates, the latest first.`;
  return [
    '# Deprecation schedule of the management interface',
    '',
    `${counts} Written from the schedule by`,
    '`npx ctx-storage deprecations list --format markdown`.',
    '',
    'An entry applies from the beginning of its day in UTC. “Ends” is gone from then on, “changes”',
    'stays in another form. “Inferred” is what the description of the interface does not list itself.',
    ...dates.flatMap((date) => [
      '',
      `## ${date}`,
      ...schedule.filter((entry) => entry.date === date).flatMap(section),
    ]),
    '',
  ].join('\n');
}

function section(entry: ScheduleEntry): string[] {
  const { id, title, kind, announced, replacement, note, fields = [], history = [] } = entry;
  const names = [...new Set(fields.map(({ path, equals }) => code(equals ?? path)))];
  const facts = [
    `Kind: ${kind}. Id: ${code(id)}.`,
    ...(announced ? [`Announced: ${announced}.`] : []),
    ...(names.length > 0 ? [`Fields: ${names.join(', ')}.`] : []),
    ...(replacement ? [`Replacement: ${replacement.text}${successors(replacement)}.`] : []),
    ...(note ? [note] : []),
    ...(history.length > 0
      ? [`Dates given before: ${history.map(({ date }) => date).join(', ')}.`]
      : []),
  ];
  return ['', `### ${title}`, '', ...facts.map((fact) => `- ${fact}`), ...table(entry)];
}

function table({ operations, affected = [] }: ScheduleEntry): string[] {
  const rows = [...rowsOf(operations, 'ends'), ...rowsOf(affected, 'changes')];
  return rows.length > 0 ? ['', '| Path | Methods | |', '|---|---|---|', ...rows] : [];
}

function rowsOf(operations: readonly Operation[], effect: string): string[] {
  const paths = new Set(operations.map(({ path }) => path));
  return [...paths].map((path) => {
    const here = operations.filter((one) => one.path === path);
    const methods = here.map(({ method }) => method).join(', ');
    const origin = here.some(({ inferred }) => inferred) ? ', inferred' : '';
    return `| ${code(path)} | ${methods} | ${effect}${origin} |`;
  });
}

function successors({ operations = [], fields = [] }: NonNullable<ScheduleEntry['replacement']>) {
  const names = [...new Set(operations.map(({ path }) => path)), ...fields].map(code);
  return names.length > 0 ? `: ${names.join(', ')}` : '';
}

function code(text: string): string {
  return `\`${text}\``;
}
