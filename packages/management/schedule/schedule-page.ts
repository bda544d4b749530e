// Writes the schedule as an HTML page, to which `documentation_url` and the header Link lead.

import type { Schedule, ScheduleEntry } from './entry.ts';

/** The path of the page in the emulator, below the base path. */
export const SCHEDULE_PATH = '/emulator/schedule';

export function scheduleHtml(schedule: Schedule): Response {
  const html = `<!doctype html><meta charset="utf-8"><title>Deprecation schedule</title>
<h1>Deprecation schedule</h1>
${schedule.map(section).join('\n')}`;
  return new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } });
}

function section({
  id,
  title,
  date,
  kind,
  operations,
  affected,
  replacement,
  note,
}: ScheduleEntry) {
  const touched = [...operations, ...(affected ?? [])].map(
    ({ method, path }) => `<li><code>${escapeHtml(`${method} ${path}`)}</code>`,
  );
  return [
    `<section id="${escapeHtml(id)}"><h2>${escapeHtml(title)}</h2>`,
    `<p><time>${date}</time> ${kind}`,
    replacement ? `<p>Replacement: ${escapeHtml(replacement.text)}` : '',
    note ? `<p>${escapeHtml(note)}` : '',
    `<ul>${touched.join('')}</ul></section>`,
  ].join('');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
