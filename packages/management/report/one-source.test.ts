// Tests that the report and the emulator agree: the report names each setting that the emulator refuses, from the same
// day on.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayBefore, startProvider, type TestProvider } from '../e2e/provider.ts';
import { SCHEDULE } from '../schedule/data.ts';
import { reportOf } from './report.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

const VALUES = {
  brotli: 'off',
  cname_flattening: 'on',
  minify: { css: 'on' },
  mobile_redirect: { status: 'off' },
  privacy_pass: 'off',
  server_side_exclude: 'off',
};

test.each(Object.entries(VALUES))(
  '[REP11] the setting %s among others is refused on the day the report says',
  async (id, value) => {
    const entry = SCHEDULE.find((one) => one.id === id.replaceAll('_', '-'))!;
    const url = `/zones/${(await provider.newZone()).id}/settings`;
    const body = { items: [{ id, value }] };
    const levels = async (at: string) => {
      const sent = await provider.call(`PATCH ${url}`, { at, body });
      const read = await provider.call(`GET ${url}`, { at });
      const calls = [
        { method: 'PATCH', url, requestBody: body, responseBody: sent.body },
        { method: 'GET', url, requestBody: null, responseBody: read.body },
      ];
      const { findings } = reportOf(calls, { at });
      const levelOf = (method: string, where: string) =>
        findings.find(
          ({ entry: { id }, operation, field }) =>
            id === entry.id && operation.method === method && field?.in === where,
        )?.level;
      return [sent.status, levelOf('PATCH', 'request'), levelOf('GET', 'result')];
    };
    expect(await levels(dayBefore(entry.date))).toEqual([200, 'warning', 'note']);
    expect(await levels(entry.date)).toEqual([400, 'error', undefined]);
  },
);
