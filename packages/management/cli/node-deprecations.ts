// The subcommands on the schedule: `scan` finds deprecated calls in HAR files, `list` prints the schedule, `calendar`
// writes it as a calendar.

import { parseArgs } from 'node:util';
import { EMULATOR } from '@ctx-storage/command-line/emulator';
import { printable } from '@ctx-storage/command-line/printable';
import {
  type ExitCode,
  type ProgramEnvironment,
  type Subcommand,
  UsageError,
} from '@ctx-storage/command-line/subcommand';
import { formatReport, isReportFormat, REPORT_FORMATS } from '../report/formats.ts';
import { callsFromHar } from '../report/har.ts';
import { failuresOf, reportOf } from '../report/report.ts';
import { scheduleCalendar } from '../schedule/calendar.ts';
import { SCHEDULE } from '../schedule/data.ts';
import { defineSchedule } from '../schedule/define-schedule.ts';
import type { Schedule } from '../schedule/entry.ts';
import { dayFrom, deprecations } from '../schedule/lookup.ts';
import { scheduleMarkdown } from '../schedule/markdown.ts';

/** The help text of the options that all three subcommands have. */
const SCHEDULE_OPTIONS_HELP = `  --output <file>    write there instead of printing
  --schedule <file>  JSON array of entries that are added to the schedule, or replace by id
  --only-schedule <file>
                     JSON array of entries that are the whole schedule
`;

const SCAN_USAGE = `Usage: ${EMULATOR} scan <file.har>… [options]

Which recorded calls are deprecated or gone on a day, and their replacements.

  --at <date>        the day, YYYY-MM-DD (default: today)
  --format <format>  text, json, junit, sarif (default: text)
${SCHEDULE_OPTIONS_HELP}  --base-path <path> prefix of all paths; addresses without it are another API's
                     (default: /client/v4; / for none)
  --documentation <url>
                     page with the schedule, for links to it (sarif; default: the page of
                     ${EMULATOR} serve on its port)
  --host <host>      only calls to this host, with its port if it has one; repeatable
                     (default: calls to every host)
  --strict           notes count as findings, too

Exit code: 0 when nothing is deprecated or gone, 1 when something is, 2 for bad input.
`;

const LIST_USAGE = `Usage: ${EMULATOR} list [options]

The schedule, and which of its entries are in force on a day.

  --at <date>        the day, YYYY-MM-DD (default: today)
  --format <format>  text, json, markdown (default: text)
${SCHEDULE_OPTIONS_HELP}`;

const CALENDAR_USAGE = `Usage: ${EMULATOR} calendar [options]

The schedule as an .ics file.

${SCHEDULE_OPTIONS_HELP}`;

const SCHEDULE_OPTIONS = {
  output: { type: 'string' },
  schedule: { type: 'string' },
  'only-schedule': { type: 'string' },
} as const;

export const scanCommand: Subcommand = {
  summary: 'find deprecated calls in HAR files',
  usage: SCAN_USAGE,
  run: scan,
};

export const listCommand: Subcommand = {
  summary: 'print the schedule of deprecations on a day',
  usage: LIST_USAGE,
  run: list,
};

export const calendarCommand: Subcommand = {
  summary: 'write the schedule as a calendar',
  usage: CALENDAR_USAGE,
  run: calendar,
};

async function scan(args: readonly string[], environment: ProgramEnvironment): Promise<ExitCode> {
  const { values, positionals } = parseOptions('scan', () =>
    parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...SCHEDULE_OPTIONS,
        at: { type: 'string' },
        format: { type: 'string', default: 'text' },
        'base-path': { type: 'string' },
        documentation: { type: 'string' },
        host: { type: 'string', multiple: true },
        strict: { type: 'boolean', default: false },
      },
    }),
  );
  const { format, host: hosts, strict, documentation, 'base-path': basePath } = values;
  if (documentation !== undefined && !URL.canParse(documentation)) {
    throw new UsageError(`--documentation is "${documentation}"; it must be a URL.`);
  }
  if (!isReportFormat(format)) throw unknownFormat(format, Object.keys(REPORT_FORMATS));
  if (positionals.length === 0) {
    throw new UsageError('scan: no file; give the path of a HAR file.');
  }
  const at = dayFrom(values.at ?? environment.now());
  const schedule = await scheduleFrom(values, environment);
  const calls = [];
  for (const name of positionals) {
    const text = await readInput(name, environment);
    calls.push(...callsFromHar(text, { name }));
  }
  const report = reportOf(calls, {
    at,
    schedule,
    ...(basePath !== undefined && { basePath }),
    ...(hosts !== undefined && { hosts }),
  });
  await printOrWrite(
    formatReport(report, format, documentation ? { documentation } : {}),
    values.output,
    environment,
  );
  return failuresOf(report, { strict }).length > 0 ? 1 : 0;
}

async function list(args: readonly string[], environment: ProgramEnvironment): Promise<ExitCode> {
  const { values } = parseOptions('list', () =>
    parseArgs({
      args: [...args],
      options: {
        ...SCHEDULE_OPTIONS,
        at: { type: 'string' },
        format: { type: 'string', default: 'text' },
      },
    }),
  );
  const at = dayFrom(values.at ?? environment.now());
  const schedule = await scheduleFrom(values, environment);
  const write = Object.hasOwn(LIST_FORMATS, values.format)
    ? LIST_FORMATS[values.format as keyof typeof LIST_FORMATS]
    : undefined;
  if (write === undefined) throw unknownFormat(values.format, Object.keys(LIST_FORMATS));
  await printOrWrite(write(schedule, at), values.output, environment);
  return 0;
}

const LIST_FORMATS = {
  text: (schedule: Schedule, at: string) =>
    deprecations({ at, schedule })
      .map(({ entry: { date, title, replacement }, isInForce }) => {
        const instead = replacement ? `; instead: ${replacement.text}` : '';
        return `${printable(`${date} ${isInForce ? 'past  ' : 'coming'} ${title}${instead}`)}\n`;
      })
      .join(''),
  json: (schedule: Schedule, at: string) =>
    `${JSON.stringify({ at, entries: deprecations({ at, schedule }) }, null, 2)}\n`,
  markdown: (schedule: Schedule) => scheduleMarkdown(schedule),
} as const;

async function calendar(
  args: readonly string[],
  environment: ProgramEnvironment,
): Promise<ExitCode> {
  const { values } = parseOptions('calendar', () =>
    parseArgs({ args: [...args], options: SCHEDULE_OPTIONS }),
  );
  const schedule = await scheduleFrom(values, environment);
  const text = scheduleCalendar({ schedule, nowMs: environment.now() });
  await printOrWrite(text, values.output, environment);
  return 0;
}

/** Runs the parser, and converts the TypeError that Node throws for unknown options to a UsageError. */
function parseOptions<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${name}: ${(error as Error).message}`);
  }
}

interface ScheduleFiles {
  readonly schedule?: string | undefined;
  readonly 'only-schedule'?: string | undefined;
}

async function scheduleFrom(
  files: ScheduleFiles,
  environment: ProgramEnvironment,
): Promise<Schedule> {
  const { schedule: added, 'only-schedule': only } = files;
  if (added !== undefined && only !== undefined) {
    throw new UsageError('--schedule and --only-schedule are both given; use one of them.');
  }
  const path = only ?? added;
  if (path === undefined) return SCHEDULE;
  const text = await readInput(path, environment);
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${(error as Error).message}`);
  }
  return defineSchedule(only === undefined ? SCHEDULE : [], entries as unknown[]);
}

async function readInput(path: string, { readFile }: ProgramEnvironment): Promise<string> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

async function printOrWrite(
  text: string,
  path: string | undefined,
  { print, writeFile }: ProgramEnvironment,
): Promise<void> {
  if (path === undefined) return print(text);
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${(error as Error).message}`);
  }
}

function unknownFormat(format: string, known: readonly string[]): UsageError {
  return new UsageError(`unknown format "${format}"; use one of: ${known.join(', ')}.`);
}
