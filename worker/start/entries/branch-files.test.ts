// Tests which folders of branches remain in Node after an orderly end, a crash and a deletion.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects } from './node-objects.ts';

class Box extends DurableObject {}

let directory: string;
let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;

/** Starts the objects, as a new process does. */
async function begin(): Promise<void> {
  objects = await createObjects({ Box }, { directory });
  storage = await objects.storage(objects.env.Box.getByName('one'));
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'branch-files-'));
  await begin();
  await storage.put('a', 1);
});
afterEach(async () => {
  await objects.close();
  rmSync(directory, { recursive: true });
});

const folders = () => readdirSync(directory).filter((name) => name.startsWith('Box.'));
const branchFolders = () => folders().filter((name) => name.includes('~'));

/** Writes so much that the branch gets files on the disk. */
async function fill(branch: StorageHandle): Promise<void> {
  for (let i = 0; i < 80; i++) await branch.put(`k${i}`, 'v'.repeat(120_000));
}

/** Does what a crash does: leaves the folders as they were at that moment, and starts another process. */
async function crash(): Promise<void> {
  const copy = `${directory}-copy`;
  cpSync(directory, copy, { recursive: true, filter: (source) => !source.includes('host.') });
  await objects.close();
  cpSync(copy, directory, { recursive: true });
  rmSync(copy, { recursive: true });
  await begin();
}

test('[BRANCH4] an orderly end of the host removes the files of its branches that are not kept', async () => {
  await fill(await storage.fork());
  const kept = await storage.fork({ name: 'kept', keep: true });
  await kept.put('b', 2);
  expect(branchFolders().length).toBe(2);
  await objects.close();
  expect(branchFolders().length).toBe(1);
  await begin();
  expect(await (await storage.openBranch('kept')).get('b')).toBe(2);
});

test('[BRANCH12] after a crash, the next host removes the files of branches that were not kept, also below a kept branch', {
  tags: 'long',
}, async () => {
  const kept = await storage.fork({ name: 'kept', keep: true });
  await kept.put('b', 2);
  await fill(await storage.fork());
  await fill(await kept.fork());
  await crash();
  expect(branchFolders().length).toBe(3);
  const branch = await storage.fork();
  await fill(branch);
  await vi.waitFor(() => expect(branchFolders().length).toBe(2));
  expect(await branch.get('k1')).toHaveLength(120_000);
  expect(await (await storage.openBranch('kept')).get('b')).toBe(2);
});

test('[BRANCH12] after a crash, the next host removes the files without a use of their object', {
  tags: 'long',
}, async () => {
  await fill(await storage.fork());
  const id = objects.env.Box.idFromName('one');
  await crash();
  await vi.waitFor(() => expect(branchFolders()).toEqual([]));
  expect((await objects.list('Box')).map((one) => String(one.id))).toEqual([String(id)]);
  expect(await storage.get('a')).toBe(1);
});

test('[BRANCH12] the deletion of an object removes what a crash has left of its branches', {
  tags: 'long',
}, async () => {
  await fill(await storage.fork());
  const kept = await storage.fork({ name: 'kept', keep: true });
  await fill(await kept.fork());
  await crash();
  expect(branchFolders().length).toBeGreaterThan(1);
  await objects.deleteObject(objects.env.Box.getByName('one'));
  expect(folders()).toEqual([]);
});

test('[BRANCH14] a kept branch whose files are gone is OBJECT_MISSING, and not its origin; deleting it accepts that', async () => {
  const gone = await storage.fork({ name: 'gone', keep: true });
  await gone.put('b', 2);
  await (await storage.fork({ name: 'other', keep: true })).put('b', 3);
  await (await gone.fork({ name: 'below', keep: true })).put('b', 4);
  await storage.fork({ name: 'unwritten', keep: true });
  await objects.close();
  const [folder] = branchFolders().filter((name) =>
    branchFolders().some((one) => one.startsWith(`${name}~`)),
  );
  rmSync(join(directory, folder!), { recursive: true });
  await begin();
  for (let i = 0; i < 2; i++) {
    const opened = storage.openBranch('gone').then((branch) => branch.get('a'));
    await expect(opened).rejects.toMatchObject({
      code: 'OBJECT_MISSING',
      message: expect.stringContaining('The branch "gone" was stored, and its files are gone'),
    });
  }
  expect(await storage.get('a')).toBe(1);
  expect(await (await storage.openBranch('other')).get('b')).toBe(3);
  expect(await (await storage.openBranch('unwritten')).get('a')).toBe(1);
  expect(await storage.deleteBranch('gone')).toBe(true);
  expect((await storage.branches()).map(({ name }) => name)).toEqual(['other', 'unwritten']);
  await (await storage.fork({ name: 'gone', keep: true })).put('b', 5);
  expect(await (await storage.openBranch('gone')).get('b')).toBe(5);
  await vi.waitFor(() => expect(branchFolders().length).toBe(3)); // that below the lost one is removed, too
});
