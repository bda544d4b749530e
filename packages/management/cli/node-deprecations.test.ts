// Runs the command line on files in memory, and checks its output, its files and its exit codes.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../command-line/command-line.ts';
import { EMULATOR, EMULATOR_VERSION } from '../../command-line/emulator.ts';
import { calendarCommand, listCommand, scanCommand } from './node-deprecations.ts';

const MANIFEST = JSON.parse(readFileSync('packages/management/package.json', 'utf8'));
const PROGRAM = {
  name: EMULATOR,
  version: EMULATOR_VERSION,
  subcommands: { calendar: calendarCommand, list: listCommand, scan: scanCommand },
};

const BASE = 'https://api.example.com/client/v4';
const RULES = [
  entry('GET', `${BASE}/zones/z/firewall/rules`),
  entry('GET', `${BASE}/zones/z/firewall/rules?page=2`),
];
const FILES: Readonly<Record<string, string>> = {
  'clean.har': har([entry('GET', `${BASE}/zones`)]),
  'rules.har': har(RULES),
  'odd.har': har([entry('GET', `${BASE}/zones/z/filters?q=<"&\u0001>`)]),
  'bom.har': `\ufeff${har(RULES)}`,
  'notes.har': har([
    entry('GET', `${BASE}/zones/z/dns_records`, {
      encoding: 'base64',
      text: btoa('{"result":[{"zone_id":"z"}]}'),
    }),
  ]),
  'other.har': har([entry('GET', 'http://localhost:8080/zones/z/filters')]),
  'nulls.har': har([
    {
      request: { method: 'GET', url: `${BASE}/zones/z/filters`, postData: null },
      response: { content: { text: null, encoding: null } },
    },
    { request: { method: 'POST', url: `${BASE}/zones/z/filters` }, response: null },
  ]),
  'omitted.har': har([
    {
      request: {
        method: 'POST',
        url: `${BASE}/zones/z/dns_records`,
        bodySize: 134,
        postData: { mimeType: 'application/json', text: '' },
      },
    },
  ]),
  'bodies.har': har(
    [{ mimeType: 'application/json', text: '{"type":"SRV","data":{"name":"x"}}' }, undefined].map(
      (postData) => ({
        request: { method: 'POST', url: `${BASE}/zones/z/dns_records`, bodySize: 34, postData },
      }),
    ),
  ),
  'empty.har': har([
    {
      request: {
        method: 'POST',
        url: `${BASE}/zones/z/dns_records`,
        bodySize: 0,
        postData: { text: '' },
      },
    },
  ]),
  'encodings.har': har(
    [
      { encoding: 'base64', text: '!' },
      { text: '{"result":[{"zone_id":"z"}]}' },
      { encoding: 'base64', text: '{"result":[{"zone_id":"z"}]}' },
    ].map((content) => entry('GET', `${BASE}/zones/z/dns_records`, content)),
  ),
  'connectors.har': har([entry('GET', `${BASE}/organizations/o/railguns/r/zones`)]),
  'text.har': 'not json',
  'list.har': '[]',
  'entries.har': '{"log":{"entries":[{"request":{"method":"GET"}}]}}',
  'mine.json': JSON.stringify([
    {
      id: 'zones',
      title: 'Zones',
      date: '2027-01-01',
      kind: 'removed',
      operations: [{ method: 'GET', path: '/zones' }],
    },
  ]),
  'wrong.json': '[{"id":"zones"}]',
};

function entry(method: string, url: string, content?: object) {
  return { request: { method, url }, response: { ...(content && { content }) } };
}

function har(entries: readonly object[]): string {
  return JSON.stringify({ log: { version: '1.2', entries } });
}

async function run(line: string) {
  const printed: string[] = [];
  const errors: string[] = [];
  const written: Record<string, string> = {};
  const code = await runCommandLine(
    line.split(' ').filter(Boolean),
    PROGRAM,
    {
      print: (text) => printed.push(text),
      readFile: async (path) => {
        if (path in FILES) return FILES[path]!;
        throw new Error(`ENOENT: no such file, open '${path}'`);
      },
      writeFile: async (path, text) => {
        if (path.startsWith('/')) throw new Error('EACCES: permission denied');
        written[path] = text;
      },
      now: () => Date.UTC(2026, 0, 1),
    },
    (error) => errors.push(error),
  );
  return { code, printed: printed.join(''), errors, written };
}

describe('scan', () => {
  test('[REP2] a body that Playwright left out is unknown, an empty one is not', async () => {
    const omitted = await run('scan omitted.har --at 2025-06-15');
    expect(omitted).toMatchObject({ code: 0, printed: expect.stringContaining('1 to look at') });
    expect((await run('scan omitted.har --at 2025-06-15 --strict')).code).toBe(1);
    const empty = await run('scan empty.har --at 2025-06-15 --strict');
    expect(empty).toMatchObject({
      code: 0,
      printed: expect.stringContaining('nothing deprecated'),
    });
  });

  test('[REP2] a body that was sent is read; without one, a call that may have a body is unknown', async () => {
    const { printed } = await run('scan bodies.har --at 2025-06-15 --format json');
    expect(JSON.parse(printed).findings).toMatchObject([
      { level: 'error', field: 'data.name', first: { where: 'bodies.har#log.entries[0]' } },
      { level: 'note', isGuess: true, first: { where: 'bodies.har#log.entries[1]' } },
    ]);
  });

  test('[REP11] the name of a product in the place of <legacy_connector> is found', async () => {
    const found = await run('scan connectors.har --at 2020-04-02');
    expect(found).toMatchObject({ code: 1, printed: expect.stringContaining('1 gone') });
  });

  test('[REP7] nothing found is 0, findings are 1', async () => {
    expect(await run('scan clean.har --at 2025-06-15')).toEqual({
      code: 0,
      printed: '1 call, on 2025-06-15: nothing deprecated.\n',
      errors: [],
      written: {},
    });
    expect(await run('scan rules.har --at 2025-06-15')).toMatchObject({
      code: 1,
      printed:
        '2 calls, on 2025-06-15: 1 finding in 2 calls (1 gone, 0 deprecated, 0 to look at).\n' +
        'GONE  GET /zones/:zone_id/firewall/rules is gone since 2025-06-15. Use WAF custom rules.\n' +
        `      2 times, first: rules.har#log.entries[0]: GET ${BASE}/zones/z/firewall/rules\n`,
    });
  });

  test('[REP7] the day is today unless it is given', async () => {
    const { printed } = await run('scan clean.har bom.har');
    expect(printed).toContain('3 calls, on 2026-01-01: 1 finding in 2 calls (1 gone');
  });

  test('[REP7] a part that is null is not there', async () => {
    const { code, printed } = await run('scan nulls.har --at 2025-06-15');
    expect(code).toBe(1);
    expect(printed).toContain('2 calls, on 2025-06-15: 2 findings in 2 calls (2 gone');
  });

  test('[REP2] a body is read as its encoding says; one that cannot be decoded shows nothing', async () => {
    const { printed } = await run('scan encodings.har --at 2024-11-01 --format json');
    expect(JSON.parse(printed).findings).toMatchObject([
      { count: 1, first: { where: 'encodings.har#log.entries[1]' }, isGuess: false },
    ]);
  });

  test('[REP7] notes count as findings only with --strict', async () => {
    expect((await run('scan notes.har --at 2024-11-01')).code).toBe(0);
    expect((await run('scan notes.har --at 2024-11-01 --strict')).code).toBe(1);
  });

  test('[REP12] an address without the base path is another API; the base path can be another', async () => {
    const scan = async (line: string) => (await run(`scan ${line}`)).code;
    expect(await scan('other.har')).toBe(0);
    expect(await scan('other.har --base-path /')).toBe(1);
    expect(await scan('rules.har --base-path /')).toBe(0);
    expect(await scan('rules.har --base-path /other')).toBe(0);
  });

  test('[REP12] calls can be narrowed to hosts', async () => {
    const scan = async (line: string) => (await run(`scan other.har rules.har ${line}`)).printed;
    expect(await scan('--base-path / --host localhost:8080')).toContain('1 call, on');
    expect(await scan('--host api.example.com')).toContain('2 calls, on');
    expect(await scan('--host api.example.com:443')).toContain('2 calls, on');
    expect(await scan('--host api.example.com:80')).toContain('0 calls, on');
    expect(await scan('--host LOCALHOST:8080 --host api.example.com')).toContain('3 calls, on');
  });

  test('[SCHED2] a file of entries can be the whole schedule', async () => {
    const only = await run('list --only-schedule mine.json --format json');
    expect(JSON.parse(only.printed).entries).toHaveLength(1);
    const scan = (file: string) => run(`scan ${file} --only-schedule mine.json`);
    expect((await scan('rules.har')).code).toBe(0);
    expect((await scan('clean.har')).code).toBe(1);
  });

  test('[REP7] a file of entries is added to the schedule', async () => {
    const line = 'scan clean.har --schedule mine.json';
    expect(await run(line)).toMatchObject({ code: 1 });
  });

  test('[REP8] JSON has the facts of each finding', async () => {
    const { printed } = await run('scan rules.har --at 2025-06-01 --format json');
    expect(JSON.parse(printed)).toMatchObject({
      at: '2025-06-01',
      callCount: 2,
      findings: [
        {
          level: 'warning',
          entry: 'firewall-rules',
          date: '2025-06-15',
          daysLeft: 14,
          method: 'GET',
          path: '/zones/:zone_id/firewall/rules',
          replacement: { text: 'WAF custom rules' },
          count: 2,
          first: { where: 'rules.har#log.entries[0]' },
        },
      ],
    });
  });

  test('[REP8] JUnit has a failure for each finding, a note passes', async () => {
    const { written, printed } = await run(
      'scan rules.har notes.har --at 2024-11-01 --format junit --output out.xml',
    );
    expect(printed).toBe('');
    const xml = written['out.xml']!;
    expect(xml).toContain('<testsuites tests="2" failures="1">');
    expect(
      xml.match(/<failure type="warning" message="GET [^"]+ ends on 2025-06-15/g),
    ).toHaveLength(1);
    expect(xml).toContain('<system-out>Answers to GET');
    const odd = await run('scan odd.har --format junit');
    expect(odd.printed).toContain('filters?q=&lt;&quot;&amp;\\u0001&gt;</failure>');
    const file = (counts: string, testCase: string) =>
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<testsuites ${counts}>\n` +
      `  <testsuite name="deprecations on 2025-06-15" ${counts}>\n` +
      `    ${testCase}\n  </testsuite>\n</testsuites>\n`;
    const clean = await run('scan clean.har --at 2025-06-15 --format junit');
    const passed = '<testcase classname="deprecations" name="1 calls on 2025-06-15"/>';
    expect(clean.printed).toBe(file('tests="1" failures="0"', passed));
    const rules = await run('scan rules.har --at 2025-06-15 --format junit');
    const path = 'GET /zones/:zone_id/firewall/rules';
    const failed =
      `<testcase classname="firewall-rules" name="${path}">` +
      `<failure type="error" message="${path} is gone since 2025-06-15. Use WAF custom rules.">` +
      `2 times, first: rules.har#log.entries[0]: GET ${BASE}/zones/z/firewall/rules</failure></testcase>`;
    expect(rules.printed).toBe(file('tests="1" failures="1"', failed));
  });

  test('[REP8] SARIF has a rule for each entry and the place of each result', async () => {
    const { printed } = await run('scan rules.har --at 2025-06-15 --format sarif');
    const log = JSON.parse(printed);
    expect(log.version).toBe('2.1.0');
    const [{ tool, results }] = log.runs;
    const { name, version } = MANIFEST;
    expect(tool.driver).toMatchObject({ name, version });
    const helpUri = 'http://127.0.0.1:8787/client/v4/emulator/schedule#firewall-rules';
    const shortDescription = { text: 'Firewall rules and filters, 2025-06-15' };
    expect(tool.driver.rules).toEqual([{ id: 'firewall-rules', shortDescription, helpUri }]);
    const documentation = 'https://docs.example/dates';
    const named = await run(`scan rules.har --format sarif --documentation ${documentation}`);
    const [{ helpUri: own }] = JSON.parse(named.printed).runs[0].tool.driver.rules;
    expect(own).toBe(`${documentation}#firewall-rules`);
    const wrong = await run('scan rules.har --format sarif --documentation dates');
    expect(wrong).toMatchObject({ code: 2, errors: [expect.stringContaining('--documentation')] });
    expect(results).toMatchObject([
      {
        ruleId: 'firewall-rules',
        ruleIndex: 0,
        level: 'error',
        message: {
          text:
            'GET /zones/:zone_id/firewall/rules is gone since 2025-06-15. Use WAF custom rules. ' +
            `First: rules.har#log.entries[0]: GET ${BASE}/zones/z/firewall/rules`,
        },
        occurrenceCount: 2,
        locations: [
          {
            physicalLocation: { artifactLocation: { uri: 'rules.har' } },
            logicalLocations: [{ fullyQualifiedName: 'log.entries[0]' }],
          },
        ],
      },
    ]);
  });
});

test('[REP8] a rule of SARIF has the note of its entry, and only its own results', async () => {
  const { printed } = await run('scan notes.har rules.har --at 2024-11-01 --format sarif');
  const [{ tool, results }] = JSON.parse(printed).runs;
  const help = { text: 'Both are ignored when sent.' };
  expect(
    tool.driver.rules.map(({ id, help }: { id: string; help?: object }) => [id, help]),
  ).toEqual([
    ['firewall-rules', undefined],
    ['dns-record-zone-fields', help],
  ]);
  expect(
    results.map(({ ruleId, ruleIndex }: { ruleId: string; ruleIndex: number }) => [
      ruleId,
      ruleIndex,
    ]),
  ).toEqual([
    ['firewall-rules', 0],
    ['dns-record-zone-fields', 1],
  ]);
});

test('[REP8] JSON names the field of a finding, and where it is', async () => {
  const { printed } = await run('scan notes.har --at 2024-11-01 --format json');
  expect(JSON.parse(printed).findings).toMatchObject([{ field: 'zone_id', in: 'result' }]);
});

describe('list and calendar', () => {
  test('[REP9] the list is the schedule on a day', async () => {
    const { code, printed, errors } = await run('list --at 2025-06-14');
    expect([code, errors]).toEqual([0, []]);
    expect(printed.split('\n')).toHaveLength(26);
    const last =
      '2025-06-15 coming Rate limiting, previous version; instead: the new rate limiting rules';
    expect(printed.trimEnd().split('\n').at(-1)).toBe(`${last}, based on the ruleset engine`);
    expect(printed).toContain('\n2024-08-05 past   Setting minify\n');
    expect(printed.match(/coming/g)).toHaveLength(3);
    const onTheDay = await run('list --at 2025-06-15');
    expect(onTheDay.printed).not.toContain('coming');
    const json = JSON.parse((await run('list --format json')).printed);
    expect(json).toMatchObject({ at: '2026-01-01' });
    expect(json.entries).toHaveLength(25);
    expect((await run('list --format markdown')).printed).toMatch(/^# Deprecation/);
  });

  test('[REP9] the calendar is printed or written', async () => {
    const calendar = expect.stringMatching(/^BEGIN:VCALENDAR\r\n[\s\S]*\r\nEND:VCALENDAR\r\n$/);
    const printed = await run('calendar');
    expect(printed).toEqual({ code: 0, printed: calendar, errors: [], written: {} });
    expect(printed.printed).not.toContain('UID:zones@');
    const saved = await run('calendar --schedule mine.json --output s.ics');
    const file = { 's.ics': calendar };
    expect(saved).toEqual({ code: 0, printed: '', errors: [], written: file });
    expect(saved.written['s.ics']).toContain('\r\nUID:zones@');
  });
});

describe('bad input', () => {
  test.each([
    ['', /^$/],
    ['deprecations scan', /unknown subcommand "deprecations"; use one of: calendar, list, scan/],
    ['toString', /unknown subcommand "toString"/],
    ['scan', /no file; give the path/],
    ['scan none.har', /none.har cannot be read: ENOENT/],
    ['scan text.har', /text.har is not JSON/],
    ['scan list.har', /list.har is not a HAR file: .*log/],
    ['scan entries.har', /log.entries.0.request.url must be/],
    ['scan rules.har --format yaml', /"yaml"; use one of: text, json, junit, sarif/],
    ['list --format sarif', /"sarif"; use one of: text, json, markdown/],
    ['scan rules.har --at 2025-13-01', /"2025-13-01" is not a date/],
    ['list --at', /list: .*'--at/],
    ['scan rules.har --colour', /scan: .*'--colour'/],
    ['calendar --at 2025-01-01', /calendar: .*'--at'/],
    ['scan rules.har --host https://api.example.com', /must be a host/],
    ['list --schedule mine.json --only-schedule mine.json', /use one of them/],
    ['help deprecations', /unknown subcommand "deprecations"/],
    ['scan clean.har --output /out', /\/out cannot be written: EACCES/],
    ['list --schedule wrong.json', /entry zones: title is missing/],
    ['list --schedule text.har', /text.har is not JSON/],
  ])('[REP7] "%s" is exit code 2 with one line', async (line, message) => {
    const { code, errors } = await run(line);
    expect(code).toBe(2);
    expect(errors).toHaveLength(line === '' ? 0 : 1);
    expect(errors.join('')).toMatch(message);
    expect(errors.join('')).not.toContain('\n');
  });

  test('[REP7] help is asked for, not bad input', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, printed: expect.stringMatching('Usage') });
    const { code, printed } = await run('scan --help');
    expect(code).toBe(0);
    expect(printed).toContain('Exit code: 0 when nothing is deprecated');
  });
});

describe('version and help', () => {
  test('[REP9] the version is that of the package', async () => {
    for (const line of ['--version', '-v']) {
      expect(await run(line)).toMatchObject({
        code: 0,
        printed: `${MANIFEST.version}\n`,
        errors: [],
      });
    }
  });

  test('[REP9] help is a subcommand, too, in both orders', async () => {
    const overview = await run('help');
    expect(overview).toMatchObject({ code: 0, printed: expect.stringContaining('Usage') });
    expect((await run('--help')).printed).toBe(overview.printed);
    const usage = (await run('scan --help')).printed;
    for (const line of ['help scan', 'scan help', 'scan x.har -h']) {
      expect(await run(line)).toMatchObject({ code: 0, printed: usage });
    }
  });
});

describe('what is printed', () => {
  const EVIL = '\u001b]0;title\u0007\u009b31m\u202etxt\u2066\r\nGONE forged\u2028\u007f';
  const RAW = /[\p{Bidi_Control}\p{Zl}\p{Zp}]|(?![\n\r\t])\p{Cc}|\r(?!\n)/u;
  const operations = [{ method: 'GET', path: '/evil' }];
  const evil = {
    id: 'evil',
    title: EVIL,
    note: EVIL,
    date: '2020-01-01',
    kind: 'removed',
    operations,
    replacement: { text: EVIL },
  };
  const files: Readonly<Record<string, string>> = {
    [`${EVIL}.har`]: har([
      entry(`GET${EVIL}`, `${BASE}/zones/z/filters`),
      entry('GET', `${BASE}/zones/z/filters?q=${EVIL}`),
      entry('GET', `${BASE}/evil`),
    ]),
    'evil.json': JSON.stringify([evil]),
    'evil.txt': EVIL,
  };

  async function printedBy(...args: string[]) {
    const printed: string[] = [];
    const code = await runCommandLine(
      args,
      PROGRAM,
      {
        print: (text) => printed.push(text),
        readFile: async (path) => files[path] ?? Promise.reject(new Error(`ENOENT: '${path}'`)),
        writeFile: () => Promise.reject(new Error(EVIL)),
        now: () => Date.UTC(2026, 0, 1),
      },
      (line) => printed.push(line),
    );
    return { code, text: printed.join('') };
  }

  test.each(['text', 'json', 'junit', 'sarif'])(
    '[REP13] a scan as %s has no control characters of a file, its name or a schedule',
    async (format) => {
      const scan = ['scan', `${EVIL}.har`, '--schedule', 'evil.json'];
      const { code, text } = await printedBy(...scan, '--format', format);
      expect(code).toBe(1);
      expect(text).toContain('evil');
      expect(text).not.toMatch(RAW);
      expect(text).not.toMatch(/^GONE forged/m);
      if (format === 'json') {
        expect(
          JSON.parse(text).findings.map((one: { first: { url: string } }) => one.first.url),
        ).toContain(`${BASE}/zones/z/filters?q=${EVIL}`);
      }
    },
  );

  test.each([
    ['list', '--schedule', 'evil.json'],
    ['list', '--schedule', 'evil.json', '--format', 'json'],
    ['list', '--schedule', 'evil.json', '--format', 'markdown'],
    ['calendar', '--schedule', 'evil.json'],
    ['scan', 'evil.txt'],
    ['scan', EVIL],
    ['list', '--at', EVIL],
    ['list', '--output', EVIL],
    ['scan', '--schedule', EVIL],
    ['list', `--${EVIL}`],
    [EVIL],
    ['help', EVIL],
  ])('[REP13] %j prints no control characters', async (...args) => {
    const { text } = await printedBy(...args);
    expect(text).not.toBe('');
    expect(text).not.toMatch(RAW);
    if (!args.includes('markdown')) expect(text).not.toMatch(/^GONE forged/m);
  });
});
