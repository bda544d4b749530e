// Writes the report as readable text, as JSON and as JUnit XML; SARIF has a file of its own.

import { firstSeenOf, messageOf, subjectOf, timesOf } from './finding-text.ts';
import { type Finding, failuresOf, type Report } from './report.ts';
import { writeSarif } from './sarif.ts';

export interface FormatOptions {
  /**
   * The address of an HTML page with the schedule; the ids of entries are its fragments.
   *
   * @default the page of the program's `serve` on its default port
   */
  readonly documentation?: string;
}

export const REPORT_FORMATS = {
  text: writeText,
  json: writeJson,
  junit: writeJUnit,
  sarif: writeSarif,
} as const satisfies Record<string, (report: Report, options: FormatOptions) => string>;

export type ReportFormat = keyof typeof REPORT_FORMATS;

export function isReportFormat(name: string): name is ReportFormat {
  return Object.hasOwn(REPORT_FORMATS, name);
}

/** Writes the report in a format; the text ends with a line break. */
export function formatReport(
  report: Report,
  format: ReportFormat,
  options: FormatOptions = {},
): string {
  return REPORT_FORMATS[format](report, options);
}

function writeText(report: Report): string {
  const { at, findings } = report;
  const lines = findings.flatMap((finding) => [
    `${LABELS[finding.level]} ${messageOf(finding)}`,
    `      ${timesOf(finding)}, first: ${firstSeenOf(finding)}`,
  ]);
  return [
    `${countText(report.callCount, 'call')}, on ${at}: ${totals(report)}.`,
    ...lines,
    '',
  ].join('\n');
}

const LABELS = { error: 'GONE ', warning: 'ENDS ', note: 'NOTE ' } as const;

/** Counts findings and calls separately, because one call may show several findings, and several calls the same one. */
function totals({ findings, affectedCallCount }: Report): string {
  if (findings.length === 0) return 'nothing deprecated';
  const count = (level: Finding['level']) => findings.filter((f) => f.level === level).length;
  const levels = `${count('error')} gone, ${count('warning')} deprecated, ${count('note')} to look at`;
  const calls = countText(affectedCallCount, 'call');
  return `${countText(findings.length, 'finding')} in ${calls} (${levels})`;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function writeJson({ at, callCount, affectedCallCount, findings }: Report): string {
  const rows = findings.map((finding) => {
    const { level, entry, operation, field, daysLeft, count, first, isGuess } = finding;
    return {
      level,
      message: messageOf(finding),
      subject: subjectOf(finding),
      entry: entry.id,
      kind: entry.kind,
      date: entry.date,
      daysLeft,
      method: operation.method,
      path: operation.path,
      ...(field && { field: field.equals ?? field.path, in: field.in }),
      ...(entry.replacement && { replacement: entry.replacement }),
      isGuess,
      count,
      first: { method: first.method, url: first.url, ...(first.where && { where: first.where }) },
    };
  });
  return `${JSON.stringify({ at, callCount, affectedCallCount, findings: rows }, null, 2)}\n`;
}

/**
 * Writes a test case for each finding. The case fails if the client sends something that has ended or will end. A note
 * is a passed case with the note's text as output, and a report without findings is one passed case.
 */
function writeJUnit(report: Report): string {
  const { at, callCount, findings } = report;
  const cases =
    findings.length === 0
      ? [`    <testcase classname="deprecations" name="${callCount} calls on ${at}"/>`]
      : findings.map(testCase);
  const counts = `tests="${cases.length}" failures="${failuresOf(report).length}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="deprecations on ${at}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(finding: Finding): string {
  const name = `classname="${escapeXml(finding.entry.id)}" name="${escapeXml(subjectOf(finding))}"`;
  const message = messageOf(finding);
  const seen = escapeXml(`${timesOf(finding)}, first: ${firstSeenOf(finding)}`);
  const inside =
    finding.level === 'note'
      ? `<system-out>${escapeXml(message)} ${seen}</system-out>`
      : `<failure type="${finding.level}" message="${escapeXml(message)}">${seen}</failure>`;
  return `    <testcase ${name}>${inside}</testcase>`;
}

/** XML 1.0 forbids control characters even if they are escaped, so they are replaced. */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
