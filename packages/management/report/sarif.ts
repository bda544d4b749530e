// Writes the report as SARIF 2.1.0: a rule for each entry of the schedule that has findings, and a result for each
// finding.

import { EMULATOR, EMULATOR_VERSION } from '@ctx-storage/command-line/emulator';
import { DEFAULT_BASE_PATH } from '../schedule/paths.ts';
import { SCHEDULE_PATH } from '../schedule/schedule-page.ts';
import { firstSeenOf, messageOf } from './finding-text.ts';
import type { Finding, Report } from './report.ts';

/** The address of the schedule's page, if the program's `serve` runs on its default port. */
const LOCAL_PAGE = `http://127.0.0.1:8787${DEFAULT_BASE_PATH}${SCHEDULE_PATH}`;

export function writeSarif(
  { findings }: Report,
  { documentation = LOCAL_PAGE }: { readonly documentation?: string },
): string {
  const ids = [...new Set(findings.map(({ entry }) => entry.id))];
  const rules = ids.map((id) =>
    ruleOf(findings.find(({ entry }) => entry.id === id)!, documentation),
  );
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: EMULATOR, version: EMULATOR_VERSION, rules } },
        results: findings.map((finding) => resultOf(finding, ids.indexOf(finding.entry.id))),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function ruleOf({ entry }: Finding, documentation: string) {
  const text = `${entry.title}, ${entry.date}`;
  return {
    id: entry.id,
    shortDescription: { text },
    helpUri: `${documentation}#${entry.id}`,
    ...(entry.note && helpOf(entry.note)),
  };
}

function helpOf(text: string) {
  return { help: { text } };
}

function resultOf(finding: Finding, ruleIndex: number) {
  const { level, entry, count, first } = finding;
  const text = `${messageOf(finding)} First: ${firstSeenOf(finding)}`;
  return {
    ruleId: entry.id,
    ruleIndex,
    level,
    message: { text },
    occurrenceCount: count,
    ...(first.where && locationOf(first.where)),
  };
}

/** Splits the place of a call at `#` into a file and a location in it. A text without `#` is not a location. */
function locationOf(where: string) {
  const end = where.lastIndexOf('#');
  if (end < 0) return {};
  const file = where.slice(0, end);
  const physicalLocation = { artifactLocation: { uri: encodeURI(file.replaceAll('\\', '/')) } };
  const logicalLocations = [{ fullyQualifiedName: where.slice(end + 1) }];
  return { locations: [{ physicalLocation, logicalLocations }] };
}
