// The report as JUnit XML: a test case for each finding, which fails if the client sends what has ended
// or will end.

import { firstSeenOf, messageOf, subjectOf, timesOf } from './finding-text.ts';
import { type Finding, failuresOf, type Report } from './report.ts';

/** Notes pass, with their text as output; a report without findings is one passed case. */
export function writeJUnit(report: Report): string {
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
  const name = `classname="${escaped(finding.entry.id)}" name="${escaped(subjectOf(finding))}"`;
  const message = messageOf(finding);
  const seen = escaped(`${timesOf(finding)}, first: ${firstSeenOf(finding)}`);
  const inside =
    finding.level === 'note'
      ? `<system-out>${escaped(message)} ${seen}</system-out>`
      : `<failure type="${finding.level}" message="${escaped(message)}">${seen}</failure>`;
  return `    <testcase ${name}>${inside}</testcase>`;
}

/** XML 1.0 allows no control characters, not even escaped. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
