// `ctx-storage deprecations`: lists the schedule, writes it as a calendar, and scans HAR files for
// deprecated calls.

import { parseArgs } from 'node:util';
import { printable } from '@ctx-storage/command-line/printable';
import {
  type ExitCode,
  type Subcommand,
  type Surroundings,
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

const USAGE = `Usage: ctx-storage deprecations scan <file.har>… [options]
       ctx-storage deprecations list [options]
       ctx-storage deprecations calendar [options]

scan      which recorded calls are deprecated or gone on a day, and their replacements
list      the schedule on a day
calendar  the schedule as an .ics file

  --at <date>        the day, YYYY-MM-DD (scan, list; default: today)
  --format <format>  scan: text, json, junit, sarif; list: text, json, markdown (default: text)
  --output <file>    write there instead of printing
  --schedule <file>  JSON array of entries that are added to the schedule, or replace by id
  --only-schedule <file>
                     JSON array of entries that are the whole schedule
  --base-path <path> prefix of all paths; addresses without it are another API's (scan;
                     default: /client/v4; / for none)
  --documentation <url>
                     page with the schedule, for links to it (scan, sarif; default: the page of
                     ctx-storage management on its port)
  --host <host>      only calls to this host, with its port if it has one; repeatable
                     (scan; default: calls to every host)
  --strict           notes count as findings, too (scan)

Exit code: 0 when nothing is deprecated or gone, 1 when something is, 2 for bad input.
`;

const SHARED = {
  output: { type: 'string' },
  schedule: { type: 'string' },
  'only-schedule': { type: 'string' },
} as const;

export const deprecationsCommand: Subcommand = {
  summary: 'find deprecated calls, show the schedule: scan, list, calendar',
  usage: USAGE,
  async run([action, ...args], surroundings) {
    switch (action) {
      case 'scan':
        return scan(args, surroundings);
      case 'list':
        return list(args, surroundings);
      case 'calendar':
        return calendar(args, surroundings);
      default: {
        const asked = action === undefined ? 'no action' : `unknown action "${action}"`;
        throw new UsageError(`deprecations: ${asked}; use scan, list or calendar.`);
      }
    }
  },
};

async function scan(args: string[], surroundings: Surroundings): Promise<ExitCode> {
  const { values, positionals } = parsed(() =>
    parseArgs({
      args,
      allowPositionals: true,
      options: {
        ...SHARED,
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
    throw new UsageError('deprecations scan: no file; give the path of a HAR file.');
  }
  const at = dayFrom(values.at ?? surroundings.now());
  const schedule = await scheduleFrom(values, surroundings);
  const calls = [];
  for (const name of positionals) {
    const text = await readInput(name, surroundings);
    calls.push(...callsFromHar(text, { name }));
  }
  const report = reportOf(calls, {
    at,
    schedule,
    ...(basePath !== undefined && { basePath }),
    ...(hosts !== undefined && { hosts }),
  });
  await deliver(
    formatReport(report, format, documentation ? { documentation } : {}),
    values.output,
    surroundings,
  );
  return failuresOf(report, { strict }).length > 0 ? 1 : 0;
}

async function list(args: string[], surroundings: Surroundings): Promise<ExitCode> {
  const { values } = parsed(() =>
    parseArgs({
      args,
      options: { ...SHARED, at: { type: 'string' }, format: { type: 'string', default: 'text' } },
    }),
  );
  const at = dayFrom(values.at ?? surroundings.now());
  const schedule = await scheduleFrom(values, surroundings);
  const write = Object.hasOwn(LIST_FORMATS, values.format)
    ? LIST_FORMATS[values.format as keyof typeof LIST_FORMATS]
    : undefined;
  if (write === undefined) throw unknownFormat(values.format, Object.keys(LIST_FORMATS));
  await deliver(write(schedule, at), values.output, surroundings);
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

async function calendar(args: string[], surroundings: Surroundings): Promise<ExitCode> {
  const { values } = parsed(() => parseArgs({ args, options: SHARED }));
  const schedule = await scheduleFrom(values, surroundings);
  const text = scheduleCalendar({ schedule, nowMs: surroundings.now() });
  await deliver(text, values.output, surroundings);
  return 0;
}

/** Node throws a TypeError for unknown options. */
function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`deprecations: ${(error as Error).message}`);
  }
}

interface ScheduleFiles {
  readonly schedule?: string | undefined;
  readonly 'only-schedule'?: string | undefined;
}

async function scheduleFrom(files: ScheduleFiles, surroundings: Surroundings): Promise<Schedule> {
  const { schedule: added, 'only-schedule': only } = files;
  if (added !== undefined && only !== undefined) {
    throw new UsageError('--schedule and --only-schedule are both given; use one of them.');
  }
  const path = only ?? added;
  if (path === undefined) return SCHEDULE;
  const text = await readInput(path, surroundings);
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${(error as Error).message}`);
  }
  return defineSchedule(only === undefined ? SCHEDULE : [], entries as unknown[]);
}

async function readInput(path: string, { readFile }: Surroundings): Promise<string> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

async function deliver(
  text: string,
  path: string | undefined,
  { print, writeFile }: Surroundings,
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
