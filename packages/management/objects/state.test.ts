// Tests that all state is in the objects: it outlives a process, and a bookmark restores it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { ACCOUNT_ID, startProvider } from '../e2e/provider.ts';
import { createManagementApi } from '../edge/api.ts';
import { ManagementObject } from './management-object.ts';

test('[MG37] state is in the objects and outlives the process that holds them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-management-'));
  const first = await createObjects({ ManagementObject }, { directory });
  const accounts = [{ id: ACCOUNT_ID, name: 'First' }];
  const send = async (objects: typeof first, method: string, path: string, body?: object) => {
    const api = createManagementApi({ namespace: objects.env.ManagementObject, accounts });
    const init = { method, ...(body && { body: JSON.stringify(body) }) };
    return (await api.fetch(new Request(`https://api.example${path}`, init))).json();
  };
  const { result } = await send(first, 'POST', '/zones', { name: 'kept.example' });
  const record = { type: 'TXT', name: '@', content: 'kept' };
  await send(first, 'POST', `/zones/${result.id}/dns_records`, record);
  await first.close();

  const second = await createObjects({ ManagementObject }, { directory });
  const kept = await send(second, 'GET', `/zones/${result.id}/dns_records`);
  expect(kept.result).toMatchObject([{ content: 'kept' }]);
  expect((await send(second, 'GET', '/accounts')).result).toHaveLength(1);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[MG37] restoring a bookmark restores zones, accounts and their contents', async () => {
  const provider = await startProvider();
  const { api, call } = provider;
  const [kept, deleted] = [await provider.newZone(), await provider.newZone()];
  const records = `/zones/${kept.id}/dns_records`;
  await call(`POST ${records}`, { body: { type: 'TXT', name: '@', content: 'before' } });
  await call(`POST /zones/${deleted.id}/dns_records`, {
    body: { type: 'TXT', name: '@', content: 'deleted' },
  });
  const bookmark = await api.getBookmark();

  await call(`POST ${records}`, { body: { type: 'TXT', name: '@', content: 'after' } });
  await call(`DELETE /zones/${deleted.id}`);
  await call(`PUT /accounts/${ACCOUNT_ID}`, { body: { name: 'Renamed' } });
  const made = await provider.newZone();
  await api.restoreBookmark(bookmark);

  const contents = async (id: string) =>
    (await call(`GET /zones/${id}/dns_records`)).body.result?.map(
      ({ content }: { content: string }) => content,
    );
  expect(await contents(kept.id)).toEqual(['before']);
  expect(await contents(deleted.id)).toEqual(['deleted']);
  expect(await contents(made.id)).toBeUndefined();
  expect((await call(`GET /accounts/${ACCOUNT_ID}`)).body.result.name).toBe('First');
  await provider.close();
});

test.for(['', '{', '[]', '{"directory":1}', '{}'])(
  '[MG37] %s is not a bookmark, and changes nothing',
  async (bookmark) => {
    const provider = await startProvider();
    const zone = await provider.newZone();
    await expect(provider.api.restoreBookmark(bookmark)).rejects.toThrow(
      /is not a result of getBookmark/,
    );
    expect((await provider.call(`GET /zones/${zone.id}`)).body.success).toBe(true);
    await provider.close();
  },
);
