// The report as readable text and as JSON.

import { firstSeenOf, messageOf, subjectOf, timesOf } from './finding-text.ts';
import { writeJUnit } from './junit.ts';
import type { Finding, Report } from './report.ts';
import { writeSarif } from './sarif.ts';

export interface FormatOptions {
  /**
   * Address of an HTML page with the schedule; the ids of entries are its fragments.
   *
   * @default the HTML page of `npx ctx-storage management` on its default port
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

/** The report in a format; its text ends with a line break. */
export function formatReport(
  report: Report,
  format: ReportFormat,
  options: FormatOptions = {},
): string {
  return REPORT_FORMATS[format](report, options);
}

function writeText(report: Report): string {
  const { at, callCount, findings } = report;
  const lines = findings.flatMap((finding) => [
    `${LABELS[finding.level]} ${messageOf(finding)}`,
    `      ${timesOf(finding)}, first: ${firstSeenOf(finding)}`,
  ]);
  const calls = callCount === 1 ? 'One call' : `${callCount} calls`;
  return [`${calls}, on ${at}: ${totals(report)}.`, ...lines, ''].join('\n');
}

const LABELS = { error: 'GONE ', warning: 'ENDS ', note: 'NOTE ' } as const;

function totals({ findings }: Report): string {
  if (findings.length === 0) return 'nothing deprecated';
  const count = (level: Finding['level']) => findings.filter((f) => f.level === level).length;
  return `${count('error')} gone, ${count('warning')} deprecated, ${count('note')} to look at`;
}

function writeJson({ at, callCount, findings }: Report): string {
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
  return `${JSON.stringify({ at, callCount, findings: rows }, null, 2)}\n`;
}
